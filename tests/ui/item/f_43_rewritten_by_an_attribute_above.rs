use rate_limit::{Rejection, limit_per_time};

#[tokio::main]
#[limit_per_time(5, "10m", key = 7)]
async fn job() -> Result<u64, Rejection> {
    Ok(7)
}

fn main() {
    let _ = job();
}
