use rate_limit::{Rejection, limit_per_time};

#[limit_per_time(5, "10m", key = weight)]
async fn login(weight: f64) -> Result<f64, Rejection> {
    Ok(weight)
}

fn main() {
    let _ = login(7.0);
}
