//! The ambient client of a request.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::Request;
use http::request::Parts;
use tower_layer::Layer;
use tower_service::Service;

use super::peer::{self, Find};
use crate::client;
use crate::http::client_ip_source::ClientIpSource;
use crate::to_key::ToKey;

/// A layer that says who the client of a request is, for limited functions that name none by a `key`.
///
/// ```
/// use axum::{Router, http::request::Parts, routing::get};
/// use rate_limit_runtime::axum::AmbientClient;
///
/// #[derive(Clone)]
/// struct Account(u64);
///
/// let app: Router = Router::new()
///     .route("/grades", get(|| async { "all of them" }))
///     // An authentication layer outside of this one put the account there.
///     .layer(AmbientClient::new(|parts: &Parts| parts.extensions.get::<Account>().map(|account| account.0)));
/// ```
#[derive(Clone)]
pub struct AmbientClient(Arc<Find>);

impl AmbientClient {
    /// By what this finds in a request. Where it finds nothing, there is no ambient client.
    pub fn new<K: ToKey>(find: impl Fn(&Parts) -> Option<K> + Send + Sync + 'static) -> Self {
        Self(peer::by_key(find))
    }

    /// By address.
    #[must_use]
    pub fn by_address(source: ClientIpSource) -> Self {
        Self(peer::by_address(source))
    }
}

impl fmt::Debug for AmbientClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AmbientClient(..)")
    }
}

impl<S> Layer<S> for AmbientClient {
    type Service = WithAmbientClient<S>;

    fn layer(&self, inner: S) -> Self::Service {
        WithAmbientClient {
            inner,
            find: Arc::clone(&self.0),
        }
    }
}

/// A service whose requests have an ambient client.
#[derive(Clone)]
pub struct WithAmbientClient<S> {
    inner: S,
    find: Arc<Find>,
}

impl<S: fmt::Debug> fmt::Debug for WithAmbientClient<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WithAmbientClient").field(&self.inner).finish()
    }
}

impl<S, B> Service<Request<B>> for WithAmbientClient<S>
where
    S: Service<Request<B>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (parts, body) = request.into_parts();
        let client = (self.find)(&parts);
        let answer = self.inner.call(Request::from_parts(parts, body));
        match client {
            Some(client) => Box::pin(client::scope_of(client, answer)),
            None => Box::pin(answer),
        }
    }
}
