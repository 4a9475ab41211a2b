//! What was admitted of one counter, and whether that is more than its policies allow.

use std::collections::VecDeque;

use crate::policy::{Algorithm, Policy};

/// Accounts for the calls that a store admitted on one counter by several policies of one
/// algorithm, and reports when they are more than the policies allow, whatever their order. It
/// shares no code with the stores.
///
/// * Of sliding windows, each admitted call has to fit in the window of its own policy, over all
///   calls that were admitted.
/// * Of fixed windows, the same.
/// * Of token buckets, all calls together have to fit in a bucket of the largest capacity and the
///   fastest refill.
///
/// A window that is longer than those that judged the counter before counts from the first call by
/// it on, since what had left the shorter ones need not be kept. A clock that steps back makes no
/// call that was admitted count for less.
///
/// ```
/// use std::time::Duration;
/// use rate_limit_runtime::{Policy, contract::Ledger};
///
/// let policies = [Policy::sliding_window(2, Duration::from_secs(60)), Policy::sliding_window(1, Duration::from_secs(60))];
/// let mut ledger = Ledger::new(&policies);
/// assert_eq!(ledger.admit(0, policies[0], 1), Ok(()));
/// assert!(ledger.admit(0, policies[1], 1).is_err());
/// ```
#[derive(Debug)]
pub struct Ledger(Account);

#[derive(Debug)]
enum Account {
    /// When each call was admitted and what it weighed, the oldest first, and the longest window by
    /// which any was judged.
    Sliding { longest: u64, calls: VecDeque<(u64, u64)> },
    /// Of each length of window by which calls were judged, when the one that is counted ends, and
    /// its hits.
    Fixed(Vec<(u64, u64, u64)>),
    /// What is missing, as time, when that was, and the numbers.
    Bucket {
        missing: u64,
        at: u64,
        refill: u64,
        whole: u64,
    },
}

impl Ledger {
    /// Creates the ledger of a counter that these policies judge, at least one, all of one
    /// algorithm.
    ///
    /// # Panics
    ///
    /// If there is no policy.
    #[must_use]
    pub fn new(policies: &[Policy]) -> Self {
        let account = match policies[0].algorithm() {
            Algorithm::SlidingWindow => Account::Sliding {
                longest: 0,
                calls: VecDeque::new(),
            },
            Algorithm::FixedWindow => Account::Fixed(Vec::new()),
            Algorithm::TokenBucket => {
                let refill = policies.iter().map(Policy::span).min().unwrap_or_default();
                let capacity = policies.iter().map(Policy::count).max().unwrap_or_default();
                Account::Bucket {
                    missing: 0,
                    at: 0,
                    refill,
                    whole: refill * u64::from(capacity),
                }
            }
        };
        Self(account)
    }

    /// Notes that a call was judged by this policy at this time, in microseconds, admitted or not.
    pub fn look(&mut self, now: u64, policy: Policy) {
        let span = policy.span();
        match &mut self.0 {
            Account::Sliding { longest, calls } => {
                for (time, _) in calls.iter_mut().rev().take_while(|(time, _)| *time > now) {
                    *time = now;
                }
                let known = span.max(*longest);
                let counts = calls.back().is_some_and(|(time, _)| time + known > now);
                *longest = if counts { known } else { span };
            }
            Account::Fixed(windows) => {
                if windows.iter().all(|(_, end, _)| *end <= now) {
                    windows.clear();
                }
                if windows.iter().all(|(length, ..)| *length != span) {
                    windows.push((span, 0, 0));
                }
                for (length, end, used) in windows {
                    let next = now - now % *length + *length;
                    if *end <= now {
                        (*end, *used) = (next, 0);
                    }
                    *end = next.min(*end);
                }
            }
            Account::Bucket { missing, at, .. } => {
                *missing = missing.saturating_sub(now.saturating_sub(*at));
                *at = now;
            }
        }
    }

    /// Enters a call that was admitted at this time, in microseconds.
    ///
    /// # Errors
    ///
    /// The number of hits that are admitted in all, if that is more than the limit, as text.
    pub fn admit(&mut self, now: u64, policy: Policy, cost: u32) -> Result<(), String> {
        self.look(now, policy);
        let cost = u64::from(cost);
        let (admitted, most) = match &mut self.0 {
            Account::Sliding { longest, calls } => {
                while calls.front().is_some_and(|(time, _)| time + *longest <= now) {
                    calls.pop_front();
                }
                calls.push_back((now, cost));
                let counts = calls.iter().filter(|(time, _)| time + policy.span() > now);
                (counts.map(|(_, cost)| cost).sum(), u64::from(policy.count()))
            }
            Account::Fixed(windows) => {
                let mut own = 0;
                for (length, _, used) in windows {
                    *used += cost;
                    if *length == policy.span() {
                        own = *used;
                    }
                }
                (own, u64::from(policy.count()))
            }
            Account::Bucket {
                missing, refill, whole, ..
            } => {
                *missing += *refill * cost;
                (missing.div_ceil(*refill), *whole / *refill)
            }
        };
        if admitted > most {
            return Err(format!("{admitted} of {most} by {policy} at {now}"));
        }
        Ok(())
    }
}
