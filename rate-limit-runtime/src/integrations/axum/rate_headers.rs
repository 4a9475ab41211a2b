//! Headers that tell a client how it stands.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::header::CACHE_CONTROL;
use http::{HeaderValue, Request, Response};
use tower_layer::Layer;
use tower_service::Service;

use crate::http::cache_control::made_private;
use crate::http::dialect::HeaderDialect;
use crate::report;

/// A layer that tells the client on each answer how it stands, by the tightest limit that the request met. A request that met none is
/// answered as it is, and so is one whose answer has a header of this dialect already: a handler's own header is kept.
///
/// How a client stands is for that client alone, so an answer that tells it becomes `Cache-Control: private`, unless it is that or
/// `no-store` already. `public` and `s-maxage` are left out, all other directives are kept. A header for one cache, such as
/// `CDN-Cache-Control`, is not looked at.
///
/// Scripts of another origin see these headers only if the CORS layer outside of this one exposes them: see
/// [`LimitRoute`](super::LimitRoute#cors).
///
/// ```
/// use axum::{Router, routing::get};
/// use rate_limit_runtime::{HeaderDialect, axum::RateHeaders};
///
/// let app: Router = Router::new()
///     .route("/grades", get(|| async { "all of them" }))
///     .layer(RateHeaders::new(HeaderDialect::Draft11));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RateHeaders(HeaderDialect);

impl RateHeaders {
    /// Creates the layer, which writes the headers of this dialect.
    #[must_use]
    pub const fn new(dialect: HeaderDialect) -> Self {
        Self(dialect)
    }
}

impl<S> Layer<S> for RateHeaders {
    type Service = WithRateHeaders<S>;

    fn layer(&self, inner: S) -> Self::Service {
        WithRateHeaders { inner, dialect: self.0 }
    }
}

/// The service produced by [`RateHeaders`].
#[derive(Clone, Debug)]
pub struct WithRateHeaders<S> {
    inner: S,
    dialect: HeaderDialect,
}

impl<S, B, R> Service<Request<B>> for WithRateHeaders<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Future: Send + 'static,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<R>, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let dialect = self.dialect;
        let answer = self.inner.call(request);
        Box::pin(async move {
            let (answer, report) = report::collect(answer).await;
            let mut answer = answer?;
            let headers = answer.headers_mut();
            if let Some(report) = report.filter(|_| dialect.is_to_be_written(|name| headers.contains_key(name))) {
                dialect.write(report.name, &report.decision, headers);
                let lines = headers.get_all(CACHE_CONTROL).into_iter().map(HeaderValue::as_bytes);
                if let Some(private) = made_private(lines) {
                    headers.insert(CACHE_CONTROL, private);
                }
            }
            Ok(answer)
        })
    }
}
