//! One counter, by whichever algorithm.

use crate::algorithm::Answer;
use crate::algorithm::fixed_window;
use crate::algorithm::sliding_window::Log;
use crate::algorithm::token_bucket::Bucket;
use crate::policy::{Algorithm, Policy};
use crate::store::{Change, Charge};
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

    /// Decides without charging. What a clock that stepped back left is put right first.
    pub(super) fn decide(&mut self, now: u64, charge: &Charge) -> Answer {
        if charge.cost > charge.policy.count() {
            return Answer::Never;
        }
        self.adopt(charge.policy);
        let (count, span) = (charge.policy.count(), charge.policy.span());
        match &mut self.state {
            State::Log(log) => log.heal(now),
            State::Bucket(bucket) => bucket.heal(now, count, span),
            State::Fixed(counter) => counter.heal(now, span),
        }
        self.blocked_until = self.blocked_until.min(now + charge.policy.block_span());
        self.answer(now, charge)
    }

    /// As [`decide`](Self::decide), changing nothing.
    pub(super) fn peek(&self, now: u64, charge: &Charge) -> Answer {
        let state = match &self.state {
            _ if self.policy.algorithm() != charge.policy.algorithm() => {
                return Self::new(charge.policy).decide(now, charge);
            }
            // A log reads times from the future as now.
            State::Log(_) => return self.answer(now, charge),
            State::Bucket(bucket) => State::Bucket(bucket.clone()),
            State::Fixed(counter) => State::Fixed(counter.clone()),
        };
        Self { state, ..*self }.decide(now, charge)
    }

    fn answer(&self, now: u64, charge: &Charge) -> Answer {
        let (count, span, cost) = (charge.policy.count(), charge.policy.span(), charge.cost);
        let answer = match &self.state {
            State::Log(log) => log.decide(now, count, span, cost),
            State::Bucket(bucket) => bucket.decide(now, charge.at, count, span, cost),
            State::Fixed(counter) => counter.decide(now, count, span, cost),
        };
        // A peek puts nothing right.
        let blocked = self.blocked_until.saturating_sub(now).min(charge.policy.block_span());
        match answer {
            Answer::Fits { reset_after, .. } if blocked > 0 => Answer::Refused {
                retry_after: blocked,
                reset_after: reset_after.max(blocked),
            },
            Answer::Refused {
                retry_after,
                reset_after,
            } => Answer::Refused {
                retry_after: retry_after.max(blocked),
                reset_after: reset_after.max(blocked),
            },
            answer => answer,
        }
    }

    /// The times of the hits that count, where they are kept.
    pub(super) fn inspect(&self, now: u64, policy: Policy) -> Vec<u64> {
        match &self.state {
            State::Log(log) if policy.algorithm() == Algorithm::SlidingWindow => log.times(now, policy.span()),
            _ => Vec::new(),
        }
    }

    pub(super) fn charge(&mut self, now: u64, charge: &Charge) -> Hit {
        let (span, cost) = (charge.policy.span(), charge.cost);
        match &mut self.state {
            State::Log(log) => log.charge(now, span, cost),
            State::Bucket(bucket) => bucket.charge(now, charge.at, span, cost),
            State::Fixed(counter) => counter.charge(now, span, cost),
        }
    }

    /// Begins to block, unless it does already or the policy does not. Tells for how long.
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
    fn adopt(&mut self, policy: Policy) {
        if self.policy.algorithm() != policy.algorithm() {
            *self = Self::new(policy);
        }
        self.policy = policy;
    }
}
