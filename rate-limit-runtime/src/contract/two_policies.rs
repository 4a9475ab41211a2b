//! Counters that two policies judge, one or the other drawn by chance at each call.

use std::time::Duration;

use super::{Ledger, all, fresh_key};
use crate::clock::ManualClock;
use crate::key::Key;
use crate::policy::{Algorithm, Policy};
use crate::store::draws::draws;
use crate::store::{Charge, Store};
use crate::verdict::Verdict;

/// How many counters are asked at once.
const TOGETHER: usize = 8;
/// The farthest that the clock jumps, in microseconds, half as far at a step back.
const LONGEST_JUMP: u64 = 40 * 86_400_000_000;

/// What became of the calls of [`check_two_policies`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TwoPolicies {
    /// Calls that were admitted.
    pub admitted: u64,
    /// Calls that were refused.
    pub refused: u64,
    /// Refused calls that were made again one tick before the wait was over, and then at its end.
    pub waited: u64,
    /// Steps back of the clock.
    pub steps_back: u64,
}

/// Has calls decided that weigh 1 to 9, each by one of two policies of this algorithm, while the
/// clock goes on, jumps and steps back: never more is admitted than a [`Ledger`] allows, a wait
/// that was told holds to the tick, and no policy refuses for longer than its own window.
///
/// # Panics
///
/// If the store does not do as it must; the message says what.
pub async fn check_two_policies(
    store: &dyn Store,
    clock: &ManualClock,
    algorithm: Algorithm,
    calls: u64,
) -> TwoPolicies {
    let mut told = TwoPolicies::default();
    let pairs = pairs(algorithm);
    for (seed, pair) in (1..).zip(&pairs) {
        let share = calls / pairs.len() as u64;
        History::new(store, clock, pair, seed, &mut told).run(share).await;
    }
    told
}

/// As [`check_two_policies`], with these policies, all of one algorithm, drawn by this seed. One
/// call in sixteen may weigh as much as its policy admits.
///
/// # Panics
///
/// As [`check_two_policies`], and if there is no policy.
pub async fn check_policies(
    store: &dyn Store,
    clock: &ManualClock,
    policies: &[Policy],
    seed: u64,
    calls: u64,
) -> TwoPolicies {
    let mut told = TwoPolicies::default();
    History::new(store, clock, policies, seed, &mut told).run(calls).await;
    told
}

/// One larger in all, one larger in one number, alike in one number, and of the layouts that a
/// store may keep apart.
fn pairs(algorithm: Algorithm) -> Vec<[Policy; 2]> {
    let seconds = Duration::from_secs;
    match algorithm {
        Algorithm::SlidingWindow => [
            [(40, 3_600), (12, 120)],
            [(10, 600), (9, 600)],
            [(9, 900), (30, 120)],
            [(200, 3_600), (20, 120)],
            [(150, 300), (140, 900)],
        ]
        .map(|pair| pair.map(|(count, window)| Policy::sliding_window(count, seconds(window))))
        .to_vec(),
        Algorithm::FixedWindow => [
            [(40, 3_600), (12, 60)],
            [(20, 600), (10, 600)],
            [(15, 700), (60, 6_000)],
            [(9, 900), (30, 120)],
        ]
        .map(|pair| pair.map(|(count, window)| Policy::fixed_window(count, seconds(window))))
        .to_vec(),
        Algorithm::TokenBucket => [
            [(10, 360), (9, 1_200)],
            [(100, 1), (12, 90)],
            [(60, 30), (10, 2)],
            [(20, 50), (9, 50)],
            [(17, 13), (11, 7)],
        ]
        .map(|pair| pair.map(|(capacity, refill)| Policy::token_bucket(capacity, seconds(refill))))
        .to_vec(),
    }
}

struct History<'a> {
    store: &'a dyn Store,
    clock: &'a ManualClock,
    policies: Vec<Policy>,
    counters: Vec<(Key, Ledger)>,
    draw: Box<dyn FnMut(u64) -> u64 + Send>,
    told: &'a mut TwoPolicies,
}

impl<'a> History<'a> {
    fn new(
        store: &'a dyn Store,
        clock: &'a ManualClock,
        policies: &[Policy],
        seed: u64,
        told: &'a mut TwoPolicies,
    ) -> Self {
        let counters = (0..TOGETHER).map(|_| (fresh_key(), Ledger::new(policies)));
        Self {
            store,
            clock,
            policies: policies.to_vec(),
            counters: counters.collect(),
            draw: Box::new(draws(seed)),
            told,
        }
    }

    async fn run(&mut self, calls: u64) {
        for _ in 0..calls.div_ceil(TOGETHER as u64) {
            let charges: Vec<Charge> = (0..TOGETHER).map(|which| self.charge(which)).collect();
            let verdicts = self.acquire(&charges).await;
            let mut refused = None;
            for (which, (charge, verdict)) in charges.iter().zip(&verdicts).enumerate() {
                if let Some(wait) = self.enter(which, charge, verdict) {
                    refused = Some((which, *charge, wait));
                }
            }
            match (refused, (self.draw)(8)) {
                (Some((which, charge, wait)), 0) if wait <= LONGEST_JUMP => self.wait(which, charge, wait).await,
                _ => self.go_on(),
            }
        }
    }

    fn charge(&mut self, which: usize) -> Charge {
        let policy = self.policies[(self.draw)(self.policies.len() as u64) as usize];
        let cost = match (self.draw)(16) {
            0..8 => 1,
            8..15 => 1 + (self.draw)(9) as u32,
            _ => 1 + (self.draw)(policy.count().into()) as u32,
        };
        Charge::new(self.counters[which].0, policy, cost)
    }

    /// One after the other or all at once, as chance has it: a store may decide together what is
    /// asked at once.
    async fn acquire(&mut self, charges: &[Charge]) -> Vec<Verdict> {
        let mut answers = Vec::new();
        if (self.draw)(2) == 0 {
            for charge in charges {
                answers.push(self.store.acquire(&[*charge]).await);
            }
        } else {
            let replies = charges.iter().map(|charge| self.store.acquire(&[*charge]));
            answers = all(replies.collect()).await;
        }
        answers
            .into_iter()
            .map(|answer| answer.expect("the store decides"))
            .collect()
    }

    /// Enters what was decided. Returns the wait of a refusal.
    fn enter(&mut self, which: usize, charge: &Charge, verdict: &Verdict) -> Option<u64> {
        let (now, ledger) = (self.clock.now(), &mut self.counters[which].1);
        match verdict {
            Verdict::Allowed { .. } => {
                self.told.admitted += 1;
                if let Err(error) = ledger.admit(now, charge.policy, charge.cost) {
                    panic!("{:?}: too many are admitted: {error}", self.policies);
                }
                None
            }
            Verdict::Denied { retry_after, .. } => {
                self.told.refused += 1;
                ledger.look(now, charge.policy);
                // Hits of one instant may be told apart by being up to a millisecond ahead.
                let longest = charge.policy.window().as_micros() as u64;
                assert!(
                    *retry_after <= longest + 1_000,
                    "{:?}: {} refuses for {retry_after}, longer than its own {longest}",
                    self.policies,
                    charge.policy
                );
                Some(*retry_after)
            }
            Verdict::Impossible { .. } => {
                assert!(charge.cost > charge.policy.count(), "{charge:?} may fit");
                None
            }
        }
    }

    /// Makes a refused call again, one tick too early and then in time.
    async fn wait(&mut self, which: usize, charge: Charge, wait: u64) {
        for (on, admitted) in [(wait - 1, false), (1, true)] {
            self.clock.advance(Duration::from_micros(on));
            let verdict = self.acquire(&[charge]).await.remove(0);
            self.enter(which, &charge, &verdict);
            assert_eq!(
                matches!(verdict, Verdict::Allowed { .. }),
                admitted,
                "{:?}: after a wait of {wait}: {charge:?}: {verdict:?}",
                self.policies
            );
        }
        self.told.waited += 1;
    }

    fn go_on(&mut self) {
        let spans = || self.policies.iter().map(|policy| policy.window().as_micros() as u64);
        let shortest = spans().min().unwrap_or_default().max(40);
        let longest = spans().max().unwrap_or_default().min(LONGEST_JUMP);
        let on = match (self.draw)(200) {
            0 => 2 * longest,
            1 => {
                self.told.steps_back += 1;
                let back = 1_000_000 + (self.draw)(longest);
                return self.clock.step_back(Duration::from_micros(back));
            }
            2..20 => shortest / 4 + (self.draw)(shortest / 4),
            20..60 => 0,
            _ => (self.draw)(shortest / 20),
        };
        self.clock.advance(Duration::from_micros(on));
    }
}
