use rate_limit::{Rejection, limit_per_time};

#[limit_per_time(5, "10m", key = user)]
async fn login(user: u64) -> Result<usize, Rejection> {
    let name: &str = user;
    Ok(name.len())
}

fn main() {
    let _ = login(7);
}
