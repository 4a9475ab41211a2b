//! The address that a request comes from.

use std::net::SocketAddr;

use axum::extract::ConnectInfo;
use http::request::Parts;

use super::extract::NoPeer;
use crate::http::client_ip::{ClientIp, ClientIpSource};

/// The client's address, by this source.
pub(super) fn client_ip(parts: &Parts, source: &ClientIpSource) -> Result<ClientIp, NoPeer> {
    let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>().ok_or(NoPeer)?;
    if source.ignores_proxies(&parts.headers) {
        warn_once();
    }
    Ok(source.resolve(peer.0.ip(), &parts.headers))
}

fn warn_once() {
    use std::sync::Once;
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        tracing::warn!(
            "requests come with a header of a proxy, and no proxy is trusted: if this service stands behind one, say so with \
             `ClientIpSource::x_forwarded_for(..)`, or all its clients count as one"
        );
    });
}
