//! Several limits on one function.

use limits::{limit_per_time, Limiter, Rejection};

/// Checked.
#[limit_per_time(9, "1h", key = "everybody", crate = limits)]
#[limit_per_time(1, "1m", key = id)]
pub async fn checked(id: u8) -> Result<u8, Rejection> {
    Ok(id)
}

/// With attributes between, one of which is ours by its path.
#[limit_per_time(9, "1h", key = "everybody", reset_on_success, success = |_| false)]
/// A comment.
#[inline]
#[must_use]
#[limits::limit_per_time(1, "1m", key = (id, name.as_str()), crate = limits)]
pub async fn settled(id: u8, name: String, _: u8, _unused: u8) -> Result<String, Rejection> {
    Ok(format!("{id}{name}"))
}

/// Each settled in a way of its own, by the type of the value.
#[limit_per_time(2, "1h", key = id, refund_on_success, crate = limits)]
#[limit_per_time(1, "1m", key = id, reset_on_success)]
#[limit_per_time(9, "1m", key = id, refund_on_error)]
pub async fn each_its_way(id: u8, right: bool) -> Result<u8, Option<Rejection>> {
    if right {
        Ok(id)
    } else {
        Err(None)
    }
}

/// What is said once stands on different ones.
#[limit_per_time(9, "1h", key = "everybody", name = "hygiene::stacked::once", skip_if = id == 0)]
#[limit_per_time(1, "1m", key = id, limiter = *limiter, permit = _permit, on_store_error = closed)]
#[limit_per_time(9, "1d", key = id, deny_if = id == 9, on_limit = |_| 0, crate = limits, observe)]
pub async fn once(limiter: &Limiter, id: u8) -> u8 {
    id
}

/// Has methods.
pub struct Portal {
    /// Tells portals apart.
    pub id: u8,
}

impl Portal {
    /// Checked.
    #[limit_per_time(9, "1h", key = self.id, crate = limits)]
    #[limit_per_time(1, "1m", key = self.id)]
    pub async fn checked(&self, _: u8) -> Result<u8, Rejection> {
        Ok(self.id)
    }

    /// Settled.
    #[limit_per_time(9, "1h", key = self.id, crate = limits, refund_on_error)]
    #[limit_per_time(1, "1m", key = self.id)]
    pub async fn settled(&mut self, by: u8) -> Result<u8, Rejection> {
        self.id = self.id.saturating_add(by);
        Ok(self.id)
    }
}
