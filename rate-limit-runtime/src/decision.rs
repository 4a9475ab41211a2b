//! What was decided, in the terms that callers and headers use.

use std::time::Duration;

use crate::algorithm::Answer;
use crate::policy::Policy;
use crate::verdict::Verdict;

/// The state of a limit, seen from one call. It is of the moment: other calls go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decision {
    /// Whether the call is admitted.
    pub allowed: bool,
    /// The policy that decided.
    pub policy: Policy,
    /// How many more calls that weigh 1 would be admitted now. A heavier call may be refused though some remain.
    pub remaining: u32,
    /// How long until this same call would be admitted: any earlier it is refused, then it is admitted if
    /// no other call comes first. `None` if it is admitted, or if the call can never be (its cost is above
    /// the limit, or the limit is 0).
    pub retry_after: Option<Duration>,
    /// How long until the limit is whole again, if nothing more is admitted.
    pub reset_after: Duration,
    /// Who decided: the store, or the fallback in its place.
    pub decided_by: DecidedBy,
}

/// Who decided a call. The label `decided_by` of the metrics has the same words.
///
/// ```
/// use std::time::Duration;
/// use rate_limit_runtime::{Client, DecidedBy, Key, Limiter, Method, Policy, Rule};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let limiter = Limiter::embedded();
/// let key = Key::new(Method::named("send-mail"), Client::of("alice@example.org")?);
/// let permit = limiter.check(Rule::new(Policy::sliding_window(2, Duration::from_secs(3600)), key)).await?;
/// assert_eq!(permit.decision().map(|decision| decision.decided_by), Some(DecidedBy::Store));
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DecidedBy {
    /// The store of the limiter. So did a refusal that a store outside of the process gave and that is repeated without asking it again, and
    /// a decision in the caller's transaction.
    Store,
    /// The [fallback](crate::LimiterBuilder::fallback) in the memory of this process, by its share of the limit, since the store did not
    /// decide: [`OnStoreError::Local`](crate::OnStoreError::Local).
    Fallback,
}

impl Decision {
    pub(crate) const fn new(policy: Policy, answer: Answer) -> Self {
        let decision = Self {
            allowed: false,
            policy,
            remaining: 0,
            retry_after: None,
            reset_after: Duration::ZERO,
            decided_by: DecidedBy::Store,
        };
        match answer {
            Answer::Fits { remaining, reset_after } => Self {
                allowed: true,
                remaining,
                reset_after: Duration::from_micros(reset_after),
                ..decision
            },
            Answer::Refused {
                remaining,
                retry_after,
                reset_after,
            } => Self {
                remaining,
                retry_after: Some(Duration::from_micros(retry_after)),
                reset_after: Duration::from_micros(reset_after),
                ..decision
            },
            Answer::Never => decision,
        }
    }

    /// What the store answered to a call by this one policy.
    pub(crate) fn by(policy: Policy, verdict: &Verdict) -> Self {
        Self::new(policy, Answer::of(verdict))
    }

    pub(crate) const fn decided_by(self, decided_by: DecidedBy) -> Self {
        Self { decided_by, ..self }
    }

    /// How many calls the policy admits.
    #[must_use]
    pub const fn limit(&self) -> u32 {
        self.policy.count()
    }
}
