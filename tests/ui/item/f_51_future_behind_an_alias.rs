use std::future::Future;
use std::pin::Pin;

use rate_limit::{Rejection, limit_per_time};

type Answer = Result<u64, Rejection>;

type Boxed = Pin<Box<dyn Future<Output = Answer>>>;

#[limit_per_time(5, "10m", key = user)]
fn login(user: u64) -> Boxed {
    Box::pin(async move { Ok(user) })
}

fn main() {
    let _ = login(7);
}
