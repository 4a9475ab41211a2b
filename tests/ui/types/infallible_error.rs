use std::convert::Infallible;

use rate_limit::limit_per_time;

#[limit_per_time(5, "10m", key = user)]
async fn login(user: u64) -> Result<u64, Infallible> {
    Ok(user)
}

fn main() {
    let _ = login(7);
}
