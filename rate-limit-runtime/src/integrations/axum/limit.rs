//! A limit in front of a route, before the body of a request is read.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum_core::body::Body;
use axum_core::response::{IntoResponse, Response};
use http::Request;
use http::request::Parts;
use tower_layer::Layer;
use tower_service::Service;

use super::peer::{self, Find};
use crate::failure::OnStoreError;
use crate::http::client_ip_source::ClientIpSource;
use crate::integrations::route_limit::{Charged, RouteLimit};
use crate::key::Key;
use crate::limiter::Limiter;
use crate::registry::Numbers;
use crate::rejection::Rejection;
use crate::to_key::ToKey;

/// A layer that limits a route before the body of a request is read: the attribute comes to see a request only once its arguments were
/// extracted, so that a malformed or oversized body is never charged there.
///
/// Counters go by the name, whatever the path looks like, and are those of a function with `name = ".."`. A request that passes two layers
/// of one name is charged once.
///
/// ```
/// use std::time::Duration;
/// use axum::{Router, routing::post};
/// use rate_limit_runtime::{ClientIpSource, Numbers, Policy, axum::LimitRoute};
///
/// let policy = Policy::sliding_window(100, Duration::from_secs(60));
/// let login = LimitRoute::by_address("login-by-address", policy, ClientIpSource::peer());
/// let api = LimitRoute::by_address("api", Numbers::Named("api-by-address"), ClientIpSource::peer());
/// let app: Router = Router::new()
///     .route("/login", post(|| async { "welcome" }).layer(login))
///     .route("/export", post(|| async { "done" }).layer(api));
/// ```
///
/// # Policies
///
/// As for annotated functions, an entry of the limiter's [`Policies`](crate::Policies) by the name of the layer takes the place of its
/// numbers, and [`Numbers::Named`] has no numbers but those of an entry. Both are looked up for each request, so they hold after
/// [`Limiter::set_policies`] too.
///
/// A layer registers itself when it is built. Build the layers before [`Limiter::verify`], which then finds those whose policy is
/// missing.
///
/// # CORS
///
/// A preflight, an `OPTIONS` request with `Origin` and `Access-Control-Request-Method`, is not charged. Where a handler answers `OPTIONS`
/// itself, as `any(..)` does, clients could call it so without limit: [`charge_preflights`](Self::charge_preflights) there.
///
/// Add the CORS layer after this one: a refusal then has the CORS headers, without which scripts of another origin cannot read it. Let the
/// CORS layer expose the rate limit headers that scripts are to read. With tower-http, where the layer that is added last is the outermost:
///
/// ```text
/// Router::new()
///     .route("/login", post(login))
///     .layer(LimitRoute::by_address("login-by-address", policy, source))
///     .layer(RateHeaders::new(HeaderDialect::Draft11))
///     .layer(CorsLayer::new().allow_origin(origin).expose_headers([RETRY_AFTER, "ratelimit".parse()?, "ratelimit-policy".parse()?]))
/// ```
#[derive(Clone)]
pub struct LimitRoute {
    limit: RouteLimit,
    find: Arc<Find>,
}

impl LimitRoute {
    /// Limits each client that `key` returns for a request. A request without one is rejected.
    pub fn new<K: ToKey>(
        name: &'static str,
        numbers: impl Into<Numbers>,
        key: impl Fn(&Parts) -> Option<K> + Send + Sync + 'static,
    ) -> Self {
        Self::of(name, numbers.into(), peer::by_key(key))
    }

    /// Limits each client address.
    #[must_use]
    pub fn by_address(name: &'static str, numbers: impl Into<Numbers>, source: ClientIpSource) -> Self {
        Self::of(name, numbers.into(), peer::by_address(source))
    }

    fn of(name: &'static str, numbers: Numbers, find: Arc<Find>) -> Self {
        Self {
            limit: RouteLimit::new(name, numbers),
            find,
        }
    }

    /// Overrides the `on_store_error` of the limiter.
    #[must_use]
    pub fn on_store_error(mut self, mode: OnStoreError) -> Self {
        self.limit.on_store_error = Some(mode);
        self
    }

    /// Uses this limiter instead of the installed one.
    #[must_use]
    pub fn limiter(mut self, limiter: Limiter) -> Self {
        self.limit.limiter = Some(limiter);
        self
    }

    /// Charges CORS preflights too: for a route whose handler answers `OPTIONS` itself.
    #[must_use]
    pub fn charge_preflights(mut self) -> Self {
        self.limit.charges_preflights = true;
        self
    }

    /// Returns the counter that was charged; `None` for a preflight, and if another layer of this name has charged it.
    async fn admit(&self, parts: &mut Parts) -> Result<Option<Key>, Rejection> {
        let is_exempt = self
            .limit
            .exempts(parts.method.as_str(), |name| parts.headers.contains_key(name));
        if is_exempt {
            return Ok(None);
        }
        if !parts
            .extensions
            .get_or_insert_default::<Charged>()
            .is_first(&self.limit)
        {
            return Ok(None);
        }
        self.limit.admit((self.find)(parts)).await.map(Some)
    }
}

impl fmt::Debug for LimitRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.limit.fmt(f)
    }
}

impl<S> Layer<S> for LimitRoute {
    type Service = LimitedRoute<S>;

    fn layer(&self, inner: S) -> Self::Service {
        LimitedRoute {
            inner,
            limit: self.clone(),
        }
    }
}

/// The service produced by [`LimitRoute`].
#[derive(Clone, Debug)]
pub struct LimitedRoute<S> {
    inner: S,
    limit: LimitRoute,
}

impl<S> Service<Request<Body>> for LimitedRoute<S>
where
    S: Service<Request<Body>, Response = Response> + Clone + Send + 'static,
    S::Future: Send + 'static,
{
    type Response = Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let limit = self.limit.clone();
        // The service that is ready is the one to call, and a clone of it takes its place.
        let clone = self.inner.clone();
        let mut ready = std::mem::replace(&mut self.inner, clone);
        Box::pin(async move {
            let (mut parts, body) = request.into_parts();
            match limit.admit(&mut parts).await {
                Ok(charged) => RouteLimit::answer(charged, ready.call(Request::from_parts(parts, body))).await,
                Err(rejection) => Ok(rejection.into_response()),
            }
        })
    }
}
