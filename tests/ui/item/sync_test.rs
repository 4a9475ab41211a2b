use rate_limit::limit_per_time;

#[limit_per_time(5, "10m", key = 7)]
#[test]
fn login() -> Result<(), rate_limit::Rejection> {
    Ok(())
}

fn main() {}
