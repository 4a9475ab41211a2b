//! Where counters live.

#[cfg(any(feature = "redis", feature = "_sql"))]
mod background;
mod charge;
#[cfg(any(test, feature = "test-util"))]
pub(crate) mod draws;
#[cfg(feature = "redis")]
mod lag;
mod memory;
#[cfg(feature = "redis")]
mod redis;
mod reply;
#[cfg(any(feature = "redis", feature = "_sql"))]
pub(crate) mod runtime;
#[cfg(feature = "_sql")]
mod sql;
#[cfg(any(feature = "redis", feature = "_sql"))]
mod stored;
mod verdict;

use std::any::Any;
use std::fmt::Debug;

pub(crate) use self::charge::Demand;
pub use self::charge::{Change, Charge, Settlement};
#[cfg(feature = "simulate")]
pub use self::memory::Simulation;
pub use self::memory::{MemoryStore, MemoryStoreBuilder};
#[cfg(feature = "redis")]
pub use self::redis::{RedisStore, RedisStoreBuilder};
pub use self::reply::Reply;
#[cfg(feature = "_sql")]
pub(crate) use self::sql::Driver;
#[cfg(feature = "_sql")]
pub use self::sql::{SqlConnection, SqlStore, SqlStoreBuilder};
#[cfg(any(feature = "redis", feature = "_sql"))]
pub use self::stored::{StoredCounter, StoredCounters, StoredRule};
use crate::error::{StoreError, StoreErrorKind};
use crate::key::{Client, Key};
use crate::policy::Policy;
use crate::verdict::Verdict;

/// Keeps counters.
///
/// An implementation
///
/// * must decide all charges of a call and record them in one atomic step: no concurrency admits more than the policy,
///   and if one is refused, none is recorded,
/// * must decide by a clock of its own, one for all that share it, and in integers,
/// * must not record a refused charge, in any form, but for the one time at which a block begins,
/// * must give each admitted charge of a key a higher [`Hit`](crate::Hit) than the one before,
/// * must answer within a deadline of its own, whatever happens to what it talks to; an answer that did not
///   come is [`StoreErrorKind::Timeout`](crate::StoreErrorKind::Timeout), and is not asked for again,
/// * must answer [`Reply::ready`] where it need not wait: nothing is then allocated for the answer,
/// * must not keep a counter for longer than twice its window, or its block, after the last hit.
///
/// The feature `test-util` has a suite that checks these, `contract`.
pub trait Store: Any + Debug + Send + Sync {
    /// Admits and records the charges of a call, or refuses them all.
    fn acquire(&self, charges: &[Charge]) -> Reply<Result<Verdict, StoreError>>;

    /// The refusal that [`acquire`](Self::acquire) would answer to this one charge, if that is known without asking and at next to no cost.
    /// `None` by default, and then it is asked.
    fn refuses(&self, _charge: &Charge) -> Option<Verdict> {
        None
    }

    /// Answers as [`acquire`](Self::acquire) would for this one charge, and records nothing: what remains is what does now.
    fn peek(&self, charge: Charge) -> Reply<Result<Verdict, StoreError>>;

    /// When the hits were admitted that count now, the oldest first, in microseconds since 1970 as the wall clock tells them now. Only
    /// a sliding window keeps them: for another algorithm there are none, and none in a store that keeps no times.
    fn inspect(&self, _key: Key, _policy: Policy) -> Reply<Result<Vec<u64>, StoreError>> {
        Reply::ready(Ok(Vec::new()))
    }

    /// Refuses a policy that this store cannot keep, with words that say which store to take instead, or which policy. One that keeps
    /// some algorithms alone must say so here: the limiter asks before it is built, when its policies change, and before each call.
    ///
    /// # Errors
    ///
    /// [`StoreError`] of the kind [`Misconfigured`](crate::StoreErrorKind::Misconfigured) if it does not keep this policy.
    fn accepts(&self, _policy: Policy) -> Result<(), StoreError> {
        Ok(())
    }

    /// Changes counters after the fact. A store outside of the process goes on with it when the reply is dropped: the call that it
    /// settles has ended.
    fn settle(&self, settlements: &[Settlement]) -> Reply<Result<(), StoreError>>;

    /// Deletes all that is kept of a client, at whichever function, and tells how many counters that were. A block counts as one of its own
    /// in a store that keeps it apart. The default says that this store cannot.
    ///
    /// A call of the client that is decided meanwhile may be counted or not.
    fn forget(&self, _client: Client) -> Reply<Result<u64, StoreError>> {
        Reply::ready(Err(StoreError::new(
            StoreErrorKind::Misconfigured,
            "this store cannot forget a client: it does not implement `Store::forget`",
        )))
    }

    /// Waits until what calls have left behind is done: settlements that nobody waits for any more, and what is given back of calls that
    /// were refused. Returns at once by default.
    fn drain(&self) -> Reply<()> {
        Reply::ready(())
    }
}
