//! The fixed window counter, aligned to the epoch.

use super::Answer;
use crate::verdict::Hit;

/// The state of one counter.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counter {
    /// When the window that is counted ends.
    end: u64,
    /// Grows by one with each hit, and starts at the time: the id of a hit is what it was after it.
    total: u64,
    /// What it was when the window began, or the last hit that was forgotten since.
    base: u64,
    /// The hits that count.
    used: u64,
}

impl Counter {
    /// Whether `cost` hits fit at `now`.
    pub(crate) fn decide(&self, now: u64, count: u32, window: u64, cost: u32) -> Answer {
        if cost > count {
            return Answer::Never;
        }
        let (used, end) = (self.used(now), self.end_at(now, window));
        if cost > 0 && used + u64::from(cost) > u64::from(count) {
            return Answer::Refused {
                retry_after: end - now,
                reset_after: end - now,
            };
        }
        Answer::Fits {
            remaining: u64::from(count).saturating_sub(used + u64::from(cost)) as u32,
            reset_after: if used + u64::from(cost) > 0 { end - now } else { 0 },
        }
    }

    /// Records `cost` hits. No hit has the id of the last that counts.
    pub(crate) fn charge(&mut self, now: u64, window: u64, cost: u32) -> Hit {
        if cost == 0 {
            return if self.used(now) > 0 {
                Hit::from_raw(self.total)
            } else {
                Hit::NONE
            };
        }
        if self.end <= now {
            self.end = self.end_at(now, window);
            self.total = self.total.max(now);
            self.base = self.total;
            self.used = 0;
        }
        self.total += u64::from(cost);
        self.used += u64::from(cost);
        Hit::from_raw(self.total)
    }

    /// Forgets the hits of this window up to and including `hit`.
    pub(crate) fn reset(&mut self, hit: Hit) {
        if self.counts(hit) {
            self.base = hit.raw();
            self.used = self.used.min(self.total - hit.raw());
        }
    }

    /// Takes back the `cost` hits of `hit`, if they are of this window.
    pub(crate) fn refund(&mut self, hit: Hit, cost: u32) {
        if self.counts(hit) {
            self.used = self.used.saturating_sub(u64::from(cost));
        }
    }

    /// Whether it is a hit of this window that was not forgotten.
    fn counts(&self, hit: Hit) -> bool {
        self.base < hit.raw() && hit.raw() <= self.total
    }

    /// Lets no window from before the clock stepped back, and no longer one from before the policy changed, hold anybody up
    /// beyond the window that is counted now.
    pub(crate) fn heal(&mut self, now: u64, window: u64) {
        if self.end > now + window {
            self.end = end_of(now, window);
        }
    }

    /// The hits that count at `now`.
    pub(crate) fn used(&self, now: u64) -> u64 {
        if self.end <= now { 0 } else { self.used }
    }

    /// Whether nothing would be lost with this counter.
    pub(crate) fn is_idle(&self, now: u64) -> bool {
        self.used(now) == 0
    }

    fn end_at(&self, now: u64, window: u64) -> u64 {
        if self.end > now { self.end } else { end_of(now, window) }
    }
}

/// The next multiple of the window.
fn end_of(now: u64, window: u64) -> u64 {
    now - now % window + window
}
