//! The token bucket, as the one time at which it is full again.
//!
//! A bucket of `capacity` tokens that gains one each `refill` lacks `full_at - now` of time; a token is `refill` of it. So no
//! fraction is ever lost, and nothing runs while nobody calls. Source: the virtual scheduling form of the generic cell rate
//! algorithm (ITU-T I.371), with the tolerance written as a capacity.

use super::Answer;
use crate::verdict::Hit;

/// The state of one bucket.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bucket {
    full_at: u64,
    /// The refill that `full_at` was reckoned with.
    refill: u64,
    /// Grows by one with each token taken, and starts at the time: the id of a hit is what it was after it.
    taken: u64,
    /// Whether events came with a time of their own, so that more may come late.
    late: bool,
}

/// How late an event may come and still find the bucket as it was.
const LATENESS: u64 = 86_400_000_000;

impl Bucket {
    /// As a database keeps it: its hits go by `full_at` itself.
    #[cfg(feature = "_sql")]
    pub(crate) fn read(full_at: u64, refill: u64) -> Self {
        Self {
            full_at,
            refill,
            ..Self::default()
        }
    }

    #[cfg(feature = "_sql")]
    pub(crate) const fn full_at(&self) -> u64 {
        self.full_at
    }

    /// Whether `cost` tokens are there for an event at the time `at`.
    pub(crate) fn decide(&self, now: u64, at: Option<u64>, capacity: u32, refill: u64, cost: u32) -> Answer {
        if cost > capacity {
            return Answer::Never;
        }
        let now = event_time(now, at);
        let whole = refill * u64::from(capacity);
        let missing = self.full_at.saturating_sub(now) + refill * u64::from(cost);
        if cost > 0 && missing > whole {
            return Answer::Refused {
                retry_after: missing - whole,
                reset_after: self.full_at.saturating_sub(now),
            };
        }
        Answer::Fits {
            remaining: (whole.saturating_sub(missing) / refill) as u32,
            reset_after: missing,
        }
    }

    /// Takes `cost` tokens, for an event at the time `at`. No token has the id of the last that is missing.
    pub(crate) fn charge(&mut self, now: u64, at: Option<u64>, refill: u64, cost: u32) -> Hit {
        if cost == 0 {
            return if self.full_at > now {
                Hit::from_raw(self.taken)
            } else {
                Hit::NONE
            };
        }
        self.late |= at.is_some();
        self.full_at = self.full_at.max(event_time(now, at)) + refill * u64::from(cost);
        let taken = if self.taken == 0 { now } else { self.taken };
        self.taken = taken + u64::from(cost);
        Hit::from_raw(self.taken)
    }

    /// Gives back what was taken up to and including `hit`: what later hits took stays missing.
    pub(crate) fn reset(&mut self, now: u64, hit: Hit) {
        if let Some(later) = self.taken_after(hit) {
            self.full_at = self.full_at.min(now + later);
        }
    }

    /// Gives back the `cost` tokens of `hit`, as far as they have not come back by themselves.
    pub(crate) fn refund(&mut self, now: u64, hit: Hit, cost: u32) {
        if let Some(later) = self.taken_after(hit) {
            let missing = self.full_at.saturating_sub(now);
            // If the bucket was full since, what is missing now was all taken later.
            let without = missing
                .saturating_sub(self.refill * u64::from(cost))
                .max(missing.min(later));
            // A bucket that is full stays as it was for an event that comes late.
            self.full_at = self.full_at.min(now + without);
        }
    }

    /// What hits after `hit` took, as time. `None` if the hit is not of this bucket.
    fn taken_after(&self, hit: Hit) -> Option<u64> {
        self.taken.checked_sub(hit.raw())?.checked_mul(self.refill)
    }

    /// Reckons with other numbers from now on, keeping how many tokens are missing, and lets no time from before the clock
    /// stepped back hold anybody up for longer than an empty bucket does.
    pub(crate) fn heal(&mut self, now: u64, capacity: u32, refill: u64) {
        let whole = refill * u64::from(capacity);
        let mut missing = u128::from(self.full_at.saturating_sub(now));
        if self.refill != refill && self.refill > 0 {
            missing = (missing * u128::from(refill)).div_ceil(u128::from(self.refill));
        }
        self.refill = refill;
        self.full_at = self.full_at.min(now) + (missing.min(u128::from(whole)) as u64);
    }

    /// The tokens that are missing at `now`.
    pub(crate) fn missing(&self, now: u64) -> usize {
        (self.full_at.saturating_sub(now)).div_ceil(self.refill.max(1)) as usize
    }

    /// Whether nothing would be lost with this bucket.
    pub(crate) fn is_idle(&self, now: u64) -> bool {
        self.full_at + if self.late { LATENESS } else { 0 } <= now
    }
}

/// The earlier of the time of the event and now.
fn event_time(now: u64, at: Option<u64>) -> u64 {
    at.map_or(now, |at| at.min(now))
}
