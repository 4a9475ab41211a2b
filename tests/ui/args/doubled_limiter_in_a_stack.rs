use rate_limit::{Limiter, Rejection, limit_per_time};

#[limit_per_time(5, "10m", key = user, limiter = app)]
#[limit_per_time(100, "1d", key = user, limiter = app)]
async fn login(app: Limiter, user: u64) -> Result<u64, Rejection> {
    let _ = app;
    Ok(user)
}

fn main() {
    let _ = login(Limiter::embedded(), 7);
}
