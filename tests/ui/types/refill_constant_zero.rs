use std::time::Duration;

use rate_limit::{Rejection, limit_per_time};

const NONE: Duration = Duration::ZERO;

#[limit_per_time(algorithm = token_bucket, capacity = 3, refill = NONE, key = user)]
async fn login(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

fn main() {
    let _ = login(7);
}
