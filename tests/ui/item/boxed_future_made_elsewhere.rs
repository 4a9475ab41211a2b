use std::future::Future;
use std::pin::Pin;

use rate_limit::{Rejection, limit_per_time};

#[limit_per_time(5, "10m", key = user)]
fn login(user: u64) -> Pin<Box<dyn Future<Output = Result<u64, Rejection>>>> {
    let future = async move { Ok(user) };
    Box::pin(future)
}

fn main() {
    let _ = login(7);
}
