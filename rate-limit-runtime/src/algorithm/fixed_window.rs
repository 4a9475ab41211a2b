//! The fixed window counter, aligned to the epoch.
//!
//! Two policies with windows of unlike lengths may judge one counter. It then counts in the window
//! of each, and every hit counts in all of them (record 0021).

use super::Answer;
use crate::verdict::Hit;

/// The state of one counter. Times are in microseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counter {
    /// Grows by one with each hit, and starts at the time: the id of a hit is its value after it.
    total: u64,
    /// When a hit was last counted.
    counted_at: u64,
    last: Window,
    /// Windows of other lengths, the oldest first. Behind a pointer, since as a rule there are none
    /// and counters are many.
    #[allow(clippy::box_collection, reason = "a counter has room for a thin pointer")]
    others: Option<Box<Vec<Window>>>,
}

/// What is counted in windows of one length; 0 before anything is.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    length: u64,
    /// When the window that is counted ends.
    end: u64,
    /// The total when that window began, or the last hit that was forgotten since.
    base: u64,
    /// The hits that count.
    used: u64,
}

/// How many lengths are counted at most. Beyond that the shortest goes: what it counted counts in a
/// longer one.
const LENGTHS: usize = 4;

impl Counter {
    /// Whether `cost` hits fit at `now`.
    pub(crate) fn decide(&self, now: u64, count: u32, length: u64, cost: u32) -> Answer {
        if cost > count {
            return Answer::Never;
        }
        let Window { end, used, .. } = self.window(now, length);
        let free = u64::from(count).saturating_sub(used);
        if u64::from(cost) > free {
            return Answer::Refused {
                remaining: free as u32,
                retry_after: end - now,
                reset_after: end - now,
            };
        }
        Answer::Fits {
            remaining: (free - u64::from(cost)) as u32,
            reset_after: if used + u64::from(cost) > 0 { end - now } else { 0 },
        }
    }

    /// Records `cost` hits. No hit has the id of the last that counts.
    pub(crate) fn charge(&mut self, now: u64, length: u64, cost: u32) -> Hit {
        if cost == 0 {
            return if self.window(now, length).used > 0 {
                Hit::from_raw(self.total)
            } else {
                Hit::NONE
            };
        }
        let mut own = self.window(now, length);
        if self.is_idle(now) {
            self.others = None;
            self.last = own;
            self.total = self.total.max(now);
        }
        if own.used == 0 {
            own.base = self.total;
        }
        self.count_in(own);
        let total = self.total;
        for window in self.windows_mut() {
            if window.end <= now {
                window.end = end_of(now, window.length);
                (window.base, window.used) = (total, 0);
            }
            window.used += u64::from(cost);
        }
        self.total += u64::from(cost);
        self.counted_at = now;
        Hit::from_raw(self.total)
    }

    /// Keeps what counts until the window of this length ends, which a policy has refused a call
    /// by.
    pub(crate) fn keep_for(&mut self, now: u64, length: u64) {
        let own = self.window(now, length);
        if self.windows().all(|window| window.end < own.end) {
            self.count_in(own);
        }
    }

    /// Counts in this window too. The shortest other one goes if there are too many.
    fn count_in(&mut self, own: Window) {
        if own.length != self.last.length && self.last.length > 0 {
            self.count_apart(own);
        }
        self.last = own;
    }

    #[cold]
    fn count_apart(&mut self, own: Window) {
        let others = self.others.get_or_insert_default();
        others.push(self.last);
        others.retain(|window| window.length != own.length);
        if others.len() >= LENGTHS
            && let Some(shortest) = (0..others.len()).min_by_key(|at| others[*at].length)
        {
            others.remove(shortest);
        }
    }

    fn windows(&self) -> impl Iterator<Item = &Window> {
        self.others.iter().flat_map(|others| others.iter()).chain([&self.last])
    }

    fn windows_mut(&mut self) -> impl Iterator<Item = &mut Window> {
        let others = self.others.iter_mut().flat_map(|others| others.iter_mut());
        others.chain([&mut self.last])
    }

    /// Forgets the hits up to and including `hit`.
    pub(crate) fn reset(&mut self, hit: Hit) {
        let (total, hit) = (self.total, hit.raw());
        for window in self.windows_mut().filter(|window| window.counts(hit, total)) {
            window.base = hit;
            window.used = window.used.min(total - hit);
        }
    }

    /// Takes back the `cost` hits of `hit`, in the windows that they are of.
    pub(crate) fn refund(&mut self, hit: Hit, cost: u32) {
        let (total, hit) = (self.total, hit.raw());
        for window in self.windows_mut().filter(|window| window.counts(hit, total)) {
            window.used = window.used.saturating_sub(u64::from(cost));
        }
    }

    /// Lets no window from before the clock stepped back hold anybody up beyond the one that is
    /// counted now.
    pub(crate) fn heal(&mut self, now: u64) {
        for window in self.windows_mut() {
            window.heal(now);
        }
        self.counted_at = self.counted_at.min(now);
    }

    /// The hits that count at `now`, in windows of this length.
    pub(crate) fn used(&self, now: u64, length: u64) -> u64 {
        self.window(now, length).used
    }

    /// Whether nothing would be lost with this counter.
    pub(crate) fn is_idle(&self, now: u64) -> bool {
        self.windows().all(|window| window.end <= now)
    }

    /// The window of this length that is counted at `now`. If none of this length was counted yet,
    /// the hits that may be of it are taken from those that are counted in others.
    fn window(&self, now: u64, length: u64) -> Window {
        let end = end_of(now, length);
        let fresh = Window {
            length,
            end,
            base: 0,
            used: 0,
        };
        if let Some(known) = self.windows().find(|window| window.length == length) {
            let mut known = *known;
            known.heal(now);
            return if known.end > now { known } else { fresh };
        }
        if self.counted_at.min(now) < end - length {
            return fresh;
        }
        let live = || self.windows().filter(|window| window.end > now);
        Window {
            base: live().map(|window| window.base).min().unwrap_or(0),
            used: live().map(|window| window.used).max().unwrap_or(0),
            ..fresh
        }
    }
}

impl Window {
    fn heal(&mut self, now: u64) {
        if self.end > now + self.length {
            self.end = end_of(now, self.length);
        }
    }

    /// Whether it is a hit of this window that was not forgotten.
    const fn counts(&self, hit: u64, total: u64) -> bool {
        self.base < hit && hit <= total
    }
}

/// The next multiple of the window.
const fn end_of(now: u64, window: u64) -> u64 {
    now - now % window + window
}
