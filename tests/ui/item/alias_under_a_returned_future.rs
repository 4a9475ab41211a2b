use std::future::Future;

use rate_limit::limit_per_time as other;
use rate_limit::{Rejection, limit_per_time};

#[limit_per_time(5, "10m", key = user)]
#[other(100, "1d", key = user)]
fn login(user: u64) -> impl Future<Output = Result<u64, Rejection>> {
    async move { Ok(user) }
}

fn main() {
    let _ = login(7);
}
