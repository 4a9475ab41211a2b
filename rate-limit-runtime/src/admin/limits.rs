//! Which limits there are, and the policies that hold for them.

use crate::limiter::Limiter;
use crate::method::Method;
use crate::policies::Policies;
use crate::policy::Policy;
use crate::registry::{self, Numbers};

/// One limit of a function.
pub(super) struct Limit {
    pub(super) method: Method,
    /// Its place among those of the function, the first being 0.
    pub(super) place: u8,
    /// `None` while it is not known: a policy that is missing, or numbers that are told by the first call.
    pub(super) policy: Option<Policy>,
    /// The entry of the policies that the function asks for.
    pub(super) entry: Option<&'static str>,
}

/// The limits of all annotated functions, and of whatever else the limiter has decided, in the order of their names.
pub(super) fn of(limiter: &Limiter) -> Vec<Limit> {
    let tallies = &limiter.watched().tallies;
    let none = Policies::new();
    let mut limits: Vec<Limit> = limiter.with_policies(|policies| {
        let annotated = registry::rules().map(|rule| Limit {
            method: *rule.site.method(),
            place: rule.place,
            policy: rule.policy(policies.unwrap_or(&none)),
            entry: match rule.numbers {
                Some(Numbers::Named(entry)) => Some(entry),
                _ => None,
            },
        });
        annotated.collect()
    });
    for tally in tallies.iter() {
        for (place, policy) in tally.policies() {
            let mut known = limits
                .iter_mut()
                .filter(|limit| (limit.method, limit.place) == (tally.method, place));
            match known.next() {
                Some(known) => known.policy = known.policy.or(Some(policy)),
                None => limits.push(Limit {
                    method: tally.method,
                    place,
                    policy: Some(policy),
                    entry: None,
                }),
            }
        }
    }
    limits.sort_by_key(|limit| (limit.method.name(), limit.place));
    limits.dedup_by_key(|limit| (limit.method, limit.place));
    limits
}
