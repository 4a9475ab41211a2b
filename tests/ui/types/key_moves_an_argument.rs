use rate_limit::{Rejection, limit_per_time};

#[limit_per_time(5, "10m", key = user.into_bytes())]
async fn login(user: String) -> Result<String, Rejection> {
    Ok(user)
}

fn main() {
    let _ = login(String::new());
}
