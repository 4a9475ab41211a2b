use std::net::IpAddr;

use rate_limit::{Rejection, limit_per_time};

struct Portal;

#[limit_per_time(5, "10m", key = ip, reset_on_success)]
impl Portal {
    async fn login(&self, ip: IpAddr) -> Result<u64, Rejection> {
        Ok(u64::from(ip.is_ipv4()))
    }

    async fn logout(&self, ip: IpAddr) -> Result<u64, Rejection> {
        Ok(u64::from(ip.is_ipv4()))
    }

    async fn delete(&self, ip: IpAddr) -> Result<u64, Rejection> {
        Ok(u64::from(ip.is_ipv4()))
    }
}

fn main() {
    let ip = IpAddr::from([127, 0, 0, 1]);
    let _ = (Portal.login(ip), Portal.logout(ip), Portal.delete(ip));
}
