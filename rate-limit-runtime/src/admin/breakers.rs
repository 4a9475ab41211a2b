//! How many servers calls of this process are kept from.

use std::sync::atomic::{AtomicI64, Ordering};

static OPEN: AtomicI64 = AtomicI64::new(0);

/// Calls are kept from one more server, or from one less.
pub(crate) fn breaker(open: bool) {
    OPEN.fetch_add(if open { 1 } else { -1 }, Ordering::Relaxed);
}

pub(super) fn open() -> i64 {
    OPEN.load(Ordering::Relaxed)
}
