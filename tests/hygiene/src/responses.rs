//! Handlers.

use axum::http::StatusCode;
use axum::response::{self, IntoResponse, Response};
use limits::{limit_per_time, Rejection};

/// Checked.
#[limit_per_time(1, "1m", key = id, crate = limits)]
pub async fn opaque(id: u8, _: String) -> impl IntoResponse {
    (StatusCode::CREATED, id.to_string())
}

/// Settled.
#[limit_per_time(1, "1m", key = id, reset_on_success, crate = limits)]
pub async fn settled_opaque(id: u8, _: String, mut status: StatusCode) -> impl IntoResponse {
    if status == StatusCode::CONTINUE {
        status = StatusCode::OK;
    }
    (status, id.to_string())
}

/// Settled, as it says.
#[limit_per_time(1, "1m", key = id, reset_on_success, success = |out| out.status().is_redirection(), crate = limits)]
pub async fn settled_opaque_by(id: u8) -> impl response::IntoResponse {
    id.to_string()
}

/// A response.
#[limit_per_time(1, "1m", key = id, reset_on_success, crate = limits)]
pub async fn response(id: u8, status: StatusCode) -> Response {
    (status, id.to_string()).into_response()
}

/// A result with a response in it.
#[limit_per_time(1, "1m", key = id, reset_on_success, crate = limits)]
pub async fn result(id: u8, status: StatusCode) -> Result<(StatusCode, String), Rejection> {
    Ok((status, id.to_string()))
}
