//! Which limits there are, and the policies that hold for them.

use crate::key::{Client, Key};
use crate::limiter::Limiter;
use crate::method::Method;
use crate::policies::Policies;
use crate::policy::Policy;
use crate::registry::{self, Numbers};
use crate::rule::Rule;

/// One limit of a function.
pub(super) struct Limit {
    pub(super) method: Method,
    /// Its place among those of the function, the first being 0.
    pub(super) place: u8,
    /// `None` while it is not known: a policy that is missing, or numbers that are told by the first call.
    pub(super) policy: Option<Policy>,
    /// The entry of the policies that the function asks for.
    pub(super) entry: Option<&'static str>,
    /// Whether the numbers of the policy have counters of their own.
    by_numbers: bool,
}

impl Limit {
    /// Returns the rule that a call of the client would be decided by, if the policy is known.
    pub(super) fn rule(&self, client: Client) -> Option<Rule> {
        let rule = Rule::new(self.policy?, Key::new(self.method, client)).place(self.place);
        Some(if self.by_numbers { rule.by_numbers() } else { rule })
    }
}

/// Returns the limits of all annotated functions, and of whatever else the limiter has decided, in the order of their names.
pub(super) fn of(limiter: &Limiter) -> Vec<Limit> {
    let tallies = &limiter.watched().tallies;
    let none = Policies::new();
    let mut limits: Vec<Limit> = limiter.with_policies(|policies| {
        let policies = policies.unwrap_or(&none);
        let annotated = registry::rules().map(|rule| Limit {
            method: *rule.site.method(),
            place: rule.place,
            policy: rule.policy(policies),
            by_numbers: rule.counts_by_numbers(policies),
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
                    by_numbers: false,
                }),
            }
        }
    }
    limits.sort_by_key(|limit| (limit.method.name(), limit.place));
    limits.dedup_by_key(|limit| (limit.method, limit.place, limit.policy.filter(|_| limit.by_numbers)));
    limits
}
