use rate_limit::{Permit, Rejection, limit_per_time};

#[limit_per_time(5, "10m", key = user, permit = permit)]
async fn login(user: u64) -> Result<u64, Rejection> {
    let _: &Permit = permit;
    Ok(user)
}

fn main() {
    let _ = login(7);
}
