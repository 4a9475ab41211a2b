use rate_limit::{Rejection, limit_per_time};

#[limit_per_time(5, "10m", key = (7, user))]
async fn login(user: Option<u64>) -> Result<u64, Rejection> {
    Ok(user.unwrap_or(0))
}

fn main() {
    let _ = login(Some(7));
}
