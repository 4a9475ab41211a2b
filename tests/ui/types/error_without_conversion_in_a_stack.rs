use rate_limit::limit_per_time;

#[limit_per_time(5, "10m", key = user)]
#[limit_per_time(100, "1d", key = user)]
async fn login(user: u64) -> Result<u64, String> {
    Ok(user)
}

fn main() {
    let _ = login(7);
}
