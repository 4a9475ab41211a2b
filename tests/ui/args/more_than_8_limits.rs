use rate_limit::{Rejection, limit_per_time};

#[limit_per_time(1, "1m", key = user)]
#[limit_per_time(2, "2m", key = user)]
#[limit_per_time(3, "3m", key = user)]
#[limit_per_time(4, "4m", key = user)]
#[limit_per_time(5, "5m", key = user)]
#[limit_per_time(6, "6m", key = user)]
#[limit_per_time(7, "7m", key = user)]
#[limit_per_time(8, "8m", key = user)]
#[limit_per_time(9, "9m", key = user)]
async fn login(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

fn main() {
    let _ = login(7);
}
