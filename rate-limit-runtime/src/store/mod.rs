//! Where counters live.

mod memory;
#[cfg(feature = "redis")]
mod redis;
mod reply;

use std::fmt::Debug;

pub use self::memory::{MemoryStore, MemoryStoreBuilder};
#[cfg(feature = "redis")]
pub use self::redis::{RedisStore, RedisStoreBuilder};
pub use self::reply::Reply;
use crate::error::StoreError;
use crate::key::Key;
use crate::policy::Policy;
use crate::verdict::{Hit, Verdict};

/// What one call is charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Charge {
    /// The counter.
    pub key: Key,
    /// The limit on it.
    pub policy: Policy,
    /// How many hits the call weighs. 0 asks and records nothing.
    pub cost: u32,
}

impl Charge {
    /// A charge of `cost` hits.
    #[must_use]
    pub const fn new(key: Key, policy: Policy, cost: u32) -> Self {
        Self { key, policy, cost }
    }
}

/// Keeps counters.
///
/// An implementation
///
/// * must decide and record in one atomic step: no concurrency admits more than the policy,
/// * must decide by a clock of its own, one for all that share it, and in integers,
/// * must not record a refused charge, in any form,
/// * must give each admitted charge of a key a higher [`Hit`] than the one before,
/// * must answer within a deadline of its own, whatever happens to what it talks to; an answer that did not
///   come is [`StoreErrorKind::Timeout`](crate::StoreErrorKind::Timeout), and is not asked for again,
/// * must answer [`Reply::ready`] where it need not wait: nothing is then allocated for the answer,
/// * must not keep a counter for longer than twice its window after the last hit.
///
/// The feature `test-util` has a suite that checks these, `contract`.
pub trait Store: Debug + Send + Sync + 'static {
    /// Admits and records a charge, or refuses it.
    fn acquire(&self, charge: Charge) -> Reply<Result<Verdict, StoreError>>;

    /// Answers as [`acquire`](Self::acquire) would for a cost of 1, and records nothing.
    fn peek(&self, key: Key, policy: Policy) -> Reply<Result<Verdict, StoreError>>;

    /// Forgets the hits of a key up to and including `hit`, and no later one; all of them for [`Hit::LATEST`].
    fn reset(&self, key: Key, hit: Hit) -> Reply<Result<(), StoreError>>;
}
