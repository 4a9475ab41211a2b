//! One call of an annotated function.

use std::time::Duration;

use crate::current::current;
use crate::failure::OnStoreError;
use crate::key::{Client, Key, KeyError};
use crate::limiter::Limiter;
use crate::method::Site;
use crate::permit::Permit;
use crate::policy::Policy;
use crate::rejection::{Rejection, RejectionKind};
use crate::rule::Rule;
use crate::store::Reply;

/// What is known of a call before it is decided.
#[derive(Debug)]
pub struct Call {
    site: &'static Site,
    policy: Policy,
    client: Result<Client, KeyError>,
    on_store_error: Option<OnStoreError>,
    limiter: Option<Limiter>,
}

impl Call {
    /// A call of the function at `site`, by `client`.
    #[must_use]
    pub const fn new(site: &'static Site, policy: Policy, client: Result<Client, KeyError>) -> Self {
        Self {
            site,
            policy,
            client,
            on_store_error: None,
            limiter: None,
        }
    }

    /// What `on_store_error = ..` says.
    #[must_use]
    pub const fn on_store_error(mut self, mode: OnStoreError) -> Self {
        self.on_store_error = Some(mode);
        self
    }

    /// What `limiter = ..` gives.
    #[must_use]
    pub fn limiter(mut self, limiter: Limiter) -> Self {
        self.limiter = Some(limiter);
        self
    }

    /// Decides the call: by the embedded store at once, without allocating.
    pub fn admit(self) -> Reply<Result<Permit, Rejection>> {
        let method = self.site.method();
        match self.client {
            Ok(client) => current(self.limiter).admit(Rule {
                on_store_error: self.on_store_error,
                ..Rule::new(self.policy, Key::new(method, client))
            }),
            Err(error) => {
                tracing::error!(method = method.name(), %error, "a call was turned away");
                let kind = match error {
                    KeyError::Missing => RejectionKind::MissingClient,
                    KeyError::Secret => RejectionKind::Misconfigured,
                };
                Reply::ready(Err(Rejection::new(kind, method.label(), self.policy)))
            }
        }
    }
}

/// Clears the record of a call that succeeded. What goes wrong never reaches the caller.
pub async fn settle(site: &'static Site, permit: Option<Permit>) {
    if let Some(permit) = permit {
        let limiter = permit.limiter().clone();
        if let Err(error) = permit.reset().await {
            limiter.note_unsettled(site.method().name(), &error);
        }
    }
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

/// The count of an attribute that is a constant. Checked here, so that the compiler points at it.
#[must_use]
#[track_caller]
pub const fn count(count: u32) -> u32 {
    assert!(count > 0, "a count of 0 admits nobody: write 1 or more");
    assert!(count <= Policy::MAX_COUNT, "a count is at most 10,000,000");
    count
}

/// The window of an attribute that is a constant. Checked here, so that the compiler points at it.
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

/// The policy of an attribute, of a count and a window that were checked when it was compiled.
#[must_use]
pub const fn policy(count: u32, window: Duration) -> Policy {
    Policy::sliding_window(count, window)
}
