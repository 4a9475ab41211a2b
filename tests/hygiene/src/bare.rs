//! No prelude.
#![no_implicit_prelude]

use ::axum::http::StatusCode;
use ::axum::response::IntoResponse;
use ::core::result::Result::{self, Ok};
use ::limits::{limit_per_time, Limiter, Rejection};

/// Checked.
#[limit_per_time(1, "1m", key = id, crate = ::limits)]
pub async fn checked(id: u8) -> Result<u8, Rejection> {
    Ok(id)
}

/// Settled.
#[limit_per_time(1, "1m", key = id, reset_on_success, success = |_| false, crate = ::limits)]
pub async fn settled(id: u8, _: u8) -> Result<u8, Rejection> {
    Ok(id)
}

/// Settled, by the type of the value.
#[limit_per_time(1, "1m", key = id, reset_on_success, crate = ::limits)]
pub async fn settled_by_type(id: u8) -> Result<StatusCode, Rejection> {
    let _: u8 = id;
    Ok(StatusCode::UNAUTHORIZED)
}

/// A response.
#[limit_per_time(1, "1m", key = id, crate = ::limits)]
pub async fn opaque(id: u8, _: u8) -> impl IntoResponse {
    [id]
}

/// A response, settled.
#[limit_per_time(1, "1m", key = id, reset_on_success, success = |_| false, crate = ::limits)]
pub async fn settled_opaque(id: u8, _: u8) -> impl IntoResponse {
    [id]
}

/// Cannot hold a refusal, and its limiter is given.
#[limit_per_time(1, "1m", key = id, limiter = *limiter, on_limit = |_| 0, crate = ::limits)]
pub async fn given(limiter: &Limiter, id: u8) -> u8 {
    id
}
