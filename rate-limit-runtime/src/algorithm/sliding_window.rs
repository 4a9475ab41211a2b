//! The sliding window log.
//!
//! The log holds one entry for each admitted hit that may still count. A hit at `s` counts at `t` iff
//! `s > t - window`. Source: the "sliding window log" of the rate-limiting literature, as the student portal
//! ran it in a sorted set; here it is a queue, because entries only ever come at one end and leave at the other.
//!
//! Two policies may judge one log. It is charged with the larger count and the longer window of both, so that it
//! keeps the entries that either asks for (record 0021).

mod entries;

use self::entries::Entries;
use super::Answer;
use crate::verdict::Hit;

/// Admission times of one key, oldest first.
///
/// Each entry is a time in microseconds with room below it to tell hits of one microsecond apart, so that
/// entries are strictly increasing and each is the id of its hit, while a frozen clock still counts exactly.
#[derive(Debug, Default)]
pub(crate) struct Log {
    entries: Entries,
    /// The highest id given out; not taken back when its entry goes, or a late reset could name a newer hit.
    last: Hit,
    /// When the next hit fits, by the numbers of the last [`charge`](Self::charge), if the log was full after it and was
    /// not changed since; 0 if not. A refusal then need not look into a log that lies elsewhere.
    full_until: u64,
}

impl Log {
    /// Whether `cost` hits fit at `now`.
    #[inline]
    pub(crate) fn decide(&self, now: u64, count: u32, window: u64, cost: u32) -> Answer {
        if cost > count {
            return Answer::Never;
        }
        let free = || count - self.live(now, window).min(count as usize) as u32;
        if let Some(retry_after) = self.wait(now, count, window, cost) {
            return Answer::Refused {
                remaining: if cost == 1 { 0 } else { free() },
                retry_after,
                reset_after: self.reset_after(now, window),
            };
        }
        Answer::Fits {
            remaining: free().saturating_sub(cost),
            reset_after: if cost > 0 {
                window
            } else {
                self.reset_after(now, window)
            },
        }
    }

    /// Records one hit if that fits, and tells whether it did: what most calls are, in the fewest steps. It may say no to one that
    /// [`decide`](Self::decide) says yes to, and then changes nothing. The numbers are those of the last charge.
    #[inline]
    pub(crate) fn admits(&mut self, now: u64, count: u32, window: u64) -> bool {
        if count == 0 || self.last.time() > now || self.full_until > now {
            return false;
        }
        let length = self.entries.len();
        if length >= count as usize && self.entries.at(length - count as usize).time() + window > now {
            return false;
        }
        self.push(now, count, window, 1);
        true
    }

    /// The answer to one more hit at `now`, if it is known without looking into the log. The numbers are those of the last charge.
    #[inline]
    pub(crate) fn refusal(&self, now: u64, window: u64) -> Option<Answer> {
        (self.last.time() <= now && self.full_until > now).then(|| Answer::Refused {
            remaining: 0,
            retry_after: self.full_until - now,
            reset_after: self.last.time() + window - now,
        })
    }

    /// Records `cost` hits of one id, at least one. Keeps what a policy of this count and this window can ask for.
    #[inline]
    pub(crate) fn charge(&mut self, now: u64, count: u32, window: u64, cost: u32) -> Hit {
        // More are there only where a policy with a shorter window has admitted them.
        let beyond = (self.entries.len() + cost as usize).saturating_sub(count as usize);
        self.entries.remove_oldest(beyond);
        self.push(now, count, window, cost);
        self.last
    }

    /// The id of the last hit that counts.
    pub(crate) fn last_that_counts(&self, now: u64, window: u64) -> Hit {
        match self.live(now, window) {
            0 => Hit::NONE,
            _ => self.last,
        }
    }

    #[inline(always)]
    fn push(&mut self, now: u64, count: u32, window: u64, cost: u32) {
        let expired = self.expired(now, window);
        self.entries.remove_oldest(expired);
        self.last = Hit::at(now).max(self.last.next());
        self.entries.push(self.last, cost);
        let length = self.entries.len();
        self.full_until = match length.checked_sub(count as usize) {
            Some(in_the_way) => self.entries.at(in_the_way).time() + window,
            None => 0,
        };
    }

    /// Forgets the hits up to and including `hit`, and keeps later ones. A hit from the future was given out
    /// before the clock stepped back and names nothing any more.
    pub(crate) fn reset(&mut self, now: u64, hit: Hit) {
        self.full_until = 0;
        if hit.time() <= now {
            let settled = self.entries.count_while(|entry| entry <= hit);
            self.entries.remove_oldest(settled);
        }
    }

    /// Takes back one hit, and keeps those before and after it.
    pub(crate) fn refund(&mut self, now: u64, hit: Hit) {
        self.full_until = 0;
        if hit.time() <= now {
            let from = self.entries.count_while(|entry| entry < hit);
            let to = self.entries.count_while(|entry| entry <= hit);
            self.entries.remove(from, to);
        }
    }

    /// Brings entries from the future, which a clock that stepped back leaves, back to `now`, so that they hold nobody up
    /// for longer than one window. They lose their ids.
    #[inline]
    pub(crate) fn heal(&mut self, now: u64) {
        if self.last.time() <= now {
            return;
        }
        self.full_until = 0;
        let here = Hit::at(now);
        let from = self.entries.count_while(|entry| entry.time() <= now);
        self.entries.fill_from(from, here);
        self.last = here;
    }

    /// The times of the entries that count at `now`.
    pub(crate) fn times(&self, now: u64, window: u64) -> Vec<u64> {
        let live = self.expired(now, window)..self.entries.len();
        live.map(|place| self.entries.at(place).time().min(now)).collect()
    }

    /// The log is kept for other numbers from now on.
    pub(crate) fn change_numbers(&mut self) {
        self.full_until = 0;
    }

    /// How many entries count at `now`.
    #[inline]
    pub(crate) fn live(&self, now: u64, window: u64) -> usize {
        self.entries.len() - self.expired(now, window)
    }

    /// Whether nothing would be lost with this log.
    #[inline]
    pub(crate) fn is_idle(&self, now: u64, window: u64) -> bool {
        self.entries.len() == 0 || self.newest().time() + window <= now
    }

    #[inline]
    fn expired(&self, now: u64, window: u64) -> usize {
        self.entries.count_while(|entry| entry.time() + window <= now)
    }

    /// The time until `cost` more fit, if they do not now: until the entry that is `count - cost + 1` from
    /// the end has left the window. An entry further from the end may still count when the limit was lowered.
    #[inline]
    fn wait(&self, now: u64, count: u32, window: u64, cost: u32) -> Option<u64> {
        let in_the_way = (count - cost) as usize + 1;
        if cost == 0 || self.entries.len() < in_the_way {
            return None;
        }
        let entry = self.entries.at(self.entries.len() - in_the_way);
        (entry.time().min(now) + window)
            .checked_sub(now)
            .filter(|wait| *wait > 0)
    }

    /// The time until the newest entry has left the window, and the limit is whole again.
    #[inline]
    fn reset_after(&self, now: u64, window: u64) -> u64 {
        if self.entries.len() == 0 {
            return 0;
        }
        (self.newest().time().min(now) + window).saturating_sub(now)
    }

    /// Of a log that is not empty.
    #[inline]
    fn newest(&self) -> Hit {
        self.entries.at(self.entries.len() - 1)
    }
}
