use rate_limit::{Rejection, limit_per_time};

#[tokio::main]
#[limit_per_time(5, "10m", key = 7)]
async fn main() -> Result<(), Rejection> {
    Ok(())
}
