//! The address that a request comes from.

use std::net::SocketAddr;

use axum::extract::ConnectInfo;
use http::request::Parts;

use super::extract::NoPeer;
use crate::http::client_ip::{ClientIp, ClientIpSource};

/// The client's address, by this source.
pub(super) fn client_ip(parts: &Parts, source: &ClientIpSource) -> Result<ClientIp, NoPeer> {
    let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>().ok_or(NoPeer)?;
    source.warn_if_it_ignores_proxies(&parts.headers);
    Ok(source.resolve(peer.0.ip(), &parts.headers))
}
