//! No prelude.
#![no_implicit_prelude]

use ::axum::http::StatusCode;
use ::axum::response::IntoResponse;
use ::core::future::Future;
use ::core::marker::Send;
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

/// Stacked, with every option, settled.
#[limit_per_time(9, "1h", key = id, cost = 2, block = "1h", skip_if = id == 0, refund_on_error, crate = ::limits)]
#[limit_per_time(algorithm = token_bucket, capacity = 1, refill = "1m", key = id, deny_if = id == 9, on_store_error = open)]
pub async fn stacked(id: u8, _: u8) -> Result<u8, Rejection> {
    Ok(id)
}

/// With a permit.
#[limit_per_time(9, "1h", key = id, observe, crate = ::limits)]
#[limit_per_time(1, "1h", key = id, algorithm = fixed_window, permit = _permit)]
pub async fn permit(id: u8) -> Result<u8, Rejection> {
    Ok(id)
}

/// With numbers from configuration.
#[limit_per_time(policy = "bare", key = id, crate = ::limits)]
#[limit_per_time(policy = "bare", key = id, deny_if = id == 9)]
pub async fn named<T: Send>(id: u8, _: T) -> Result<u8, Rejection> {
    Ok(id)
}

/// Hands them on.
#[limit_per_time(policy = "bare", key = "everybody", crate = ::limits)]
#[expect(async_fn_in_trait, reason = "what calls it here needs no `Send`")]
pub trait Named<T> {
    /// Is written by each type.
    async fn required(&self) -> Result<u8, Rejection>;
}

#[limit_per_time(key = "everybody", crate = ::limits)]
impl<T> Named<T> for Portal {
    async fn required(&self) -> Result<u8, Rejection> {
        Ok(7)
    }
}

/// By the ambient client.
#[limit_per_time(1, "1m", crate = ::limits)]
pub async fn ambient() -> Result<u8, Rejection> {
    Ok(7)
}

/// Returns a future.
#[limit_per_time(1, "1m", key = id, reset_on_success, success = |_| false, crate = ::limits)]
pub fn later(id: u8) -> impl Future<Output = Result<u8, Rejection>> + Send {
    async move { Ok(id) }
}

/// Has numbers for those who implement it.
#[limit_per_time(1, "1m", key = id, crate = ::limits)]
#[expect(async_fn_in_trait, reason = "what calls it here needs no `Send`")]
pub trait Api {
    /// Is written by each type.
    async fn required(&self, id: u8) -> Result<u8, Rejection>;

    /// Is written here.
    async fn provided(&self, id: u8) -> Result<u8, Rejection> {
        Ok(id)
    }
}

/// Implements it.
pub struct Portal;

#[limit_per_time(key = id, crate = ::limits)]
impl Api for Portal {
    async fn required(&self, id: u8) -> Result<u8, Rejection> {
        Ok(id)
    }
}

/// In the transaction of the caller.
#[limit_per_time(algorithm = token_bucket, capacity = 1, refill = "50s", key = id, within = tx, crate = ::limits)]
pub async fn within(tx: &mut ::sqlx::SqliteConnection, id: u8) -> Result<u8, Rejection> {
    Ok(id)
}
