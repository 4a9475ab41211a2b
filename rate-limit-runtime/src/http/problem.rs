//! Status, headers and body of a refusal: problem details (RFC 9457).

use std::time::Duration;

use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use serde_json::json;

use crate::rejection::{Rejection, RejectionKind};
use crate::span::Span;

/// The problem type of draft-ietf-httpapi-ratelimit-headers-11 for a quota that is used up.
const QUOTA_EXCEEDED: &str = "https://iana.org/assignments/http-problem-types#quota-exceeded";

impl Rejection {
    /// 429 for a limit that is reached or can never admit the call, 503 while the store does not decide or a
    /// transaction was in the way of another, 403 for a
    /// call that `deny_if` turned away, 400 for a key that the client left blank, and 500 for a limiter that is not set up or a function whose
    /// ambient client nobody set: those are faults of the service.
    #[must_use]
    pub const fn status(&self) -> StatusCode {
        match self.kind() {
            RejectionKind::Limited | RejectionKind::Impossible => StatusCode::TOO_MANY_REQUESTS,
            RejectionKind::Denied => StatusCode::FORBIDDEN,
            RejectionKind::StoreUnavailable | RejectionKind::Aborted => StatusCode::SERVICE_UNAVAILABLE,
            RejectionKind::MissingClient => StatusCode::BAD_REQUEST,
            RejectionKind::Misconfigured => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The refusal as a response: `Retry-After` where waiting helps, `Cache-Control: no-store`, and a body of
    /// `application/problem+json`.
    #[must_use]
    pub fn to_response(&self) -> Response<String> {
        let mut response = Response::new(self.problem());
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(wait) = self.wait() {
            headers.insert(
                RETRY_AFTER,
                HeaderValue::from(Span::from_duration(wait).in_whole_seconds().as_seconds()),
            );
        }
        response
    }

    /// While the store does not decide, a second is as good a guess as any.
    fn wait(&self) -> Option<Duration> {
        match self.kind() {
            RejectionKind::StoreUnavailable | RejectionKind::Aborted => Some(Duration::from_secs(1)),
            _ => self.retry_after(),
        }
    }

    fn problem(&self) -> String {
        let status = self.status();
        let mut problem = json!({ "status": status.as_u16() });
        let mut member = |name: &str, value: serde_json::Value| problem[name] = value;
        match self.kind() {
            RejectionKind::Limited | RejectionKind::Impossible => {
                member("type", json!(QUOTA_EXCEEDED));
                member(
                    "title",
                    json!("Request cannot be satisfied as assigned quota has been exceeded"),
                );
                member("detail", json!(self.to_string()));
                member("violated-policies", json!([self.method()]));
            }
            // What is wrong inside is for the log, not for the caller.
            kind => {
                member("type", json!("about:blank"));
                member("title", json!(status.canonical_reason()));
                if kind == RejectionKind::MissingClient {
                    member("detail", json!(self.to_string()));
                }
            }
        }
        problem.to_string()
    }
}
