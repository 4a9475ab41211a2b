//! The counters of one client outside of any store.

use smallvec::SmallVec;

use super::counter::Counter;
use crate::algorithm::Answer;
use crate::policy::Policy;
use crate::store::Demand;
use crate::store::verdict::{Decided, combine};
use crate::verdict::Verdict;

/// What a store would answer one client, at times that are given: to find out from a log of calls whom a policy would refuse.
///
/// It decides by the algorithms and counters of the embedded store, with no clock, no key and no table around them. Each client needs a
/// simulation of his own.
///
/// ```
/// use std::time::Duration;
/// use rate_limit_runtime::{Policy, Simulation, Verdict};
///
/// let mut client = Simulation::new([Policy::sliding_window(2, Duration::from_secs(60))]);
/// let seconds = [0, 10, 20, 60];
/// let refused: Vec<_> = seconds
///     .into_iter()
///     .filter(|at| !matches!(client.ask(at * 1_000_000), Verdict::Allowed { .. }))
///     .collect();
/// assert_eq!(refused, [20]);
/// ```
#[derive(Debug)]
pub struct Simulation(SmallVec<[(Policy, Counter); 1]>);

impl Simulation {
    /// A client of whom nothing is known yet, under policies that hold together: a call is admitted if all admit it, and is charged to
    /// all or to none, as by [`Limiter::check_all`](crate::Limiter::check_all).
    #[must_use]
    pub fn new(policies: impl IntoIterator<Item = Policy>) -> Self {
        Self(
            policies
                .into_iter()
                .map(|policy| (policy, Counter::new(policy)))
                .collect(),
        )
    }

    /// Decides a call at the time `now`, in microseconds since 1970, and charges it if it is admitted. The places in the verdict are those
    /// of the policies. A time before that of the last call is a clock that stepped back.
    pub fn ask(&mut self, now: u64) -> Verdict {
        let mut decided: SmallVec<[Decided; 3]> = SmallVec::new();
        for (policy, counter) in &mut self.0 {
            let mut answer = counter.decide(now, demand(policy));
            if let Answer::Refused { .. } = answer {
                answer.extend_refusal(counter.block(now, policy));
            }
            decided.push(Decided { answer, observe: false });
        }
        let mut verdict = combine(&decided);
        if let Verdict::Allowed { hits, .. } = &mut verdict {
            for (policy, counter) in &mut self.0 {
                hits.push(counter.charge(now, demand(policy)));
            }
        }
        verdict
    }
}

/// Of one call that weighs 1.
const fn demand(policy: &Policy) -> Demand<'_> {
    Demand {
        policy,
        cost: 1,
        at: None,
    }
}
