//! One counter, by whichever algorithm.

use crate::algorithm::Answer;
use crate::algorithm::fixed_window;
use crate::algorithm::sliding_window::Log;
use crate::algorithm::token_bucket::Bucket;
use crate::policy::{Algorithm, Policy};
use crate::store::{Change, Demand};
use crate::verdict::Hit;

/// What is kept of one key.
#[derive(Debug)]
pub(super) struct Counter {
    /// The policy that last decided: it tells whether the counter has run out, and whether it refuses.
    policy: Policy,
    state: State,
    /// Until when every call is refused.
    blocked_until: u64,
}

#[derive(Debug)]
enum State {
    Log(Log),
    Bucket(Bucket),
    Fixed(fixed_window::Counter),
}

impl Counter {
    pub(super) fn new(policy: Policy) -> Self {
        let state = match policy.algorithm() {
            Algorithm::SlidingWindow => State::Log(Log::default()),
            Algorithm::TokenBucket => State::Bucket(Bucket::default()),
            Algorithm::FixedWindow => State::Fixed(fixed_window::Counter::default()),
        };
        Self {
            policy,
            state,
            blocked_until: 0,
        }
    }

    /// Whether the policy that last decided is this one.
    pub(super) fn goes_by(&self, policy: &Policy) -> bool {
        self.policy == *policy
    }

    /// Charges what most calls are: by a sliding window, under the policy that it went by before. `None` if there is more to find out;
    /// nothing is changed then.
    #[inline]
    pub(super) fn admit_at_once(&mut self, now: u64, demand: Demand<'_>) -> Option<Result<(), Answer>> {
        match &mut self.state {
            State::Log(log) if demand.cost == 1 && self.policy == *demand.policy && self.blocked_until == 0 => {
                if log.admits(now, self.policy.count(), self.policy.span()) {
                    return Some(Ok(()));
                }
                // The first refusal begins the block.
                let known = (self.policy.block_span() == 0).then(|| log.refusal(now, self.policy.span()));
                known.flatten().map(Err)
            }
            _ => None,
        }
    }

    /// Decides without charging. What a clock that stepped back left is put right first.
    #[inline]
    pub(super) fn decide(&mut self, now: u64, demand: Demand<'_>) -> Answer {
        if demand.cost > demand.policy.count() {
            return Answer::Never;
        }
        if self.policy != *demand.policy {
            self.adopt(*demand.policy);
        }
        let (count, span, cost) = (self.policy.count(), self.policy.span(), demand.cost);
        let answer = match &mut self.state {
            State::Log(log) => {
                log.heal(now);
                log.decide(now, count, span, cost)
            }
            State::Bucket(bucket) => {
                bucket.heal(now, count, span);
                bucket.decide(now, demand.at, count, span, cost)
            }
            State::Fixed(counter) => {
                counter.heal(now, span);
                counter.decide(now, count, span, cost)
            }
        };
        if self.blocked_until == 0 {
            return answer;
        }
        self.blocked_until = self.blocked_until.min(now + self.policy.block_span());
        blocked(answer, self.blocked_until.saturating_sub(now))
    }

    /// As [`decide`](Self::decide), changing nothing.
    pub(super) fn peek(&self, now: u64, demand: Demand<'_>) -> Answer {
        let (count, span, cost) = (demand.policy.count(), demand.policy.span(), demand.cost);
        let answer = match &self.state {
            _ if self.policy.algorithm() != demand.policy.algorithm() => {
                return Self::new(*demand.policy).decide(now, demand);
            }
            // A log reads times from the future as now.
            State::Log(log) => log.decide(now, count, span, cost),
            State::Bucket(bucket) => {
                let mut bucket = bucket.clone();
                bucket.heal(now, count, span);
                bucket.decide(now, demand.at, count, span, cost)
            }
            State::Fixed(counter) => {
                let mut counter = counter.clone();
                counter.heal(now, span);
                counter.decide(now, count, span, cost)
            }
        };
        let left = self.blocked_until.saturating_sub(now);
        blocked(answer, left.min(demand.policy.block_span()))
    }

    /// The times of the hits that count, where they are kept.
    pub(super) fn inspect(&self, now: u64, policy: Policy) -> Vec<u64> {
        match &self.state {
            State::Log(log) if policy.algorithm() == Algorithm::SlidingWindow => log.times(now, policy.span()),
            _ => Vec::new(),
        }
    }

    #[inline]
    pub(super) fn charge(&mut self, now: u64, demand: Demand<'_>) -> Hit {
        let (span, cost) = (demand.policy.span(), demand.cost);
        match &mut self.state {
            State::Log(log) => log.charge(now, demand.policy.count(), span, cost),
            State::Bucket(bucket) => bucket.charge(now, demand.at, span, cost),
            State::Fixed(counter) => counter.charge(now, span, cost),
        }
    }

    /// Begins to block, unless it does already or the policy does not. Tells for how long.
    #[inline]
    pub(super) fn block(&mut self, now: u64) -> u64 {
        let block = self.policy.block_span();
        if block > 0 && self.blocked_until <= now {
            self.blocked_until = now + block;
        }
        self.blocked_until.saturating_sub(now)
    }

    pub(super) fn change(&mut self, now: u64, change: Change) {
        match (change, &mut self.state) {
            (Change::Reset { upto }, State::Log(log)) => log.reset(now, upto),
            (Change::Reset { upto }, State::Bucket(bucket)) => bucket.reset(now, upto),
            (Change::Reset { upto }, State::Fixed(counter)) => counter.reset(upto),
            (Change::Refund { cost: 0, .. }, _) => {}
            (Change::Refund { hit, .. }, State::Log(log)) => log.refund(now, hit),
            (Change::Refund { hit, cost }, State::Bucket(bucket)) => bucket.refund(now, hit, cost),
            (Change::Refund { hit, cost }, State::Fixed(counter)) => counter.refund(hit, cost),
            (Change::Clear, _) => *self = Self::new(self.policy),
        }
        if matches!(change, Change::Reset { .. }) {
            self.blocked_until = 0;
        }
    }

    /// Whether nothing would be lost with it.
    pub(super) fn is_idle(&self, now: u64) -> bool {
        self.blocked_until <= now
            && match &self.state {
                State::Log(log) => log.is_idle(now, self.policy.span()),
                State::Bucket(bucket) => bucket.is_idle(now),
                State::Fixed(counter) => counter.is_idle(now),
            }
    }

    /// The hits that would be forgiven with it, or `None` if it is refusing.
    pub(super) fn forgiven(&self, now: u64) -> Option<usize> {
        let counted = match &self.state {
            State::Log(log) => log.live(now, self.policy.span()),
            State::Bucket(bucket) => bucket.missing(now),
            State::Fixed(counter) => counter.used(now) as usize,
        };
        (self.blocked_until <= now && counted < self.policy.count() as usize).then_some(counted)
    }

    /// Goes on by another policy; what was counted by another algorithm does not count.
    #[cold]
    fn adopt(&mut self, policy: Policy) {
        if self.policy.algorithm() != policy.algorithm() {
            *self = Self::new(policy);
        }
        if let State::Log(log) = &mut self.state {
            log.adopt();
        }
        self.policy = policy;
    }
}

/// The answer while a block lasts for this long.
fn blocked(mut answer: Answer, left: u64) -> Answer {
    answer.lasts(left);
    match answer {
        Answer::Fits { reset_after, .. } if left > 0 => Answer::Refused {
            retry_after: left,
            reset_after: reset_after.max(left),
        },
        answer => answer,
    }
}
