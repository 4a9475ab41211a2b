//! One counter, by whichever algorithm.

use crate::algorithm::Answer;
use crate::algorithm::fixed_window;
use crate::algorithm::sliding_window::Log;
use crate::algorithm::token_bucket::{Bucket, Take};
use crate::policy::{Algorithm, Policy};
use crate::store::{Change, Demand};
use crate::verdict::Hit;

/// What is kept of one key.
#[derive(Debug)]
pub(super) struct Counter {
    /// The policy that last charged. Of a log: the larger count and the longer window of all that charged it since it
    /// was last empty.
    policy: Policy,
    state: State,
    block: Block,
}

/// A time in which calls are refused. Each policy sees as much of it as it would block for itself.
#[derive(Clone, Copy, Debug, Default)]
struct Block {
    begun_at: u64,
    until: u64,
}

impl Block {
    /// How much of it is left for a policy that blocks for `span`.
    fn left(&self, now: u64, span: u64) -> u64 {
        let begun_at = self.begun_at.min(now);
        let length = (self.until - self.begun_at).min(span);
        (begun_at + length).saturating_sub(now)
    }

    /// Begins one, and cuts no longer one short.
    fn begin(&mut self, now: u64, span: u64) {
        *self = Self {
            begun_at: now,
            until: self.until.max(now + span),
        };
    }

    /// Keeps its length if the clock stepped back since it began.
    fn heal(&mut self, now: u64) {
        let ahead = self.begun_at.saturating_sub(now);
        self.begun_at -= ahead;
        self.until -= ahead;
    }
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
            block: Block::default(),
        }
    }

    /// Whether it is charged by this policy alone.
    pub(super) fn goes_by(&self, policy: &Policy) -> bool {
        self.policy == *policy
    }

    /// Charges what most calls are: by a sliding window, under the policy that it went by before. `None` if there is more to find out;
    /// nothing is changed then.
    #[inline]
    pub(super) fn admit_at_once(&mut self, now: u64, demand: Demand<'_>) -> Option<Result<(), Answer>> {
        match &mut self.state {
            State::Log(log) if demand.cost == 1 && self.policy == *demand.policy && self.block.until == 0 => {
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

    /// Decides without charging. What a clock that stepped back left is put right first. A refusal changes nothing, but
    /// that what it counted is kept for as long as its policy counts it.
    #[inline]
    pub(super) fn decide(&mut self, now: u64, demand: Demand<'_>) -> Answer {
        if demand.cost > demand.policy.count() {
            return Answer::Never;
        }
        match &mut self.state {
            State::Log(log) => log.heal(now),
            State::Bucket(bucket) => drop(bucket.heal(now)),
            State::Fixed(counter) => counter.heal(now),
        }
        self.block.heal(now);
        let answer = self.peek(now, demand);
        if matches!(answer, Answer::Refused { .. }) && self.policy != *demand.policy {
            self.keep_for(now, demand.policy);
        }
        answer
    }

    #[cold]
    fn keep_for(&mut self, now: u64, policy: &Policy) {
        match &mut self.state {
            _ if self.policy.algorithm() != policy.algorithm() => {}
            State::Log(log) if policy.span() > self.policy.span() || policy.count() > self.policy.count() => {
                log.change_numbers();
                self.policy = self.policy.widened_to(*policy);
            }
            State::Fixed(counter) => counter.keep_for(now, policy.span()),
            State::Log(_) | State::Bucket(_) => {}
        }
    }

    /// As [`decide`](Self::decide), changing nothing.
    #[inline]
    pub(super) fn peek(&self, now: u64, demand: Demand<'_>) -> Answer {
        let (count, span, cost) = (demand.policy.count(), demand.policy.span(), demand.cost);
        if cost > count {
            return Answer::Never;
        }
        let answer = match &self.state {
            // What was counted by another algorithm does not count.
            _ if self.policy.algorithm() != demand.policy.algorithm() => {
                return Self::new(*demand.policy).peek(now, demand);
            }
            State::Log(log) => log.decide(now, count, span, cost),
            State::Bucket(bucket) => bucket.decide(now, take(demand)),
            State::Fixed(counter) => counter.decide(now, count, span, cost),
        };
        if self.block.until == 0 {
            return answer;
        }
        blocked(answer, self.block.left(now, demand.policy.block_span()))
    }

    /// The times of the hits that count, where they are kept.
    pub(super) fn inspect(&self, now: u64, policy: Policy) -> Vec<u64> {
        match &self.state {
            State::Log(log) if policy.algorithm() == Algorithm::SlidingWindow => log.times(now, policy.span()),
            _ => Vec::new(),
        }
    }

    /// Records a charge that was decided, and goes by its policy from now on.
    #[inline]
    pub(super) fn charge(&mut self, now: u64, demand: Demand<'_>) -> Hit {
        let span = demand.policy.span();
        if demand.cost > 0 && self.policy != *demand.policy {
            self.set_policy(now, *demand.policy);
        }
        match &mut self.state {
            State::Log(log) if demand.cost == 0 => log.last_that_counts(now, span),
            State::Log(log) => log.charge(now, self.policy.count(), self.policy.span(), demand.cost),
            State::Bucket(bucket) => bucket.charge(now, take(demand)),
            State::Fixed(counter) => counter.charge(now, span, demand.cost),
        }
    }

    /// Begins to block after a refusal, unless it does already or the policy does not. Returns for how long it blocks.
    #[inline]
    pub(super) fn block(&mut self, now: u64, policy: &Policy) -> u64 {
        let span = policy.block_span();
        if span > 0 && self.block.left(now, span) == 0 {
            self.block.begin(now, span);
        }
        self.block.left(now, span)
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
            self.block = Block::default();
        }
    }

    /// Whether nothing would be lost with it.
    pub(super) fn is_idle(&self, now: u64) -> bool {
        self.block.until <= now
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
            State::Fixed(counter) => counter.used(now, self.policy.span()) as usize,
        };
        (self.block.until <= now && counted < self.policy.count() as usize).then_some(counted)
    }

    /// Goes on by another policy; what was counted by another algorithm does not count.
    #[cold]
    fn set_policy(&mut self, now: u64, policy: Policy) {
        if self.policy.algorithm() != policy.algorithm() {
            *self = Self::new(policy);
        }
        self.policy = match &self.state {
            State::Log(log) if !log.is_idle(now, self.policy.span().max(policy.span())) => {
                self.policy.widened_to(policy)
            }
            _ => policy,
        };
    }
}

const fn take(demand: Demand<'_>) -> Take {
    Take {
        capacity: demand.policy.count(),
        refill: demand.policy.span(),
        cost: demand.cost,
        at: demand.at,
    }
}

/// The answer while a block lasts for this long.
fn blocked(mut answer: Answer, left: u64) -> Answer {
    answer.extend_refusal(left);
    match answer {
        Answer::Fits { reset_after, .. } if left > 0 => Answer::Refused {
            remaining: 0,
            retry_after: left,
            reset_after: reset_after.max(left),
        },
        answer => answer,
    }
}
