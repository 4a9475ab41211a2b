use rate_limit::{Rejection, limit_per_time};

#[limit_per_time(policy = "read-count", key = user, block = "30m")]
async fn login(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

fn main() {
    let _ = login(7);
}
