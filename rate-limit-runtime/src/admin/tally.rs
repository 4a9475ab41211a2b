//! How the calls of each function were decided: in all, and in each of the last seconds.

use std::array;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Once, OnceLock};

use crate::decision::DecidedBy;
use crate::method::Method;
use crate::observe::{self, Decided};
use crate::policy::Policy;
use crate::rejection::RejectionKind;
use crate::rule::Rule;

/// The functions that were called, found without a lock. Beyond these no more are told apart: their names stand in the source of a program.
pub(super) struct Tallies {
    functions: Box<[OnceLock<Box<Tally>>]>,
    /// Whether the log says that there are more.
    full: Once,
}

impl Tallies {
    const MOST: usize = 1_024;

    pub(super) fn new() -> Self {
        Self {
            functions: (0..Self::MOST).map(|_| OnceLock::new()).collect(),
            full: Once::new(),
        }
    }

    /// That of this function. The first call of a function makes it.
    pub(super) fn of(&self, method: &Method) -> Option<&Tally> {
        let first = method.hash() as usize % Self::MOST;
        let (before, after) = self.functions.split_at(first);
        let tally = after.iter().chain(before).find_map(|place| {
            let tally = place.get_or_init(|| Box::new(Tally::new(*method)));
            (tally.method == *method).then_some(&**tally)
        });
        if tally.is_none() {
            self.full.call_once(|| {
                tracing::warn!(
                    method = method.name(),
                    "the admin page shows the first {} functions that were called; this one and later ones are limited, and not shown",
                    Self::MOST
                );
            });
        }
        tally
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Tally> {
        self.functions
            .iter()
            .filter_map(|place| place.get().map(|tally| &**tally))
    }
}

/// Of one function.
pub(super) struct Tally {
    pub(super) method: Method,
    totals: [AtomicU64; OUTCOMES.len()],
    by_fallback: AtomicU64,
    near: AtomicU64,
    series: [Seconds; Series::ALL.len()],
    /// The policy of each rule as it was first decided by, for functions whose numbers are known only when they are called.
    policies: [OnceLock<Policy>; Rule::MAX],
}

/// What may become of a call. The first is that it is admitted.
const OUTCOMES: [Option<RejectionKind>; 8] = [
    None,
    Some(RejectionKind::Limited),
    Some(RejectionKind::Impossible),
    Some(RejectionKind::Denied),
    Some(RejectionKind::MissingClient),
    Some(RejectionKind::StoreUnavailable),
    Some(RejectionKind::Misconfigured),
    Some(RejectionKind::Aborted),
];

/// What is told apart second by second.
#[derive(Clone, Copy)]
pub(super) enum Series {
    Admitted,
    Refused,
    /// Turned away for another reason than a limit.
    Other,
}

impl Series {
    const ALL: [Self; 3] = [Self::Admitted, Self::Refused, Self::Other];

    const fn of(refused: Option<RejectionKind>) -> Self {
        match refused {
            None => Self::Admitted,
            Some(RejectionKind::Limited | RejectionKind::Impossible) => Self::Refused,
            Some(_) => Self::Other,
        }
    }
}

impl Tally {
    fn new(method: Method) -> Self {
        Self {
            method,
            totals: array::from_fn(|_| AtomicU64::new(0)),
            by_fallback: AtomicU64::new(0),
            near: AtomicU64::new(0),
            series: array::from_fn(|_| Seconds::new()),
            policies: array::from_fn(|_| OnceLock::new()),
        }
    }

    pub(super) fn note(&self, second: u32, decided: &Decided<'_>) {
        let outcome = OUTCOMES.iter().position(|outcome| *outcome == decided.refused);
        self.totals[outcome.unwrap_or_default()].fetch_add(1, Ordering::Relaxed);
        self.series[Series::of(decided.refused) as usize].count(second);
        if is_near(decided) {
            self.near.fetch_add(1, Ordering::Relaxed);
        }
        match decided.by {
            Some(DecidedBy::Fallback) => {
                self.by_fallback.fetch_add(1, Ordering::Relaxed);
            }
            // The fallback divides the numbers by the instances.
            _ => decided.rules.iter().for_each(|rule| self.learn(rule)),
        }
    }

    fn learn(&self, rule: &Rule) {
        if let Some(policy) = self.policies.get(usize::from(rule.nth())) {
            policy.get_or_init(|| rule.policy);
        }
    }

    /// The outcomes that there were, by their words.
    pub(super) fn totals(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let totals = OUTCOMES.iter().zip(&self.totals);
        totals.map(|(outcome, total)| {
            (
                outcome.map_or("allowed", observe::outcome),
                total.load(Ordering::Relaxed),
            )
        })
    }

    pub(super) fn by_fallback(&self) -> u64 {
        self.by_fallback.load(Ordering::Relaxed)
    }

    /// How many calls were admitted with a fifth of the limit left or less.
    pub(super) fn near(&self) -> u64 {
        self.near.load(Ordering::Relaxed)
    }

    /// How many calls there were in each of so many seconds, the last being `until`.
    pub(super) fn seconds(&self, series: Series, until: u32, seconds: u32) -> Vec<u32> {
        let seconds = until.saturating_sub(seconds)..until;
        seconds
            .map(|before| self.series[series as usize].of(before + 1))
            .collect()
    }

    /// The places of the rules that were decided by, with their policies.
    pub(super) fn policies(&self) -> impl Iterator<Item = (u8, Policy)> {
        (0..)
            .zip(&self.policies)
            .filter_map(|(place, policy)| Some((place, *policy.get()?)))
    }
}

fn is_near(decided: &Decided<'_>) -> bool {
    decided.refused.is_none()
        && decided
            .decision
            .is_some_and(|decision| u64::from(decision.remaining) * 5 <= u64::from(decision.limit()))
}

/// One count for each of the last seconds: in the upper half of a word is the second that the lower half counts.
struct Seconds([AtomicU64; Seconds::KEPT]);

impl Seconds {
    /// A few more than are shown, so that none is begun anew while it is read.
    const KEPT: usize = super::view::HISTORY as usize + 20;

    fn new() -> Self {
        Self(array::from_fn(|_| AtomicU64::new(0)))
    }

    fn count(&self, second: u32) {
        let word = &self.0[second as usize % Self::KEPT];
        if word.load(Ordering::Relaxed) >> 32 == u64::from(second) {
            word.fetch_add(1, Ordering::Relaxed);
            return;
        }
        // The first of this second, unless another thread comes before.
        let one_more = |held: u64| match held >> 32 == u64::from(second) {
            true => Some(held + 1),
            false => Some(u64::from(second) << 32 | 1),
        };
        let _ = word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more);
    }

    fn of(&self, second: u32) -> u32 {
        let held = self.0[second as usize % Self::KEPT].load(Ordering::Relaxed);
        match held >> 32 == u64::from(second) {
            true => held as u32,
            false => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_counts_what_fell_into_it_and_nothing_of_a_round_before() {
        let seconds = Seconds::new();
        for second in [1, 1, 2, 4] {
            seconds.count(second);
        }
        assert_eq!([1, 2, 3, 4].map(|second| seconds.of(second)), [2, 1, 0, 1]);
        let next_round = 1 + Seconds::KEPT as u32;
        assert_eq!(seconds.of(next_round), 0);
        seconds.count(next_round);
        assert_eq!((seconds.of(next_round), seconds.of(1)), (1, 0));
    }

    #[test]
    fn threads_that_begin_a_second_together_lose_no_call() {
        let seconds = Seconds::new();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..10_000).for_each(|n| seconds.count(1 + n / 100)));
            }
        });
        assert!((1..=100).all(|second| seconds.of(second) == 400));
    }

    #[test]
    fn functions_whose_places_collide_are_told_apart_until_there_is_no_room() {
        let tallies = Tallies::new();
        let names = (0..=Tallies::MOST).map(|n| &*String::leak(format!("function-{n}")));
        let methods: Vec<Method> = names.map(Method::named).collect();
        let (last, methods) = methods.split_last().expect("there are some");
        for method in methods {
            assert!(tallies.of(method).is_some_and(|tally| tally.method == *method));
        }
        assert_eq!(tallies.iter().count(), Tallies::MOST);
        assert!(!tallies.full.is_completed(), "F-73: nothing is left out so far");
        assert!(tallies.of(last).is_none());
        assert!(tallies.full.is_completed(), "F-73: the log says so");
    }
}
