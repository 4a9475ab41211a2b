use rate_limit::{Rejection, limit_per_time};

#[limit_per_time(5, "10m", kee = user, reset_on_success)]
#[limit_per_time(100, "1d", key = user, success = Result::is_ok)]
async fn login(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

fn main() {
    let _ = login(7);
}
