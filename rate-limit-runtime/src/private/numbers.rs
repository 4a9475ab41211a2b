//! The numbers of a rule, as the attribute gives them.

use std::time::Duration;

use crate::policy::Policy;
use crate::registry::{Numbers, SiteRule};

/// The numbers of a rule for which neither the site nor the call has any. No expansion leads to it; it admits no call.
pub(super) const NOTHING: Numbers = Numbers::Own(Policy::NOTHING);

/// Returns a rule that goes by the limiter's policy of this name.
#[must_use]
pub const fn policy(name: &'static str) -> SiteRule {
    SiteRule::of(Numbers::Named(name))
}

/// Returns a rule whose numbers each call tells.
#[must_use]
pub const fn computed() -> SiteRule {
    SiteRule::computed()
}

const fn own(policy: Policy) -> SiteRule {
    SiteRule::of(Numbers::Own(policy))
}

/// Returns a rule of two literals, which were checked when they were read; the window in microseconds.
#[must_use]
pub const fn sliding_window(count: u32, window: u64) -> SiteRule {
    own(Policy::sliding_window(count, Duration::from_micros(window)))
}

/// As [`sliding_window`].
#[must_use]
pub const fn fixed_window(count: u32, window: u64) -> SiteRule {
    own(Policy::fixed_window(count, Duration::from_micros(window)))
}

/// As [`sliding_window`].
#[must_use]
pub const fn token_bucket(capacity: u32, refill: u64) -> SiteRule {
    own(Policy::token_bucket(capacity, Duration::from_micros(refill)))
}

/// Checks a count that is a constant expression, so that the compiler's error points at it.
#[must_use]
#[track_caller]
pub const fn count(count: u32) -> u32 {
    assert!(count > 0, "a count of 0 admits nobody: write 1 or more");
    assert!(count <= Policy::MAX_COUNT, "a count is at most 10,000,000");
    count
}

/// As [`count`], of a bucket.
#[must_use]
#[track_caller]
pub const fn capacity(capacity: u32) -> u32 {
    assert!(capacity > 0, "a capacity of 0 admits nobody: write 1 or more");
    assert!(capacity <= Policy::MAX_COUNT, "a capacity is at most 10,000,000");
    capacity
}

/// Checks a window that is a constant expression, so that the compiler's error points at it.
#[must_use]
#[track_caller]
pub const fn window(window: Duration) -> Duration {
    assert!(
        window.as_nanos() >= Policy::MIN_WINDOW.as_nanos(),
        "a window is at least 1 millisecond"
    );
    assert!(
        window.as_nanos() <= Policy::MAX_WINDOW.as_nanos(),
        "a window is at most 36,500 days"
    );
    window
}

/// As [`window`], of a block.
#[must_use]
#[track_caller]
pub const fn block(block: Duration) -> Duration {
    assert!(
        block.as_nanos() >= Policy::MIN_WINDOW.as_nanos(),
        "a block is at least 1 millisecond"
    );
    assert!(
        block.as_nanos() <= Policy::MAX_WINDOW.as_nanos(),
        "a block is at most 36,500 days"
    );
    block
}

/// Checks a refill that is a constant expression, so that the compiler's error points at it.
#[must_use]
#[track_caller]
pub const fn refill(refill: Duration) -> Duration {
    assert!(
        !refill.is_zero(),
        "a refill takes some time: write in which time the bucket gains one token"
    );
    refill
}
