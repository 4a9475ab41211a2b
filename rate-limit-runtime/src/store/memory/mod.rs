//! The embedded store.

mod shard;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{fmt, hash::BuildHasher};

use foldhash::fast::RandomState;

use self::shard::Shard;
use super::{Charge, Reply, Store};
use crate::clock::Clock;
#[cfg(feature = "test-util")]
use crate::clock::ManualClock;
use crate::error::StoreError;
use crate::key::Key;
use crate::policy::Policy;
use crate::verdict::{Hit, Verdict};

/// Counters in the memory of this process, for one instance or as what serves while Redis does not.
///
/// It is bounded: beyond its [capacity](MemoryStoreBuilder::capacity) it gives up counters that have run out, then
/// those with the fewest hits, and never one that is refusing for one that is not. When all that it holds are
/// refusing, newcomers to a function share one counter until there is room.
///
/// It needs no async runtime and starts no task: each call looks after a few counters beside its own.
#[derive(Clone)]
pub struct MemoryStore(Arc<Inner>);

struct Inner {
    clock: Clock,
    hashes: RandomState,
    shards: Box<[Mutex<Shard>]>,
}

impl MemoryStore {
    /// A store with the default capacity.
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// A store to set up.
    pub fn builder() -> MemoryStoreBuilder {
        MemoryStoreBuilder {
            capacity: MemoryStoreBuilder::CAPACITY,
            clock: None,
        }
    }

    /// How many counters it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shards().map(|shard| shard.len()).sum()
    }

    /// Whether it holds none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Gives up all counters that have run out, and the memory they held. Calls do so in passing; this is for
    /// a service that goes quiet after a flood and wants the memory back at once.
    pub fn sweep(&self) {
        let now = self.0.clock.now();
        self.shards().for_each(|mut shard| shard.sweep_all(now));
    }

    pub(crate) fn charge(&self, charge: Charge) -> Verdict {
        let mut shard = self.shard(&charge.key);
        // Read under the lock: times of one key then never run backwards.
        let now = self.0.clock.now();
        shard.acquire(now, charge)
    }

    fn shards(&self) -> impl Iterator<Item = MutexGuard<'_, Shard>> {
        self.0.shards.iter().map(lock)
    }

    fn shard(&self, key: &Key) -> MutexGuard<'_, Shard> {
        let hash = self.0.hashes.hash_one(key);
        // The number of shards is a power of two; the high bits are not those that find the place in a table.
        let index = (hash >> 48) as usize & (self.0.shards.len() - 1);
        lock(&self.0.shards[index])
    }
}

/// A panic cannot leave a shard half changed in a way that matters more than refusing everybody would.
fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Store for MemoryStore {
    fn acquire(&self, charge: Charge) -> Reply<Result<Verdict, StoreError>> {
        Reply::ready(Ok(self.charge(charge)))
    }

    fn peek(&self, key: Key, policy: Policy) -> Reply<Result<Verdict, StoreError>> {
        let shard = self.shard(&key);
        let now = self.0.clock.now();
        Reply::ready(Ok(shard.peek(now, key, policy)))
    }

    fn reset(&self, key: Key, hit: Hit) -> Reply<Result<(), StoreError>> {
        let mut shard = self.shard(&key);
        let now = self.0.clock.now();
        shard.reset(now, key, hit);
        Reply::ready(Ok(()))
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

/// Sets up a [`MemoryStore`].
#[derive(Clone, Debug)]
#[must_use]
pub struct MemoryStoreBuilder {
    capacity: usize,
    clock: Option<Clock>,
}

impl MemoryStoreBuilder {
    /// 100,000 counters: some 25 MB at five hits each.
    const CAPACITY: usize = 100_000;
    const MAX_SHARDS: usize = 64;
    /// Fewer to a shard, and chance would fill one long before the others.
    const MIN_SHARD: usize = 1024;

    /// How many counters to hold at the most, one for each function and client; 100,000 by default, and at
    /// least 1. When full it may hold a few less, since counters fall to its parts by chance.
    pub fn capacity(self, counters: usize) -> Self {
        Self {
            capacity: counters.max(1),
            ..self
        }
    }

    /// Decides by a clock that the test turns.
    #[cfg(feature = "test-util")]
    pub fn clock(self, clock: &ManualClock) -> Self {
        Self {
            clock: Some(Clock::Manual(clock.clone())),
            ..self
        }
    }

    /// The store.
    #[must_use]
    pub fn build(self) -> MemoryStore {
        let wanted = (self.capacity / Self::MIN_SHARD).clamp(1, Self::MAX_SHARDS);
        let shards = 1 << wanted.ilog2();
        let capacity = self.capacity / shards;
        MemoryStore(Arc::new(Inner {
            clock: self.clock.unwrap_or_else(Clock::monotonic),
            hashes: RandomState::default(),
            shards: (0..shards).map(|_| Mutex::new(Shard::new(capacity))).collect(),
        }))
    }
}
