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
use crate::http::client_ip::ClientIpSource;
use crate::integrations::route_limit::{Charged, RouteLimit};
use crate::key::Key;
use crate::limiter::Limiter;
use crate::policy::Policy;
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
/// use rate_limit_runtime::{ClientIpSource, Policy, axum::LimitRoute};
///
/// let policy = Policy::sliding_window(100, Duration::from_secs(60));
/// let app: Router = Router::new()
///     .route("/login", post(|| async { "welcome" }))
///     .route_layer(LimitRoute::by_address("login-by-address", policy, ClientIpSource::peer()));
/// ```
#[derive(Clone)]
pub struct LimitRoute {
    limit: RouteLimit,
    find: Arc<Find>,
}

impl LimitRoute {
    /// For each client that this finds in a request. A request in which it finds none is turned away.
    pub fn new<K: ToKey>(
        name: &'static str,
        policy: Policy,
        key: impl Fn(&Parts) -> Option<K> + Send + Sync + 'static,
    ) -> Self {
        Self::of(name, policy, peer::by_key(key))
    }

    /// For each address.
    #[must_use]
    pub fn by_address(name: &'static str, policy: Policy, source: ClientIpSource) -> Self {
        Self::of(name, policy, peer::by_address(source))
    }

    fn of(name: &'static str, policy: Policy, find: Arc<Find>) -> Self {
        Self {
            limit: RouteLimit::new(name, policy),
            find,
        }
    }

    /// What holds while the store does not decide, if not what the limiter says.
    #[must_use]
    pub fn on_store_error(mut self, mode: OnStoreError) -> Self {
        self.limit.on_store_error = Some(mode);
        self
    }

    /// The limiter that decides, if not the installed one.
    #[must_use]
    pub fn limiter(mut self, limiter: Limiter) -> Self {
        self.limit.limiter = Some(limiter);
        self
    }

    /// The counter that was charged, unless another layer of this name has charged it.
    async fn admit(&self, parts: &mut Parts) -> Result<Option<Key>, Rejection> {
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
        write!(f, "LimitRoute({}, {})", self.limit.method.name(), self.limit.policy)
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

/// A service behind a limit.
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
