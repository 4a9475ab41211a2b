use rate_limit::{Limiter, Rejection, limit_per_time};

#[limit_per_time(5, "10m", key = user, limiter = limiter)]
async fn login(user: u64, limiter: Option<Limiter>) -> Result<u64, Rejection> {
    Ok(user + u64::from(limiter.is_some()))
}

fn main() {
    let _ = login(7, None);
}
