use rate_limit::limit_per_time;

#[derive(Debug)]
struct ApiError;

#[limit_per_time(5, "10m", key = user)]
async fn login(user: u64) -> Result<u64, ApiError> {
    if user == 0 { Err(ApiError) } else { Ok(user) }
}

fn main() {
    let _ = login(7);
}
