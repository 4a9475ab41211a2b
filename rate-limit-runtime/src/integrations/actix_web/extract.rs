//! Extractors.

use std::fmt;
use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::http::StatusCode;
use actix_web::http::header::HeaderValue;
use actix_web::{FromRequest, HttpRequest, HttpResponse, ResponseError};
use http::header::USER_AGENT;

use super::headers;
use crate::http::bot::BotFilter;
use crate::http::client_ip::ClientIp;
use crate::http::client_ip_source::ClientIpSource;
use crate::throttle::log_throttled;

/// By the [`ClientIpSource`] among the application's data (`.app_data(source)`), the peer itself by default.
impl FromRequest for ClientIp {
    type Error = NoPeer;
    type Future = Ready<Result<Self, NoPeer>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        static PEER: ClientIpSource = ClientIpSource::peer();
        let source = request.app_data::<ClientIpSource>().unwrap_or(&PEER);
        ready(client_ip(request, source))
    }
}

/// The client's address, by this source.
pub(super) fn client_ip(request: &HttpRequest, source: &ClientIpSource) -> Result<ClientIp, NoPeer> {
    let peer = request.peer_addr().ok_or(NoPeer)?;
    let headers = request.headers();
    source.warn_if_it_ignores_proxies(|name| headers.contains_key(name));
    Ok(source.resolve_by(peer, |name| headers.get_all(name.as_str()).map(HeaderValue::as_bytes)))
}

/// Whether a request calls itself a bot, by the [`BotFilter`] among the application's data, or the default one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bot(pub bool);

impl FromRequest for Bot {
    type Error = actix_web::Error;
    type Future = Ready<Result<Self, actix_web::Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let headers = headers::of(request.headers(), &[&USER_AGENT]);
        ready(Ok(Self(match request.app_data::<BotFilter>() {
            Some(filter) => filter.is_bot(&headers),
            None => BotFilter::default().is_bot(&headers),
        })))
    }
}

/// The address of the peer is not known: the service is reached by a Unix socket, or by a test without `peer_addr`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoPeer;

impl fmt::Display for NoPeer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the address of the peer is not known: serve over TCP, or count by another key; in a test, give the request one by \
             `TestRequest::peer_addr`",
        )
    }
}

impl std::error::Error for NoPeer {}

/// 500: it is a fault of the service, told in the log.
impl ResponseError for NoPeer {
    fn status_code(&self) -> StatusCode {
        StatusCode::INTERNAL_SERVER_ERROR
    }

    fn error_response(&self) -> HttpResponse {
        log_throttled!(error, "", error = %self, "a request was turned away");
        HttpResponse::new(self.status_code())
    }
}
