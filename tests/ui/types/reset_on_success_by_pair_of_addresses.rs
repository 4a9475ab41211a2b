use std::net::IpAddr;

use rate_limit::{Rejection, limit_per_time};

#[limit_per_time(5, "10m", key = pair, reset_on_success)]
async fn login(pair: (IpAddr, IpAddr)) -> Result<IpAddr, Rejection> {
    Ok(pair.0)
}

fn main() {
    let _ = login(([127, 0, 0, 1].into(), [127, 0, 0, 1].into()));
}
