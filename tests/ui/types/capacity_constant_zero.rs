use rate_limit::{Rejection, limit_per_time};

const NONE: u32 = 0;

#[limit_per_time(algorithm = token_bucket, capacity = NONE, refill = "50s", key = user)]
async fn login(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

fn main() {
    let _ = login(7);
}
