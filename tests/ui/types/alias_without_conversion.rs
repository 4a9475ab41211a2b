use rate_limit::limit_per_time;

type Answer = Result<u64, String>;

#[limit_per_time(5, "10m", key = user)]
async fn login(user: u64) -> Answer {
    Ok(user)
}

fn main() {
    let _ = login(7);
}
