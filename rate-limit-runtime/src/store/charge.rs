//! What stores are asked.

use crate::key::Key;
use crate::policy::Policy;
use crate::verdict::Hit;

/// What one rule charges for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Charge {
    /// The counter. No two charges of a call have the same.
    pub key: Key,
    /// The limit on it.
    pub policy: Policy,
    /// How many hits the call weighs. 0 asks and records nothing.
    pub cost: u32,
    /// Never refuse: if it does not fit, leave it out and admit the call.
    pub observe: bool,
    /// When the event was by the wall clock, in microseconds since 1970: a token bucket takes the earlier of this and its own time.
    pub at: Option<u64>,
}

impl Charge {
    /// A charge of `cost` hits.
    #[must_use]
    pub const fn new(key: Key, policy: Policy, cost: u32) -> Self {
        Self {
            key,
            policy,
            cost,
            observe: false,
            at: None,
        }
    }
}

/// What a charge asks of its counter, whichever that is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) cost: u32,
    pub(crate) at: Option<u64>,
}

impl Charge {
    #[inline]
    pub(crate) const fn demand(&self) -> Demand<'_> {
        Demand {
            policy: &self.policy,
            cost: self.cost,
            at: self.at,
        }
    }
}

/// What becomes of a hit that was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settlement {
    /// The counter.
    pub key: Key,
    /// The policy that the hit was admitted by.
    pub policy: Policy,
    /// What to do.
    pub change: Change,
}

impl Settlement {
    /// A change of a counter.
    #[must_use]
    pub const fn new(key: Key, policy: Policy, change: Change) -> Self {
        Self { key, policy, change }
    }
}

/// A change of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// Forget the hits up to and including this one, and no later one. Ends a block.
    Reset {
        /// The last hit to forget.
        upto: Hit,
    },
    /// Take back this hit alone.
    Refund {
        /// The hit.
        hit: Hit,
        /// What it weighed. If that is 0, nothing was recorded, and the hit is that of a call before.
        cost: u32,
    },
    /// Forget everything.
    Clear,
}
