use std::net::IpAddr;

use rate_limit::{Rejection, limit_per_time};

#[limit_per_time(5, "10m", key = user)]
#[limit_per_time(100, "1d", key = ip, reset_on_success)]
async fn login(user: u64, ip: IpAddr) -> Result<u64, Rejection> {
    Ok(user)
}

fn main() {
    let _ = login(7, [127, 0, 0, 1].into());
}
