//! What the caller gets instead of the body.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use crate::decision::Decision;
use crate::key::KeyError;
use crate::limiter::Limiter;
use crate::method::Method;
use crate::observe::{self, Decided};
use crate::policy::Policy;
use crate::span::Span;
use crate::throttle::log_throttled;
use crate::type_name::last_segment;

/// A call that was not admitted.
///
/// It becomes the function's own return value through [`FromRejection`](crate::FromRejection), or through
/// `on_limit` of the attribute. It carries no identity and no secret, so it may be shown and logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection {
    kind: RejectionKind,
    /// Its whole name.
    method: &'static str,
    policy: Policy,
    decision: Option<Decision>,
}

/// Why a call was not admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RejectionKind {
    /// The limit is reached. [`Rejection::retry_after`] tells how long to wait.
    Limited,
    /// The call can never be admitted: its cost is above the limit, or the limit is 0. Waiting is no use.
    Impossible,
    /// The store did not decide, and the rule says [`OnStoreError::Closed`](crate::OnStoreError::Closed).
    StoreUnavailable,
    /// The transaction that the call was to be counted in met another one and cannot go on: roll it back, and run it again from its
    /// start. Only of a function with `within`.
    Aborted,
    /// The client left its key, or a part of it, empty or blank: 400 over HTTP. A function whose [ambient client](crate::client) nobody set
    /// is [`Misconfigured`](Self::Misconfigured).
    MissingClient,
    /// The function's own `deny_if` turned it away.
    Denied,
    /// The limiter cannot work as it is set up; the log says why.
    Misconfigured,
}

impl Rejection {
    #[inline]
    pub(crate) const fn new(kind: RejectionKind, method: &Method, policy: Policy) -> Self {
        Self {
            kind,
            method: method.name(),
            policy,
            decision: None,
        }
    }

    /// Rejects a call that has no client: for a key that the client left blank, or by a fault of the service.
    #[cold]
    pub(crate) fn of_nobody(error: &KeyError, method: &Method, policy: Policy, limiter: &Limiter) -> Self {
        let kind = match error {
            KeyError::Missing => {
                log_throttled!(warn, method.name(), %error, "a call was rejected: the client left its key blank");
                RejectionKind::MissingClient
            }
            KeyError::Nobody | KeyError::Secret => {
                log_throttled!(error, method.name(), %error, "a call was rejected: its client cannot be told");
                RejectionKind::Misconfigured
            }
        };
        observe::decided(Some(limiter), &Decided::unseen(method, Some(kind)));
        Self::new(kind, method, policy)
    }

    pub(crate) const fn with_decision(self, decision: Decision) -> Self {
        Self {
            decision: Some(decision),
            ..self
        }
    }

    /// Why the call was not admitted.
    #[must_use]
    pub const fn kind(&self) -> RejectionKind {
        self.kind
    }

    /// Whether the limit is reached, and nothing is wrong.
    #[must_use]
    pub const fn is_limited(&self) -> bool {
        matches!(self.kind, RejectionKind::Limited)
    }

    /// The last segment of the function's name, such as `login`.
    #[must_use]
    pub fn method(&self) -> &'static str {
        last_segment(self.method)
    }

    /// The policy of the rule that refused; one that admits nothing where the limiter has none by the name that the function asks
    /// for. Of a call that `deny_if` turned away, the policy is looked up without `limiter = ..`.
    #[must_use]
    pub const fn policy(&self) -> Policy {
        self.policy
    }

    /// What the store decided. `None` if it did not.
    #[must_use]
    pub const fn decision(&self) -> Option<&Decision> {
        self.decision.as_ref()
    }

    /// How long until this same call would be admitted. `None` unless the call was [limited](Self::is_limited).
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.decision.and_then(|decision| decision.retry_after)
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (method, policy) = (self.method(), self.policy);
        match (self.kind, self.retry_after()) {
            (RejectionKind::Limited, Some(wait)) => write!(
                f,
                "too many calls of `{method}` ({policy}): try again in {}",
                Span::from_duration(wait).in_whole_seconds()
            ),
            (RejectionKind::Limited, None) => write!(f, "too many calls of `{method}` ({policy})"),
            (RejectionKind::Impossible, _) => {
                write!(
                    f,
                    "a call of `{method}` costs more than its limit ({policy}) ever admits"
                )
            }
            (RejectionKind::StoreUnavailable, _) => {
                write!(f, "the limit of `{method}` cannot be checked now: try again")
            }
            (RejectionKind::Aborted, _) => write!(
                f,
                "the transaction that a call of `{method}` was to be counted in met another one: roll it back, and run it again"
            ),
            (RejectionKind::MissingClient, _) => write!(f, "a part of the key of `{method}` is empty or blank"),
            (RejectionKind::Denied, _) => write!(f, "a call of `{method}` was turned away"),
            (RejectionKind::Misconfigured, _) => write!(f, "the limit of `{method}` is not set up: see the log"),
        }
    }
}

impl Error for Rejection {}

/// A return type that can hold a refusal.
///
/// `Result<_, E>` can where `E: From<Rejection>`, and so can the response types of the supported frameworks.
/// Implement it for a response type of your own:
///
/// ```
/// use rate_limit_runtime::{FromRejection, Rejection};
///
/// enum Answer { Page(String), TryLater(u64) }
///
/// impl FromRejection for Answer {
///     fn from_rejection(rejection: Rejection) -> Self {
///         Answer::TryLater(rejection.retry_after().map_or(1, |wait| wait.as_secs() + 1))
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot hold a refusal",
    label = "a refused call has no value of this type to return",
    note = "return a `Result` whose error implements `From<rate_limit::Rejection>`, or add what to return to the attribute: \
            `on_limit = |rejection| value`",
    note = "with the feature `axum` return `Response` or `impl IntoResponse`, with `actix-web` `HttpResponse` or `impl Responder`, \
            with `tonic` a `Result` whose error is `Status`"
)]
pub trait FromRejection {
    /// The value that says "refused".
    fn from_rejection(rejection: Rejection) -> Self;
}

#[diagnostic::do_not_recommend]
impl<T, E: From<Rejection>> FromRejection for Result<T, E> {
    fn from_rejection(rejection: Rejection) -> Self {
        Err(E::from(rejection))
    }
}
