use rate_limit::Rejection;
use rate_limit::{limit_per_time as first, limit_per_time as second};

#[first(5, "10m", key = user)]
#[second(100, "1d", key = user)]
async fn login(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

fn main() {
    let _ = login(7);
}
