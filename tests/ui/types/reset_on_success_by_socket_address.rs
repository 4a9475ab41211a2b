use std::net::SocketAddr;

use rate_limit::{Rejection, limit_per_time};

#[limit_per_time(5, "10m", key = peer, reset_on_success)]
async fn login(peer: &SocketAddr) -> Result<SocketAddr, Rejection> {
    Ok(*peer)
}

fn main() {
    let _ = login(&([127, 0, 0, 1], 80).into());
}
