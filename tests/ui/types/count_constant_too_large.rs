use std::pin::pin;
use std::task::{Context, Waker};

use rate_limit::{Rejection, limit_per_time};

const LIMIT: u32 = 10_000_001;

#[limit_per_time(LIMIT, "10m", key = user)]
async fn login(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

fn main() {
    let _ = pin!(login(7)).poll(&mut Context::from_waker(Waker::noop()));
}
