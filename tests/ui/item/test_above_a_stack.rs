use rate_limit::limit_per_time;

#[tokio::test]
#[limit_per_time(5, "10m", key = 7)]
#[limit_per_time(100, "1d", key = 7)]
async fn login() -> Result<(), rate_limit::Rejection> {
    Ok(())
}

fn main() {}
