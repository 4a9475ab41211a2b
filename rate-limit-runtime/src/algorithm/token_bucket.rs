//! The token bucket, as the one time at which it is full again.
//!
//! A bucket of `capacity` tokens that gains one each `refill` lacks `full_at - now` of time; a
//! token is `refill` of it. So no fraction is ever lost, and nothing runs while nobody calls.
//! Source: the virtual scheduling form of the generic cell rate algorithm (ITU-T I.371), with the
//! tolerance written as a capacity.
//!
//! Two policies may judge one bucket. The tokens that were missing when it last changed come back
//! at the faster of the two refills, and a policy sees no more of them missing than its capacity.
//! What it does not see stays owed under the other one (record 0021).

use super::Answer;
use crate::policy::Policy;
use crate::verdict::Hit;

/// The state of one bucket. Times are in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bucket {
    /// When the bucket is full again, by `refill`.
    pub(crate) full_at: u64,
    /// The refill of the policy that last charged it. 0 if none did.
    pub(crate) refill: u64,
    /// When it last changed.
    pub(crate) changed_at: u64,
    /// Grows by one with each token taken, and starts at the time: the id of a hit is its value
    /// after it.
    pub(crate) taken: u64,
    /// Whether events came with a time of their own, so that more may come late.
    pub(crate) late: bool,
}

/// A charge by one policy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Take {
    pub(crate) capacity: u32,
    pub(crate) refill: u64,
    pub(crate) cost: u32,
    /// The time of the event, if it came with one.
    pub(crate) at: Option<u64>,
}

impl Take {
    /// The earlier of the time of the event and now.
    fn event(&self, now: u64) -> u64 {
        self.at.map_or(now, |at| at.min(now))
    }
}

/// The longest time that a policy may have, and the most that conversion makes of what is owed.
const LONGEST: u64 = Policy::MAX_WINDOW.as_micros() as u64;

/// How long a bucket is kept for events that come late, after it is full and after its last change.
const LATENESS: u64 = 86_400_000_000;

impl Bucket {
    /// Whether the tokens of a charge are there.
    pub(crate) fn decide(&self, now: u64, take: Take) -> Answer {
        if take.cost > take.capacity {
            return Answer::Never;
        }
        let pace = u128::from(self.pace(take.refill));
        let missing = self.judged(now, take).saturating_sub(take.event(now));
        let whole = pace * u128::from(take.capacity);
        let free = (whole.saturating_sub(missing.into()) / pace) as u32;
        if take.cost > free {
            return Answer::Refused {
                remaining: free,
                retry_after: (u128::from(missing) + pace * u128::from(take.cost) - whole) as u64,
                reset_after: missing,
            };
        }
        let (full_at, refill) = self.after(now, take);
        let left = full_at.saturating_sub(take.event(now));
        let whole = refill * u64::from(take.capacity);
        let remaining = (whole.saturating_sub(left) / refill) as u32;
        Answer::Fits {
            // One more call may fit though more is owed than this policy sees.
            remaining: if take.cost == 0 {
                remaining.max(free.min(1))
            } else {
                remaining
            },
            reset_after: left.min(whole),
        }
    }

    /// Takes the tokens of a charge that was decided. A charge of none has the id of the last token
    /// that is missing.
    pub(crate) fn charge(&mut self, now: u64, take: Take) -> Hit {
        if take.cost == 0 {
            return if self.full_at > now {
                Hit::from_raw(self.taken)
            } else {
                Hit::NONE
            };
        }
        let taken = if self.taken == 0 { now } else { self.taken };
        let (full_at, refill) = self.after(now, take);
        *self = Self {
            full_at,
            refill,
            changed_at: now,
            taken: taken + u64::from(take.cost),
            late: self.late || take.at.is_some(),
        };
        Hit::from_raw(self.taken)
    }

    /// Gives back what was taken up to and including `hit`: what later hits took stays missing.
    pub(crate) fn reset(&mut self, now: u64, hit: Hit) {
        if let Some(later) = self.taken_after(hit) {
            self.leave_missing(now, |missing| missing.min(later));
        }
    }

    /// Gives back the `cost` tokens of `hit`, as far as they have not come back by themselves.
    pub(crate) fn refund(&mut self, now: u64, hit: Hit, cost: u32) {
        if let Some(later) = self.taken_after(hit) {
            let refunded = self.refill.saturating_mul(u64::from(cost));
            // If the bucket was full since, what is missing now was all taken later.
            self.leave_missing(now, |missing| missing.saturating_sub(refunded).max(missing.min(later)));
        }
    }

    /// Changes what is missing at `now`. A full bucket stays as it was for an event that comes
    /// late.
    fn leave_missing(&mut self, now: u64, left: impl FnOnce(u64) -> u64) {
        self.heal(now);
        let missing = self.full_at.saturating_sub(now);
        if missing > 0 {
            self.full_at = now + left(missing);
            self.changed_at = now;
        }
    }

    /// What hits after `hit` took, as time. `None` if the hit is not of this bucket.
    fn taken_after(&self, hit: Hit) -> Option<u64> {
        Some(self.taken.checked_sub(hit.raw())?.saturating_mul(self.refill))
    }

    /// Keeps what is missing as it was, if the clock stepped back since the last change. Returns
    /// whether it did.
    pub(crate) fn heal(&mut self, now: u64) -> bool {
        let stepped_back = self.changed_at > now;
        if stepped_back {
            self.full_at = self.open(now, self.refill);
            self.changed_at = now;
        }
        stepped_back
    }

    /// The tokens that are missing at `now`.
    pub(crate) fn missing(&self, now: u64) -> usize {
        (self.full_at.saturating_sub(now)).div_ceil(self.refill.max(1)) as usize
    }

    /// Whether nothing would be lost with this bucket.
    pub(crate) fn is_idle(&self, now: u64) -> bool {
        let kept = if self.late {
            self.full_at.max(self.changed_at) + LATENESS
        } else {
            self.full_at
        };
        kept <= now
    }

    /// The refill at which tokens come back as a policy with this one sees it: the faster of its
    /// own and the last.
    fn pace(&self, refill: u64) -> u64 {
        match self.refill {
            0 => refill,
            last => last.min(refill),
        }
    }

    /// What was missing when the bucket last changed, at the pace of a policy.
    fn owed(&self, refill: u64) -> u64 {
        let owed = self.full_at.saturating_sub(self.changed_at);
        if refill < self.refill {
            scaled(owed, refill, self.refill)
        } else {
            owed
        }
    }

    /// When the bucket is full as a policy sees it: no more than its capacity was missing at the
    /// last change.
    fn judged(&self, now: u64, take: Take) -> u64 {
        let whole = u128::from(self.pace(take.refill)) * u128::from(take.capacity);
        match self.owed(take.refill) {
            0 => self.full_at.min(now),
            owed => self.changed_at.min(now) + u128::from(owed).min(whole) as u64,
        }
    }

    /// When the bucket is full at the pace of a policy, whatever its capacity.
    fn open(&self, now: u64, refill: u64) -> u64 {
        match self.owed(refill) {
            0 => self.full_at.min(now),
            owed => self.changed_at.min(now) + owed,
        }
    }

    /// When the bucket is full once a charge is taken, and the refill that this is reckoned by:
    /// that of the charge, or a faster one where more tokens are owed than fit in the longest time
    /// at that.
    fn after(&self, now: u64, take: Take) -> (u64, u64) {
        let event = take.event(now);
        let open = self.open(now, take.refill);
        let missing = open.saturating_sub(event);
        let (mut full, mut refill) = (open.max(event), take.refill);
        if missing > 0 && take.refill > self.pace(take.refill) {
            refill = refill.min((LONGEST / missing.div_ceil(self.refill)).max(self.refill));
            full = event + scaled(missing, refill, self.refill);
        }
        (full + refill * u64::from(take.cost), refill)
    }
}

/// As many tokens at the refill `to` as `time` is at the refill `from`, rounded up, against the
/// client.
fn scaled(time: u64, to: u64, from: u64) -> u64 {
    (u128::from(time) * u128::from(to)).div_ceil(u128::from(from)) as u64
}
