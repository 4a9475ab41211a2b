use rate_limit::{Rejection, limit_per_time};

#[limit_per_time(5, "10m", key = user.as_deref(), reset_on_success)]
async fn login(user: Option<String>) -> Result<usize, Rejection> {
    Ok(user.map_or(0, |user| user.len()))
}

fn main() {
    let _ = login(None);
}
