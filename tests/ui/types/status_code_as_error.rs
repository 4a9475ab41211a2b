use axum::http::StatusCode;
use rate_limit::limit_per_time;

#[limit_per_time(5, "10m", key = user)]
async fn login(user: u64) -> Result<String, StatusCode> {
    Ok(user.to_string())
}

fn main() {
    let _ = login(7);
}
