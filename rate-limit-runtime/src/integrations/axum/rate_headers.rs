//! Headers that tell a client how it stands.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::header::CACHE_CONTROL;
use http::{HeaderValue, Request, Response};
use tower_layer::Layer;
use tower_service::Service;

use crate::http::dialect::{self, HeaderDialect};
use crate::report;

/// A layer that writes on each answer how the client stands, by the tightest limit that the request met. A request that met none is
/// answered as it is.
///
/// How a client stands is nobody else's business: a public `Cache-Control` of an answer becomes `private`.
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
    /// In this dialect.
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

/// A service whose answers tell how the client stands.
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
            if let (Some(report), true) = (report, dialect != HeaderDialect::None) {
                let headers = answer.headers_mut();
                dialect.write(report.name, &report.decision, headers);
                let is_public = |value: &HeaderValue| value.to_str().is_ok_and(dialect::is_public);
                if headers.get(CACHE_CONTROL).is_some_and(is_public) {
                    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private"));
                }
            }
            Ok(answer)
        })
    }
}
