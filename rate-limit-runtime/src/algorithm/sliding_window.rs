//! The sliding window log.
//!
//! The log holds one entry for each admitted hit that may still count. A hit at `s` counts at `t` iff
//! `s > t - window`. Source: the "sliding window log" of the rate-limiting literature, as the student portal
//! ran it in a sorted set; here it is a queue, because entries only ever come at one end and leave at the other.

use std::collections::VecDeque;

use super::Answer;
use crate::verdict::Hit;

/// Admission times of one key, oldest first.
///
/// Each entry is a time in microseconds with room below it to tell hits of one microsecond apart, so that
/// entries are strictly increasing and each is the id of its hit, while a frozen clock still counts exactly.
#[derive(Debug, Default)]
pub(crate) struct Log {
    entries: VecDeque<Hit>,
    /// The highest id given out; not taken back when its entry goes, or a late reset could name a newer hit.
    last: Hit,
}

impl Log {
    /// Whether `cost` hits fit at `now`.
    pub(crate) fn decide(&self, now: u64, count: u32, window: u64, cost: u32) -> Answer {
        if cost > count {
            return Answer::Never;
        }
        if let Some(retry_after) = self.wait(now, count, window, cost) {
            return Answer::Refused {
                retry_after,
                reset_after: self.reset_after(now, window),
            };
        }
        let live = self.live(now, window).min(count as usize) as u32;
        Answer::Fits {
            remaining: count - live - cost.min(count - live),
            reset_after: if cost > 0 {
                window
            } else {
                self.reset_after(now, window)
            },
        }
    }

    /// Records `cost` hits of one id. No hit has the id of the last that counts.
    pub(crate) fn charge(&mut self, now: u64, window: u64, cost: u32) -> Hit {
        if cost == 0 {
            return if self.live(now, window) > 0 {
                self.last
            } else {
                Hit::NONE
            };
        }
        let expired = self.expired(now, window);
        self.entries.drain(..expired);
        self.last = Hit::at(now).max(self.last.next());
        self.entries.extend((0..cost).map(|_| self.last));
        self.last
    }

    /// Forgets the hits up to and including `hit`, and keeps later ones. A hit from the future was given out
    /// before the clock stepped back and names nothing any more.
    pub(crate) fn reset(&mut self, now: u64, hit: Hit) {
        if hit.time() <= now {
            let settled = self.entries.partition_point(|entry| *entry <= hit);
            self.entries.drain(..settled);
        }
    }

    /// Takes back one hit, and keeps those before and after it.
    pub(crate) fn refund(&mut self, now: u64, hit: Hit) {
        if hit.time() <= now {
            let from = self.entries.partition_point(|entry| *entry < hit);
            let to = self.entries.partition_point(|entry| *entry <= hit);
            self.entries.drain(from..to);
        }
    }

    /// Brings entries from the future, which a clock that stepped back leaves, back to `now`, so that they hold nobody up
    /// for longer than one window. They lose their ids.
    pub(crate) fn heal(&mut self, now: u64) {
        if self.last.time() <= now {
            return;
        }
        let here = Hit::at(now);
        for entry in self.entries.iter_mut().rev().take_while(|entry| entry.time() > now) {
            *entry = here;
        }
        self.last = here;
    }

    /// The times of the entries that count at `now`.
    pub(crate) fn times(&self, now: u64, window: u64) -> Vec<u64> {
        let live = self.entries.range(self.expired(now, window)..);
        live.map(|entry| entry.time().min(now)).collect()
    }

    /// How many entries count at `now`.
    pub(crate) fn live(&self, now: u64, window: u64) -> usize {
        self.entries.len() - self.expired(now, window)
    }

    /// Whether nothing would be lost with this log.
    pub(crate) fn is_idle(&self, now: u64, window: u64) -> bool {
        self.entries.back().is_none_or(|newest| newest.time() + window <= now)
    }

    fn expired(&self, now: u64, window: u64) -> usize {
        self.entries.partition_point(|entry| entry.time() + window <= now)
    }

    /// The time until `cost` more fit, if they do not now: until the entry that is `count - cost + 1` from
    /// the end has left the window. An entry further from the end may still count when the limit was lowered.
    fn wait(&self, now: u64, count: u32, window: u64, cost: u32) -> Option<u64> {
        let in_the_way = (count - cost) as usize + 1;
        if cost == 0 || self.entries.len() < in_the_way {
            return None;
        }
        let entry = self.entries[self.entries.len() - in_the_way];
        (entry.time().min(now) + window)
            .checked_sub(now)
            .filter(|wait| *wait > 0)
    }

    /// The time until the newest entry has left the window, and the limit is whole again.
    fn reset_after(&self, now: u64, window: u64) -> u64 {
        self.entries
            .back()
            .map_or(0, |newest| (newest.time().min(now) + window).saturating_sub(now))
    }
}
