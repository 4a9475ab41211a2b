//! Extractors.

use std::fmt;

use axum_core::extract::FromRequestParts;
use axum_core::response::{IntoResponse, Response};
use http::StatusCode;
use http::request::Parts;

use super::peer::client_ip;
use crate::http::bot::BotFilter;
use crate::http::client_ip::ClientIp;
use crate::http::client_ip_source::ClientIpSource;
use crate::throttle::log_throttled;

/// By the [`ClientIpSource`] that stands among the extensions (`.layer(Extension(source))`), the peer itself by default.
impl<S: Sync> FromRequestParts<S> for ClientIp {
    type Rejection = NoPeer;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, NoPeer> {
        static PEER: ClientIpSource = ClientIpSource::peer();
        let source = parts.extensions.get::<ClientIpSource>().unwrap_or(&PEER);
        client_ip(parts, source)
    }
}

/// Whether a request calls itself a bot, by the [`BotFilter`] that stands among the extensions, or the default one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bot(pub bool);

impl<S: Sync> FromRequestParts<S> for Bot {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        let is_bot = match parts.extensions.get::<BotFilter>() {
            Some(filter) => filter.is_bot(&parts.headers),
            None => BotFilter::default().is_bot(&parts.headers),
        };
        Ok(Self(is_bot))
    }
}

/// The address of the peer is not known: the service was not started so that it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoPeer;

impl fmt::Display for NoPeer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the address of the peer is not known: serve the router by \
             `app.into_make_service_with_connect_info::<std::net::SocketAddr>()`",
        )
    }
}

impl std::error::Error for NoPeer {}

/// 500: it is a fault of the service, told in the log.
impl IntoResponse for NoPeer {
    fn into_response(self) -> Response {
        log_throttled!(error, "", error = %self, "a request was turned away");
        StatusCode::INTERNAL_SERVER_ERROR.into_response()
    }
}
