use std::borrow::Cow;
use std::net::IpAddr;

use rate_limit::{Rejection, limit_per_time};

#[limit_per_time(5, "10m", key = ip, reset_on_success)]
async fn login(ip: Cow<'_, IpAddr>) -> Result<IpAddr, Rejection> {
    Ok(*ip)
}

fn main() {
    let _ = login(Cow::Owned([127, 0, 0, 1].into()));
}
