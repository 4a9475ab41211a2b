//! Functions by themselves.

use core::time::Duration;

use limits::{limit_per_time, Limiter, Rejection};

/// Checked.
#[limit_per_time(1, "1m", key = id, crate = limits)]
pub async fn checked(id: u8) -> Result<u8, Rejection> {
    Ok(id)
}

/// Settled, by the type of the value.
#[limit_per_time(1, "1m", key = id, reset_on_success, crate = limits)]
pub async fn settled(id: u8, right: bool) -> Result<u8, Option<Rejection>> {
    if right {
        Ok(id)
    } else {
        Err(None)
    }
}

/// Settled, as it says.
#[limit_per_time(1, "1m", key = id, reset_on_success, success = Result::is_err, crate = limits)]
pub async fn settled_by(id: u8) -> Result<u8, Rejection> {
    Ok(id)
}

/// Cannot hold a refusal.
#[limit_per_time(1, "1m", key = id, on_limit = |_| 0, crate = limits)]
pub async fn on_limit(id: u8) -> u8 {
    id
}

/// Returns nothing, settled.
#[limit_per_time(1, "1m", key = "k", reset_on_success, success = |&()| false, on_limit = |_| (), crate = limits)]
pub async fn nothing(ran: &mut bool) {
    *ran = true;
}

/// By a limiter of its own.
#[limit_per_time(1, "1m", key = id, limiter = *limiter, crate = limits)]
pub async fn given(limiter: &Limiter, id: u8) -> Result<u8, Rejection> {
    Ok(id)
}

/// By a limiter of its own, settled.
#[limit_per_time(1, "1m", key = id, limiter = *limiter, reset_on_success, success = |_| false, crate = limits)]
pub async fn settled_given(limiter: &Limiter, id: u8) -> Result<u8, Rejection> {
    Ok(id)
}

/// With every other argument.
#[limit_per_time(
    count = 1,
    window = Duration::from_mins(1),
    key = (id, name.as_str(), ("nested", "constant")),
    reset_on_success,
    success = |_| false,
    on_limit = |rejection| Err(rejection.to_string()),
    on_store_error = closed,
    name = "hygiene::everything",
    crate = ::limits,
)]
pub async fn everything(id: u8, name: String) -> Result<String, String> {
    Ok(format!("{id}{name}"))
}

/// Generic, with bounds and lifetimes.
#[limit_per_time(1, "1m", key = N, crate = limits)]
pub async fn generic<'list, T, const N: usize>(list: &'list [T; N], other: &str) -> Result<&'list [T], Rejection>
where
    T: Sync,
{
    if other.is_empty() {
        return Ok(&[]);
    }
    Ok(list)
}

/// Generic, settled.
#[limit_per_time(1, "1m", key = N, reset_on_success, success = |_| false, crate = limits)]
pub async fn settled_generic<'list, T, const N: usize>(
    list: &'list [T; N],
    other: &str,
) -> Result<&'list [T], Rejection>
where
    T: Sync,
{
    if other.is_empty() {
        return Ok(&[]);
    }
    Ok(list)
}

/// Never returns by itself.
#[limit_per_time(1, "1m", key = id, reset_on_success, crate = limits)]
pub async fn diverging(id: u8) -> Result<u8, Rejection> {
    loop {
        if let Some(answer) = id.checked_sub(1) {
            return Ok(answer);
        }
    }
}

/// Has attributes of its own.
#[inline]
#[must_use]
#[deprecated = "it is a test"]
#[doc(hidden)]
#[limit_per_time(1, "1m", key = id, on_limit = |_| 0, crate = limits)]
pub async fn attributes(id: u8) -> u8 {
    id
}

/// In one line.
#[rustfmt::skip]
#[limit_per_time(1, "1m", key = id, crate = limits)]
pub async fn line(id: u8) -> Result<u8, Rejection> { Ok(id) }

/// In one line, settled.
#[rustfmt::skip]
#[limit_per_time(1, "1m", key = id, reset_on_success, success = |_| false, crate = limits)]
pub async fn settled_line(id: u8) -> Result<u8, Rejection> { Ok(id) }

/// Does nothing.
#[limit_per_time(1, "1m", key = "k", reset_on_success, on_limit = |_| (), crate = limits)]
pub async fn empty() {}
