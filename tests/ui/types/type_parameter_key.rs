use rate_limit::{Rejection, limit_per_time};

#[limit_per_time(5, "10m", key = user)]
async fn login<T>(user: T) -> Result<T, Rejection> {
    Ok(user)
}

fn main() {
    let _ = login(7);
}
