//! Parameters of each form.

use limits::{limit_per_time, Rejection};

/// Has two fields.
pub struct Pair {
    /// The first.
    pub left: u8,
    /// The second.
    pub right: String,
}

/// Ignored, `mut` and destructured parameters.
#[limit_per_time(1, "1m", key = (left, first), crate = limits)]
pub async fn patterns(
    _: String,
    mut count: u8,
    Pair { left, right }: Pair,
    (first, _): (u8, u8),
    _unused: bool,
) -> Result<String, Rejection> {
    count = count.saturating_add(first);
    Ok(format!("{left}{right}{count}"))
}

/// The same, settled.
#[limit_per_time(1, "1m", key = (left, first), reset_on_success, success = |_| false, crate = limits)]
pub async fn settled_patterns(
    _: String,
    mut count: u8,
    Pair { left, right }: Pair,
    (first, _): (u8, u8),
    _unused: bool,
) -> Result<String, Rejection> {
    count = count.saturating_add(first);
    Ok(format!("{left}{right}{count}"))
}

/// Parameters that are there or not.
#[limit_per_time(1, "1m", key = id, crate = limits)]
pub async fn conditional(
    #[cfg(feature = "extra")] extra: u8,
    #[cfg(not(feature = "extra"))] extra: i8,
    #[cfg(any())] gone: NoSuchType,
    id: u8,
) -> Result<i16, Rejection> {
    Ok(i16::from(extra) | i16::from(id))
}

/// The same, settled.
#[limit_per_time(1, "1m", key = id, reset_on_success, success = |_| false, crate = limits)]
pub async fn settled_conditional(
    #[cfg(feature = "extra")] extra: u8,
    #[cfg(not(feature = "extra"))] extra: i8,
    #[cfg(any())] gone: NoSuchType,
    #[cfg(any())] _: NoSuchType,
    id: u8,
) -> Result<i16, Rejection> {
    Ok(i16::from(extra) | i16::from(id))
}

/// Names that the expansion uses too.
#[limit_per_time(1, "1m", key = (client, call), reset_on_success, success = |_| false, crate = limits)]
pub async fn names(
    client: u8,
    call: u8,
    rejection: u8,
    limiter: u8,
    body: u8,
    types: u8,
) -> Result<[u8; 6], Rejection> {
    Ok([client, call, rejection, limiter, body, types])
}

/// The others.
#[limit_per_time(1, "1m", key = (permit, out), reset_on_success, success = |_| false, crate = limits)]
pub async fn more_names(permit: u8, admitted: u8, out: u8, kept: u8, here: u8) -> Result<[u8; 5], Rejection> {
    Ok([permit, admitted, out, kept, here])
}
