//! One route: plain, annotated, and plain behind tower_governor.

use std::num::NonZeroU32;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Request, StatusCode};
use axum::routing::get;
use rate_limit::{Rejection, limit_per_time};
use tower_governor::governor::GovernorConfigBuilder;
use tower_governor::key_extractor::KeyExtractor;
use tower_governor::{GovernorError, GovernorLayer};

/// Who calls, so many that none of them comes near the limit.
pub const CALLERS: u64 = 4_000;
/// The header that says who calls.
pub const CALLER: &str = "x-caller";
/// What the route answers.
pub const ANSWER: &str = "that will be done";
const LIMIT: NonZeroU32 = NonZeroU32::new(1_000).expect("it is above 0");
const WINDOW: Duration = Duration::from_secs(1);

pub fn plain() -> Router {
    async fn route(_: Caller) -> Result<&'static str, Rejection> {
        Ok(ANSWER)
    }
    Router::new().route("/", get(route))
}

pub fn annotated() -> Router {
    #[limit_per_time(count = LIMIT.get(), window = WINDOW, key = caller)]
    async fn route(Caller(caller): Caller) -> Result<&'static str, Rejection> {
        Ok(ANSWER)
    }
    Router::new().route("/", get(route))
}

/// The layer comes before the handler, so it has to find the caller for itself. As ours does, it answers those who pass without further
/// headers.
pub fn tower_governor() -> Router {
    let config = GovernorConfigBuilder::default()
        .period(WINDOW / LIMIT.get())
        .burst_size(LIMIT.get())
        .key_extractor(ByCaller)
        .finish()
        .expect("burst and period are above 0");
    plain().layer(GovernorLayer::<_, _, Body>::new(config))
}

struct Caller(u64);

impl Caller {
    fn of(headers: &HeaderMap) -> Option<Self> {
        headers.get(CALLER)?.to_str().ok()?.parse().ok().map(Self)
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = StatusCode;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, StatusCode> {
        Self::of(&parts.headers).ok_or(StatusCode::UNAUTHORIZED)
    }
}

#[derive(Clone)]
struct ByCaller;

impl KeyExtractor for ByCaller {
    type Key = u64;

    fn extract<T>(&self, request: &Request<T>) -> Result<u64, GovernorError> {
        let Caller(caller) = Caller::of(request.headers()).ok_or(GovernorError::UnableToExtractKey)?;
        Ok(caller)
    }
}
