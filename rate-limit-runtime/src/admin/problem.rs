//! What cannot be answered, as problem details (RFC 9457).

use axum_core::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderName, HeaderValue, StatusCode};
use serde_json::json;

use crate::error::StoreError;

/// A status, and what to do about it. It repeats nothing of what was asked.
pub(super) struct Problem {
    status: StatusCode,
    detail: String,
    header: Option<(HeaderName, &'static str)>,
}

impl Problem {
    pub(super) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self {
            status,
            detail: detail.into(),
            header: None,
        }
    }

    pub(super) fn with(self, name: HeaderName, value: &'static str) -> Self {
        Self {
            header: Some((name, value)),
            ..self
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let detail = format!("the store does not answer, so nothing was looked up or released: {error}");
        match error.is_transient() {
            true => Self::new(StatusCode::SERVICE_UNAVAILABLE, detail).with(RETRY_AFTER, "1"),
            false => Self::new(StatusCode::INTERNAL_SERVER_ERROR, detail),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = json!({
            "type": "about:blank",
            "title": self.status.canonical_reason(),
            "status": self.status.as_u16(),
            "detail": self.detail,
        });
        let content_type = [(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"))];
        let mut response = (self.status, content_type, body.to_string()).into_response();
        if let Some((name, value)) = self.header {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    }
}
