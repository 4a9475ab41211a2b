use rate_limit::{Rejection, limit_per_time};

#[limit_per_time(count = limit, window = "10m", key = user)]
async fn login(user: u64, limit: u32) -> Result<u64, Rejection> {
    Ok(user + u64::from(limit))
}

fn main() {
    let _ = login(7, 5);
}
