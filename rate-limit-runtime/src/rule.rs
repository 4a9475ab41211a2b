//! One limit on one call.

use crate::failure::OnStoreError;
use crate::key::Key;
use crate::policy::Policy;

/// A policy, the counter it holds for, and what the call weighs.
///
/// ```
/// use std::time::Duration;
/// use rate_limit_runtime::{Client, Key, Method, OnStoreError, Policy, Rule};
///
/// let rule = Rule::new(
///     Policy::sliding_window(5, Duration::from_secs(600)),
///     Key::new(Method::named("login"), Client::of("20230001")?),
/// )
/// .cost(2)
/// .on_store_error(OnStoreError::Closed);
/// # Ok::<(), rate_limit_runtime::KeyError>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Rule {
    pub(crate) policy: Policy,
    pub(crate) key: Key,
    pub(crate) cost: u32,
    pub(crate) on_store_error: Option<OnStoreError>,
}

impl Rule {
    /// A call that weighs 1.
    pub const fn new(policy: Policy, key: Key) -> Self {
        Self {
            policy,
            key,
            cost: 1,
            on_store_error: None,
        }
    }

    /// How many hits the call weighs. 0 is admitted if one that weighs nothing is, and is not recorded.
    pub const fn cost(self, hits: u32) -> Self {
        Self { cost: hits, ..self }
    }

    /// What holds while the store does not decide, if not what the limiter says.
    pub const fn on_store_error(self, mode: OnStoreError) -> Self {
        Self {
            on_store_error: Some(mode),
            ..self
        }
    }
}
