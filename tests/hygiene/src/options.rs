//! Every argument that says how a call is counted.

use core::time::Duration;
use std::time::SystemTime;

use limits::{limit_per_time, Rejection};
use sqlx::{Sqlite, SqliteConnection, Transaction};

/// A constant.
const ONE: u32 = 1;
/// A constant.
const MINUTE: Duration = Duration::from_mins(1);

/// A bucket.
#[limit_per_time(algorithm = token_bucket, capacity = 1, refill = "50s", key = id, crate = limits)]
pub async fn bucket(id: u8) -> Result<u8, Rejection> {
    Ok(id)
}

/// A bucket of constants, by the time of the event.
#[limit_per_time(algorithm = token_bucket, capacity = ONE, refill = MINUTE, block = MINUTE, key = id, at = at, crate = limits)]
pub async fn bucket_of_constants(id: u8, at: SystemTime) -> Result<u8, Rejection> {
    Ok(id)
}

/// A fixed window.
#[limit_per_time(1, "1m", algorithm = fixed_window, key = id, crate = limits)]
pub async fn fixed(id: u8) -> Result<u8, Rejection> {
    Ok(id)
}

/// A block.
#[limit_per_time(ONE, MINUTE, algorithm = sliding_window, block = "1h", key = id, crate = limits)]
pub async fn block(id: u8) -> Result<u8, Rejection> {
    Ok(id)
}

/// A cost.
#[limit_per_time(2, "1m", key = id, cost = u32::from(id).saturating_sub(5), crate = limits)]
pub async fn cost(id: u8) -> Result<u8, Rejection> {
    Ok(id)
}

/// A cost, settled.
#[limit_per_time(2, "1m", key = id, cost = 2, refund_on_error, crate = limits)]
pub async fn settled_cost(id: u8) -> Result<u8, Rejection> {
    Ok(id)
}

/// Skipped for some.
#[limit_per_time(1, "1m", key = id, skip_if = trusted, crate = limits)]
pub async fn skip(id: u8, trusted: bool) -> Result<u8, Rejection> {
    Ok(id)
}

/// Skipped for some, settled, with a block as a condition.
#[limit_per_time(1, "1m", key = id, skip_if = { trusted }, reset_on_success, success = |_| false, crate = limits)]
pub async fn settled_skip(id: u8, trusted: bool) -> Result<u8, Rejection> {
    Ok(id)
}

/// Denied to some.
#[limit_per_time(9, "1m", key = id, deny_if = agent.is_some_and(|name| name == "bot"), crate = limits)]
pub async fn deny(id: u8, agent: Option<&str>) -> Result<u8, Rejection> {
    Ok(id)
}

/// Denied to some, settled.
#[limit_per_time(9, "1m", key = id, deny_if = id == 0, reset_on_success, crate = limits)]
pub async fn settled_deny(id: u8) -> Result<u8, Rejection> {
    Ok(id)
}

/// Refuses nobody.
#[limit_per_time(1, "1m", key = id, observe, crate = limits)]
pub async fn observe(id: u8) -> Result<u8, Rejection> {
    Ok(id)
}

/// Shows its permit.
#[limit_per_time(1, "1m", key = id, permit = permit, crate = limits)]
pub async fn permit(id: u8) -> Result<u32, Rejection> {
    Ok(permit
        .decision()
        .map_or_else(|| u32::from(id), |decision| decision.remaining))
}

/// Has a permit and does not look at it.
#[limit_per_time(1, "1m", key = id, permit = _permit, crate = limits)]
pub async fn unused_permit(id: u8) -> Result<u8, Rejection> {
    Ok(id)
}

/// Has a permit, and nothing to say.
#[limit_per_time(1, "1m", key = "k", permit = _permit, on_limit = |_| (), crate = limits)]
pub async fn nothing(ran: &mut bool) {
    *ran = true;
}

/// By the ambient client.
#[limit_per_time(1, "1m", crate = limits)]
pub async fn ambient() -> Result<u8, Rejection> {
    Ok(7)
}

/// By the ambient client, settled.
#[limit_per_time(1, "1m", refund_on_success, success = Result::is_err, crate = limits)]
pub async fn settled_ambient() -> Result<u8, Rejection> {
    Ok(7)
}

/// Gives a success back.
#[limit_per_time(1, "1m", key = id, refund_on_success, crate = limits)]
pub async fn refund_on_success(id: u8, right: bool) -> Result<u8, Option<Rejection>> {
    if right {
        Ok(id)
    } else {
        Err(None)
    }
}

/// Gives a failure back.
#[limit_per_time(1, "1m", key = id, refund_on_error, crate = limits)]
pub async fn refund_on_error(id: u8, right: bool) -> Result<u8, Option<Rejection>> {
    if right {
        Ok(id)
    } else {
        Err(None)
    }
}

/// Gives a failure back, as it says.
#[limit_per_time(1, "1m", key = id, refund_on_error, success = |out| out == &Ok(7), crate = limits)]
pub async fn refund_on_error_by(id: u8, _: String) -> Result<u8, Rejection> {
    Ok(id)
}

/// Gives back what returned nothing.
#[limit_per_time(1, "1m", key = "k", refund_on_error, on_limit = |_| (), crate = limits)]
pub async fn refund_nothing(ran: &mut bool) {
    *ran = true;
}

/// In the transaction of the caller.
#[limit_per_time(algorithm = token_bucket, capacity = 1, refill = "50s", key = id, within = tx, crate = limits)]
pub async fn within(tx: &mut Transaction<'_, Sqlite>, id: u8) -> Result<u8, Rejection> {
    Ok(id)
}

/// In the transaction of the caller, with a permit.
#[limit_per_time(
    algorithm = token_bucket, capacity = ONE, refill = MINUTE, key = id, within = tx, permit = permit, crate = limits
)]
pub async fn permit_within(tx: &mut SqliteConnection, id: u8) -> Result<u32, Rejection> {
    Ok(permit.decision().map_or(1, |decision| decision.remaining))
}
