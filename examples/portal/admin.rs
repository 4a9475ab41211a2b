//! Who may see the admin page: the user `admin`, with the token.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::ConnectInfo;
use axum::http::StatusCode;
use axum::http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use rate_limit::axum::Admin;
use rate_limit::{ClientIp, ClientIpSource, Limiter, Rejection, limit_per_time};

/// The page, for who sends the token as a browser does.
pub fn page(limiter: Limiter, token: &str) -> Result<Admin, &'static str> {
    if token.len() < 16 {
        return Err("`ADMIN_TOKEN` is shorter than 16 bytes: set it to random ones, as `openssl rand -hex 16` prints");
    }
    let expected: Arc<str> = format!("Basic {}", BASE64.encode(format!("admin:{token}"))).into();
    Ok(Admin::new(limiter, move |parts: &Parts| {
        let given = parts.headers.get(AUTHORIZATION).cloned();
        let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>();
        // Behind a proxy this has to be a source that trusts it, or all clients are one.
        let address = peer.map(|peer| ClientIpSource::peer().resolve(peer.0, &parts.headers));
        let expected = Arc::clone(&expected);
        async move {
            match (given, address) {
                (Some(given), Some(address)) => let_in(address, given.as_bytes(), expected.as_bytes()).await,
                _ => Err(NotLetIn::Stranger),
            }
        }
    }))
}

/// Ten wrong tokens in ten minutes from each address. A right one is not counted.
#[limit_per_time(10, "10m", key = address, refund_on_success, name = "admin")]
async fn let_in(address: ClientIp, given: &[u8], expected: &[u8]) -> Result<(), NotLetIn> {
    match is_equal(given, expected) {
        true => Ok(()),
        false => Err(NotLetIn::Stranger),
    }
}

/// Takes as long whichever byte differs.
fn is_equal(given: &[u8], expected: &[u8]) -> bool {
    let differing = given.iter().zip(expected).fold(0, |bits, (a, b)| bits | (a ^ b));
    given.len() == expected.len() && std::hint::black_box(differing) == 0
}

enum NotLetIn {
    Stranger,
    TooMany(Rejection),
}

impl From<Rejection> for NotLetIn {
    fn from(rejection: Rejection) -> Self {
        Self::TooMany(rejection)
    }
}

impl IntoResponse for NotLetIn {
    fn into_response(self) -> Response {
        match self {
            Self::Stranger => {
                let ask = [(WWW_AUTHENTICATE, "Basic realm=\"rate limits\", charset=\"UTF-8\"")];
                (StatusCode::UNAUTHORIZED, ask).into_response()
            }
            Self::TooMany(rejection) => rejection.into_response(),
        }
    }
}
