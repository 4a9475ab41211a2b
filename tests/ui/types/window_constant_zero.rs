use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

use rate_limit::{Rejection, limit_per_time};

const WINDOW: Duration = Duration::ZERO;

#[limit_per_time(5, WINDOW, key = user)]
async fn login(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

fn main() {
    let _ = pin!(login(7)).poll(&mut Context::from_waker(Waker::noop()));
}
