//! One call of an annotated function.

use std::time::{Duration, SystemTime};

use smallvec::SmallVec;

use crate::client;
use crate::current::current;
use crate::failure::OnStoreError;
use crate::key::{Client, Key, KeyError};
use crate::limiter::{Limiter, Rules};
use crate::method::Site;
use crate::permit::{Permit, Settle};
use crate::policy::Policy;
use crate::rejection::{Rejection, RejectionKind};
use crate::rule::Rule;
use crate::store::Reply;

/// What is known of a call before it is decided.
#[derive(Debug)]
pub struct Call {
    site: &'static Site,
    rules: SmallVec<[Asked; 2]>,
    limiter: Option<Limiter>,
}

/// One rule of a call: of each attribute, unless it is skipped.
#[derive(Debug)]
pub struct Asked {
    policy: Policy,
    client: Result<Client, KeyError>,
    place: u8,
    cost: u32,
    observe: bool,
    at: Option<SystemTime>,
    on_store_error: Option<OnStoreError>,
    settle: Option<SettleOn>,
}

/// When a rule settles a call, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettleOn {
    /// Forget the record up to this call, after a success.
    ResetOnSuccess,
    /// Take back the charge, after a success.
    RefundOnSuccess,
    /// Take back the charge, after anything else.
    RefundOnError,
}

impl Asked {
    /// The rule at `place`, for `client`.
    #[must_use]
    pub const fn new(place: u8, policy: Policy, client: Result<Client, KeyError>) -> Self {
        Self {
            policy,
            client,
            place,
            cost: 1,
            observe: false,
            at: None,
            on_store_error: None,
            settle: None,
        }
    }

    /// What `cost = ..` says.
    #[must_use]
    pub const fn cost(mut self, cost: u32) -> Self {
        self.cost = cost;
        self
    }

    /// What `observe` says.
    #[must_use]
    pub const fn observe(mut self) -> Self {
        self.observe = true;
        self
    }

    /// What `at = ..` says.
    #[must_use]
    pub const fn at(mut self, at: SystemTime) -> Self {
        self.at = Some(at);
        self
    }

    /// What `on_store_error = ..` says.
    #[must_use]
    pub const fn on_store_error(mut self, mode: OnStoreError) -> Self {
        self.on_store_error = Some(mode);
        self
    }

    /// What `reset_on_success`, `refund_on_success` or `refund_on_error` says.
    #[must_use]
    pub const fn settle(mut self, settle: SettleOn) -> Self {
        self.settle = Some(settle);
        self
    }

    fn rule(&self, site: &'static Site, client: Client) -> Rule {
        let rule = Rule::new(self.policy, Key::new(site.method(), client))
            .place(self.place)
            .cost(self.cost);
        let rule = if self.observe { rule.observe() } else { rule };
        let rule = match self.at {
            Some(at) => rule.at(at),
            None => rule,
        };
        match self.on_store_error {
            Some(mode) => rule.on_store_error(mode),
            None => rule,
        }
    }
}

impl Call {
    /// A call of the function at `site`.
    #[must_use]
    pub const fn new(site: &'static Site) -> Self {
        Self {
            site,
            rules: SmallVec::new_const(),
            limiter: None,
        }
    }

    /// One more rule, unless it is skipped.
    #[must_use]
    pub fn rule(mut self, rule: impl Into<Option<Asked>>) -> Self {
        self.rules.extend(rule.into());
        self
    }

    /// What `limiter = ..` gives.
    #[must_use]
    pub fn limiter(mut self, limiter: Limiter) -> Self {
        self.limiter = Some(limiter);
        self
    }

    /// Decides the call: by the embedded store at once, without allocating.
    pub fn admit(self) -> Reply<Result<(), Rejection>> {
        self.permit().map(|permit| permit.map(drop))
    }

    /// As [`admit`](Self::admit), for a body that looks at the permit.
    pub fn permit(self) -> Reply<Result<Permit, Rejection>> {
        let mut rules = Rules::new();
        for asked in &self.rules {
            match asked.client {
                Ok(client) => rules.push(asked.rule(self.site, client)),
                Err(error) => return Reply::ready(Err(self.nobody(asked, &error))),
            }
        }
        current(self.limiter).admit(rules)
    }

    /// As [`admit`](Self::admit), for a call that is settled.
    pub fn settled(self) -> Reply<Result<Settling, Rejection>> {
        let (site, how) = (self.site, self.rules.iter().map(|asked| asked.settle).collect());
        self.permit().map(move |permit| permit.map(|permit| Settling { site, permit, how }))
    }

    fn nobody(&self, asked: &Asked, error: &KeyError) -> Rejection {
        let method = self.site.method();
        tracing::error!(method = method.name(), %error, "a call was turned away");
        let kind = match error {
            KeyError::Missing | KeyError::Nobody => RejectionKind::MissingClient,
            KeyError::Secret => RejectionKind::Misconfigured,
        };
        Rejection::new(kind, method.label(), asked.policy)
    }
}

/// An admitted call that is to be settled.
#[derive(Debug)]
pub struct Settling {
    site: &'static Site,
    permit: Permit,
    how: SmallVec<[Option<SettleOn>; 4]>,
}

/// Settles a call that was admitted. What goes wrong never reaches the caller.
pub async fn settle(settling: Option<Settling>, success: bool) {
    let Some(Settling { site, permit, how }) = settling else {
        return;
    };
    let how = |place: usize| match (how.get(place).copied().flatten()?, success) {
        (SettleOn::ResetOnSuccess, true) => Some(Settle::Reset),
        (SettleOn::RefundOnSuccess, true) | (SettleOn::RefundOnError, false) => Some(Settle::Refund),
        _ => None,
    };
    if let Err(error) = permit.settle(how).await {
        permit.limiter().note_unsettled(site.method().name(), &error);
    }
}

/// What `deny_if` turns away.
#[must_use]
pub fn denied(site: &'static Site, policy: Policy) -> Rejection {
    Rejection::new(RejectionKind::Denied, site.method().label(), policy)
}

/// The client of a rule without a key.
///
/// # Errors
///
/// [`KeyError`] if none is set here.
pub fn ambient() -> Result<Client, KeyError> {
    client::ambient()
}

/// The limiter of `limiter = ..`, which is not borrowed while the call waits.
#[must_use]
pub fn limiter(given: &Limiter) -> Limiter {
    given.clone()
}

/// The value of `on_limit`, with the types pinned so that the closure need not name them.
pub fn on_limit<R>(rejection: Rejection, value: impl FnOnce(Rejection) -> R) -> R {
    value(rejection)
}

/// The count or capacity of an attribute that is a constant. Checked here, so that the compiler points at it.
#[must_use]
#[track_caller]
pub const fn count(count: u32) -> u32 {
    assert!(count > 0, "a count of 0 admits nobody: write 1 or more");
    assert!(count <= Policy::MAX_COUNT, "a count is at most 10,000,000");
    count
}

/// The window or block of an attribute that is a constant. Checked here, so that the compiler points at it.
#[must_use]
#[track_caller]
pub const fn window(window: Duration) -> Duration {
    assert!(
        window.as_nanos() >= Policy::MIN_WINDOW.as_nanos(),
        "a window is at least 1 millisecond"
    );
    assert!(
        window.as_nanos() <= Policy::MAX_WINDOW.as_nanos(),
        "a window is at most 36,500 days"
    );
    window
}

/// The refill of an attribute that is a constant. Checked here, so that the compiler points at it.
#[must_use]
#[track_caller]
pub const fn refill(refill: Duration) -> Duration {
    assert!(!refill.is_zero(), "a refill takes some time: write in which time the bucket gains one token");
    refill
}
