use rate_limit::{Rejection, limit_per_time};

#[limit_per_time(5, "10m", key = pair)]
async fn login((user, _): (u64, u64)) -> Result<u64, Rejection> {
    Ok(user)
}

fn main() {
    let _ = login((7, 1));
}
