use std::future::Future;
use std::pin::Pin;

use rate_limit::{Rejection, limit_per_time};

type Answer = Result<u64, Rejection>;

#[limit_per_time(5, "10m", key = user)]
fn login(user: u64, cached: bool) -> Pin<Box<dyn Future<Output = Answer>>> {
    if cached {
        return Box::pin(async move { Ok(user) });
    }
    let work = move || {
        return user;
    };
    let later = async move {
        return work();
    };
    Box::pin(async move { Ok(later.await) })
}

fn main() {
    let _ = login(7, true);
}
