//! The client that a request comes from.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::ConnectInfo;
use http::request::Parts;

use super::extract::NoPeer;
use crate::http::client_ip::ClientIp;
use crate::http::client_ip_source::ClientIpSource;
use crate::key::{Client, KeyError};
use crate::throttle::log_throttled;
use crate::to_key::ToKey;

/// Finds the client of a request, if it has one.
pub(super) type Find = dyn Fn(&Parts) -> Option<Result<Client, KeyError>> + Send + Sync;

pub(super) fn by_key<K: ToKey>(key: impl Fn(&Parts) -> Option<K> + Send + Sync + 'static) -> Arc<Find> {
    Arc::new(move |parts| key(parts).map(|id| Client::of(&id)))
}

pub(super) fn by_address(source: ClientIpSource) -> Arc<Find> {
    Arc::new(move |parts| match client_ip(parts, &source) {
        Ok(ip) => Some(Client::of(&ip)),
        Err(error) => {
            log_throttled!(error, "", %error, "a request has no address to count it by");
            // A fault of the service, and not of the client.
            Some(Err(KeyError::Nobody))
        }
    })
}

/// The client's address, by this source.
pub(super) fn client_ip(parts: &Parts, source: &ClientIpSource) -> Result<ClientIp, NoPeer> {
    let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>().ok_or(NoPeer)?;
    source.warn_if_it_ignores_proxies(|name| parts.headers.contains_key(name));
    Ok(source.resolve(peer.0, &parts.headers))
}
