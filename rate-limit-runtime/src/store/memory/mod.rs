//! The embedded store.

mod counter;
mod shard;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{fmt, hash::BuildHasher};

use foldhash::fast::RandomState;
use smallvec::SmallVec;

use self::shard::Shard;
use super::verdict::{self, Decided};
use super::{Charge, Reply, Settlement, Store};
use crate::algorithm::Answer;
use crate::clock::Clock;
#[cfg(feature = "test-util")]
use crate::clock::ManualClock;
use crate::error::StoreError;
use crate::key::{Client, Key};
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

    pub(crate) fn charge(&self, charges: &[Charge]) -> Verdict {
        let mut locked = self.lock_all(charges);
        // Read under the locks: times of one key then never run backwards.
        let now = self.0.clock.now();
        let mut decided: SmallVec<[Decided; 3]> = SmallVec::new();
        for charge in charges {
            let shard = locked.of(self.index(&charge.key));
            let mut answer = shard.decide(now, charge);
            if let Answer::Refused {
                retry_after,
                reset_after,
            } = &mut answer
            {
                let blocked = shard.block(now, charge);
                *retry_after = blocked.max(*retry_after);
                *reset_after = blocked.max(*reset_after);
            }
            decided.push(Decided {
                answer,
                observe: charge.observe,
            });
        }
        let mut verdict = verdict::combine(&decided);
        if let Verdict::Allowed { hits, .. } = &mut verdict {
            for (charge, decided) in charges.iter().zip(&decided) {
                hits.push(match decided.answer {
                    Answer::Fits { .. } => locked.of(self.index(&charge.key)).charge(now, charge),
                    Answer::Refused { .. } | Answer::Never => Hit::NONE,
                });
            }
        }
        locked.0.iter_mut().for_each(|(_, shard)| shard.sweep(now));
        verdict
    }

    /// Records a call that another store has admitted, if it fits here too. It refuses nobody, begins no block, and takes no
    /// part in what newcomers share while there is no room.
    pub(crate) fn record(&self, charge: &Charge) -> Hit {
        let mut shard = lock(&self.0.shards[self.index(&charge.key)]);
        let now = self.0.clock.now();
        let hit = shard.record(now, charge);
        shard.sweep(now);
        hit
    }

    /// Changes one counter after the fact.
    pub(crate) fn change(&self, settlement: &Settlement) {
        let mut shard = lock(&self.0.shards[self.index(&settlement.key)]);
        shard.change(self.0.clock.now(), settlement.key, settlement.change);
    }

    fn shards(&self) -> impl Iterator<Item = MutexGuard<'_, Shard>> {
        self.0.shards.iter().map(lock)
    }

    /// Locks the shards of all charges, in one order for all calls, so that no two wait for each other.
    fn lock_all(&self, charges: &[Charge]) -> Locked<'_> {
        let mut indices: SmallVec<[usize; 3]> = charges.iter().map(|charge| self.index(&charge.key)).collect();
        indices.sort_unstable();
        indices.dedup();
        Locked(
            indices
                .into_iter()
                .map(|index| (index, lock(&self.0.shards[index])))
                .collect(),
        )
    }

    fn index(&self, key: &Key) -> usize {
        let hash = self.0.hashes.hash_one(key);
        // The number of shards is a power of two; the high bits are not those that find the place in a table.
        (hash >> 48) as usize & (self.0.shards.len() - 1)
    }
}

struct Locked<'a>(SmallVec<[(usize, MutexGuard<'a, Shard>); 3]>);

impl Locked<'_> {
    fn of(&mut self, index: usize) -> &mut Shard {
        let found = self.0.iter_mut().find(|(locked, _)| *locked == index);
        &mut found.expect("the shards of all charges are locked").1
    }
}

/// A panic cannot leave a shard half changed in a way that matters more than refusing everybody would.
fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Store for MemoryStore {
    fn acquire(&self, charges: &[Charge]) -> Reply<Result<Verdict, StoreError>> {
        Reply::ready(Ok(self.charge(charges)))
    }

    fn peek(&self, charge: Charge) -> Reply<Result<Verdict, StoreError>> {
        let shard = lock(&self.0.shards[self.index(&charge.key)]);
        let decided = Decided {
            answer: shard.peek(self.0.clock.now(), &charge),
            observe: charge.observe,
        };
        Reply::ready(Ok(verdict::combine(&[decided])))
    }

    fn inspect(&self, key: Key, policy: Policy) -> Reply<Result<Vec<u64>, StoreError>> {
        let shard = lock(&self.0.shards[self.index(&key)]);
        Reply::ready(Ok(shard.inspect(self.0.clock.now(), key, policy)))
    }

    fn settle(&self, settlements: &[Settlement]) -> Reply<Result<(), StoreError>> {
        settlements.iter().for_each(|settlement| self.change(settlement));
        Reply::ready(Ok(()))
    }

    /// Looks at every counter: they lie by function and client.
    fn forget(&self, client: Client) -> Reply<Result<u64, StoreError>> {
        let forgotten: usize = self.shards().map(|mut shard| shard.forget(client)).sum();
        Reply::ready(Ok(forgotten as u64))
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
