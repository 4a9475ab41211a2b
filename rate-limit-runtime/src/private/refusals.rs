//! Refusals that no store decides.

use super::numbers::NOTHING;
use crate::current;
use crate::limiter::Limiter;
use crate::method::Method;
use crate::observe::{self, Decided};
use crate::policy::Policy;
use crate::registry::{Numbers, Site, TraitNumbers};
use crate::rejection::{Rejection, RejectionKind};
use crate::throttle::log_throttled;

/// Returns the rejection of a call that `deny_if` refuses. `limiter = ..` is not evaluated before, so the policy is that of the scoped,
/// installed or embedded limiter.
#[must_use]
pub fn denied(site: &'static Site) -> Rejection {
    let numbers = site.rules().first().and_then(|rule| rule.numbers.as_ref());
    denied_by(site, numbers.unwrap_or(&NOTHING))
}

/// As [`denied`], of a function whose numbers are those of a trait.
#[must_use]
pub fn denied_by_trait(site: &'static Site, numbers: &'static TraitNumbers) -> Rejection {
    denied_by(site, &numbers.numbers)
}

/// As [`denied`], of a function whose site does not know the numbers.
#[must_use]
pub fn denied_by(site: &'static Site, numbers: &'static Numbers) -> Rejection {
    let method = site.method();
    let limiter = current::known();
    let policy = match (&limiter, numbers) {
        (Some(limiter), _) => limiter.with_policies(|policies| numbers.policy(policies, method, 0)),
        (None, Numbers::Own(policy)) => Some(*policy),
        (None, Numbers::Named(_)) => None,
    };
    let refused = Some(RejectionKind::Denied);
    observe::decided(limiter.as_ref(), &Decided::unseen(method, refused));
    Rejection::new(RejectionKind::Denied, method, policy.unwrap_or(Policy::NOTHING))
}

/// Refuses a call whose policy the limiter does not have, which the log says.
#[cold]
pub(crate) fn unknown_policy(method: &Method, numbers: &Numbers, limiter: &Limiter) -> Rejection {
    if let Numbers::Named(policy) = numbers {
        log_throttled!(
            error,
            method.name(),
            policy,
            "the limiter has no policy by the name that the function or layer asks for, so every call is refused: add it to the \
             `Policies` of the limiter"
        );
    }
    misconfigured(method, Policy::NOTHING, limiter)
}

/// Refuses a call with the time of its event, by a policy that does not go by it.
#[cold]
pub(super) fn no_bucket(method: &Method, policy: Policy, limiter: &Limiter) -> Rejection {
    log_throttled!(
        error,
        method.name(),
        %policy,
        "only a token bucket goes by the time of the event, so every call is refused: make the policy one, or leave out `at`"
    );
    misconfigured(method, policy, limiter)
}

fn misconfigured(method: &Method, policy: Policy, limiter: &Limiter) -> Rejection {
    let kind = RejectionKind::Misconfigured;
    observe::decided(Some(limiter), &Decided::unseen(method, Some(kind)));
    Rejection::new(kind, method, policy)
}
