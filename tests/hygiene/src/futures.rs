//! Functions that return a future and are not `async`.

use core::future::Future;
use core::pin::Pin;

use limits::{limit_per_time, Rejection};

/// Checked.
#[limit_per_time(1, "1m", key = id, crate = limits)]
pub fn checked(id: u8) -> impl Future<Output = Result<u8, Rejection>> + Send {
    async move { Ok(id) }
}

/// Settled, with statements in front.
#[limit_per_time(1, "1m", key = before, reset_on_success, success = |_| false, crate = limits)]
pub fn settled(id: u8, _: u8) -> impl Future<Output = Result<u8, Rejection>> + Send {
    let before = id.saturating_add(1);
    async move {
        let after = before.saturating_add(1);
        Ok(after)
    }
}

/// Boxed.
#[limit_per_time(1, "1m", key = id, crate = limits)]
#[must_use]
pub fn boxed(id: &u8) -> Pin<Box<dyn Future<Output = Result<u8, Rejection>> + Send + '_>> {
    Box::pin(async move {
        if *id == 0 {
            return Ok(0);
        }
        Ok(*id)
    })
}

/// Boxed, settled, by the type of the value.
#[limit_per_time(9, "1m", key = id, crate = limits)]
#[limit_per_time(1, "1m", key = id, refund_on_error)]
#[must_use]
pub fn settled_boxed(id: u8, right: bool) -> Pin<Box<dyn Future<Output = Result<u8, Option<Rejection>>> + Send>> {
    Box::pin(async move {
        if right {
            Ok(id)
        } else {
            Err(None)
        }
    })
}

/// Cannot hold a refusal.
#[limit_per_time(1, "1m", key = id, on_limit = |_| 0, crate = limits)]
pub fn on_limit(id: u8) -> impl Future<Output = u8> {
    async move { id }
}

/// With its permit.
#[limit_per_time(1, "1m", key = id, permit = permit, crate = limits)]
pub fn permit(id: u8) -> impl Future<Output = Result<u32, Rejection>> {
    async move {
        Ok(permit
            .decision()
            .map_or_else(|| u32::from(id), |decision| decision.remaining))
    }
}
