use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use rate_limit::{Rejection, limit_per_time};

#[limit_per_time(5, "10m", key = (peer, proxy), reset_on_success)]
async fn login(peer: Ipv4Addr, proxy: Box<SocketAddr>) -> Result<IpAddr, Rejection> {
    Ok(if proxy.port() == 0 { peer.into() } else { proxy.ip() })
}

fn main() {
    let _ = login(Ipv4Addr::LOCALHOST, Box::new(([127, 0, 0, 1], 80).into()));
}
