//! The embedded store.

mod counter;
mod refusals;
mod shard;
#[cfg(feature = "simulate")]
mod simulation;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use smallvec::SmallVec;

use self::refusals::Refusals;
use self::shard::{Place, Shard};
#[cfg(feature = "simulate")]
pub use self::simulation::Simulation;
use super::verdict::{self, Decided};
use super::{Charge, Demand, Reply, Settlement, Store};
use crate::algorithm::Answer;
use crate::clock::Clock;
#[cfg(feature = "test-util")]
use crate::clock::ManualClock;
use crate::error::StoreError;
use crate::key::{Client, Id, Key};
use crate::policy::Policy;
use crate::verdict::{Hit, Verdict};

/// Counters in the memory of this process, for one instance or as what serves while Redis does not.
///
/// It is bounded: beyond its [capacity](MemoryStoreBuilder::capacity) it gives up counters that have run out, then
/// those with the fewest hits, and never one that is refusing for one that is not. When all that it holds are
/// refusing, newcomers to a function share one counter until there is room.
///
/// It needs no async runtime and starts no task: now and then a call looks after a counter beside its own.
#[derive(Clone)]
pub struct MemoryStore(Arc<Inner>);

struct Inner {
    clock: Clock,
    shards: Box<[Apart]>,
}

/// In memory that no other shard has a part of, so that processors which decide in different shards do not wait for each other.
#[repr(align(128))]
struct Apart {
    shard: Mutex<Shard>,
    refusals: Arc<Refusals>,
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

    /// Decides a call of one charge that refuses, in one look at its counter. `None` if it is admitted.
    #[inline]
    pub(crate) fn admit(&self, id: Id, demand: Demand<'_>) -> Option<Answer> {
        let apart = &self.0.shards[self.index(id)];
        let now = self.0.clock.now();
        // Only a clock that tests turn steps back: then nothing is known any more.
        #[cfg(feature = "test-util")]
        if let Clock::Manual(_) = self.0.clock {
            apart.lock().time(&self.0.clock, now);
        }
        let known = apart.refusals.look(now, id, demand);
        if known.is_some() {
            return known;
        }
        let mut shard = apart.lock();
        let now = shard.time(&self.0.clock, now);
        let answer = shard.admit(now, id, demand);
        shard.sweep(now);
        answer
    }

    /// What a call of one charge would be answered now.
    pub(crate) fn look(&self, id: Id, demand: Demand<'_>) -> Answer {
        let now = self.0.clock.now();
        self.shard(id).peek(now, id, demand)
    }

    pub(crate) fn charge(&self, charges: &[Charge]) -> Verdict {
        let demands: SmallVec<[Demand<'_>; 3]> = charges.iter().map(|charge| self.demand(charge)).collect();
        let read = self.0.clock.now();
        let mut locked = self.lock_all(charges);
        let times = locked.0.iter_mut().map(|(_, shard)| shard.time(&self.0.clock, read));
        let now = times.max().unwrap_or(read);
        let mut decided: SmallVec<[Decided; 3]> = SmallVec::new();
        for (charge, demand) in charges.iter().zip(&demands) {
            let id = Id::of(&charge.key);
            let shard = locked.of(self.index(id));
            let place = shard.place(now, id);
            let demand = *demand;
            let mut answer = shard.decide(now, id, place, demand);
            if let Answer::Refused { .. } = answer {
                answer.extend_refusal(shard.block(now, id, place, demand));
            }
            decided.push(Decided {
                answer,
                observe: charge.observe,
            });
        }
        let mut verdict = verdict::combine(&decided);
        if let Verdict::Allowed { hits, .. } = &mut verdict {
            for ((charge, demand), decided) in charges.iter().zip(&demands).zip(&decided) {
                hits.push(match decided.answer {
                    Answer::Fits { .. } => {
                        let id = Id::of(&charge.key);
                        let shard = locked.of(self.index(id));
                        // Looked for again: room for another may have been made where it was.
                        let place = shard.place(now, id);
                        shard.charge(now, id, place, *demand)
                    }
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
        let (id, demand) = (Id::of(&charge.key), self.demand(charge));
        let read = self.0.clock.now();
        let mut shard = self.shard(id);
        let now = shard.time(&self.0.clock, read);
        let place = shard.place(now, id);
        let hit = match place {
            Place::Shared => Hit::NONE,
            Place::At(_) | Place::New => match shard.decide(now, id, place, demand) {
                Answer::Fits { .. } => shard.charge(now, id, place, demand),
                Answer::Refused { .. } | Answer::Never => Hit::NONE,
            },
        };
        shard.sweep(now);
        hit
    }

    /// Changes one counter after the fact.
    pub(crate) fn change(&self, settlement: &Settlement) {
        let id = Id::of(&settlement.key);
        let read = self.0.clock.now();
        let mut shard = self.shard(id);
        let now = shard.time(&self.0.clock, read);
        shard.change(now, id, settlement.change);
    }

    /// What a charge asks of its counter. The event was at a time by the wall clock.
    fn demand<'a>(&self, charge: &'a Charge) -> Demand<'a> {
        Demand {
            at: charge.at.map(|at| self.0.clock.of_wall(at)),
            ..charge.demand()
        }
    }

    fn shards(&self) -> impl Iterator<Item = MutexGuard<'_, Shard>> {
        self.0.shards.iter().map(Apart::lock)
    }

    /// Locks the shards of all charges, in one order for all calls, so that no two wait for each other.
    fn lock_all(&self, charges: &[Charge]) -> Locked<'_> {
        let index = |charge: &Charge| self.index(Id::of(&charge.key));
        let mut indices: SmallVec<[usize; 3]> = charges.iter().map(index).collect();
        indices.sort_unstable();
        indices.dedup();
        let lock = |index: usize| (index, self.0.shards[index].lock());
        Locked(indices.into_iter().map(lock).collect())
    }

    #[inline]
    fn shard(&self, id: Id) -> MutexGuard<'_, Shard> {
        self.0.shards[self.index(id)].lock()
    }

    #[inline]
    fn index(&self, id: Id) -> usize {
        // The number of shards is a power of two; these bits are not those that find the place in a table.
        (id.hash() >> 48) as usize & (self.0.shards.len() - 1)
    }
}

impl Apart {
    fn new(capacity: usize) -> Self {
        let refusals = Arc::new(Refusals::default());
        Self {
            shard: Mutex::new(Shard::new(capacity, Arc::clone(&refusals))),
            refusals,
        }
    }

    /// A panic cannot leave a shard half changed in a way that matters more than refusing everybody would.
    #[inline]
    fn lock(&self) -> MutexGuard<'_, Shard> {
        self.shard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Locked<'a>(SmallVec<[(usize, MutexGuard<'a, Shard>); 3]>);

impl Locked<'_> {
    fn of(&mut self, index: usize) -> &mut Shard {
        let found = self.0.iter_mut().find(|(locked, _)| *locked == index);
        &mut found.expect("the shards of all charges are locked").1
    }
}

impl Store for MemoryStore {
    fn acquire(&self, charges: &[Charge]) -> Reply<Result<Verdict, StoreError>> {
        Reply::ready(Ok(self.charge(charges)))
    }

    fn peek(&self, charge: Charge) -> Reply<Result<Verdict, StoreError>> {
        let id = Id::of(&charge.key);
        let decided = Decided {
            answer: self.look(id, self.demand(&charge)),
            observe: charge.observe,
        };
        Reply::ready(Ok(verdict::combine(&[decided])))
    }

    fn inspect(&self, key: Key, policy: Policy) -> Reply<Result<Vec<u64>, StoreError>> {
        let id = Id::of(&key);
        let now = self.0.clock.now();
        let times = self.shard(id).inspect(now, id, policy);
        Reply::ready(Ok(self.0.clock.to_wall(times)))
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
        self.decides_by(Clock::Manual(clock.clone()))
    }

    #[cfg(feature = "test-util")]
    pub(crate) fn decides_by(self, clock: Clock) -> Self {
        Self {
            clock: Some(clock),
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
            clock: self.clock.unwrap_or_else(Clock::system),
            shards: (0..shards).map(|_| Apart::new(capacity)).collect(),
        }))
    }
}

#[cfg(all(test, feature = "test-util"))]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::method::Method;
    use crate::policy::Algorithm;
    use crate::store::Change;
    use crate::store::draws::draws;

    const SECOND: u64 = 1_000_000;

    /// Two stores by one clock: one decides each call in one look, the other step by step.
    struct Pair {
        clock: ManualClock,
        quick: MemoryStore,
        thorough: MemoryStore,
        /// The last hits of the second store. The first does not tell its hits, which are the same.
        last: Vec<(Key, Policy, u32, Hit)>,
        /// Whether the clock steps back. The second store is not asked then: what has run out goes in passing, from each when it will, and
        /// does not come back with the time.
        steps_back: bool,
    }

    impl Pair {
        fn new(capacity: usize) -> Self {
            let clock = ManualClock::new();
            let store = || MemoryStore::builder().capacity(capacity).clock(&clock).build();
            Self {
                quick: store(),
                thorough: store(),
                clock,
                last: Vec::new(),
                steps_back: false,
            }
        }

        fn ask(&mut self, charge: Charge) -> Option<Answer> {
            self.known(charge);
            let quick = self.quick.admit(Id::of(&charge.key), charge.demand());
            if self.steps_back {
                return quick;
            }
            let thorough = match self.thorough.charge(&[charge]) {
                Verdict::Allowed { hits, .. } => {
                    // Only the hits of logs are the same in both, since they go by the time.
                    if charge.policy.algorithm() == Algorithm::SlidingWindow {
                        self.last.push((charge.key, charge.policy, charge.cost, hits[0]));
                    }
                    None
                }
                refused => Some(Answer::of(&refused)),
            };
            assert_eq!(
                told(quick, charge.policy),
                told(thorough, charge.policy),
                "{charge:?} at {}",
                self.clock.now()
            );
            quick
        }

        /// Whether it is refused without a look at its counter. If so, the counter refuses it for as long.
        fn known(&self, charge: Charge) -> bool {
            let (id, demand, now) = (Id::of(&charge.key), charge.demand(), self.clock.now());
            let apart = &self.quick.0.shards[self.quick.index(id)];
            apart.lock().time(&self.quick.0.clock, now);
            let known = apart.refusals.look(now, id, demand);
            if known.is_some() {
                let asked = Some(apart.lock().peek(now, id, demand));
                let (known, asked) = (told(known, charge.policy), told(asked, charge.policy));
                assert_eq!(known, asked, "{charge:?} at {now}");
            }
            known.is_some()
        }

        fn change(&self, settlement: &Settlement) {
            self.quick.change(settlement);
            self.thorough.change(settlement);
        }
    }

    /// The answer, but for what a block makes of the time at which the limit is whole: a counter reckons as if each call that the block
    /// alone refuses had been charged, and what is known of the first does not.
    fn told(answer: Option<Answer>, policy: Policy) -> Option<Answer> {
        match answer {
            Some(Answer::Refused { retry_after, .. }) if policy.block_span() > 0 => Some(Answer::Refused {
                remaining: 0,
                retry_after,
                reset_after: 0,
            }),
            answer => answer,
        }
    }

    fn client(number: u64) -> Client {
        Client::of(&number).expect("it names somebody")
    }

    #[test]
    fn one_look_decides_as_all_steps_do() {
        let (mut admitted, mut refused, mut told_again) = (0, 0, 0);
        for seed in 1..=60_u64 {
            let mut draw = draws(seed);
            let mut pair = Pair::new(10_000);
            pair.steps_back = seed % 8 >= 4;
            let window = Duration::from_micros(SECOND / 2 + draw(20 * SECOND));
            let counts = [1 + draw(7) as u32, 1 + draw(7) as u32];
            let method = Method::named("login");
            for _ in 0..2_000 {
                let count = counts[usize::from(draw(40) == 0)];
                let policy = match seed % 4 {
                    0 => Policy::fixed_window(count, window),
                    1 => Policy::token_bucket(count, window / count),
                    2 => Policy::sliding_window(count, window).block(window * 2),
                    _ if draw(60) == 0 => Policy::sliding_window(count, window / 3),
                    _ => Policy::sliding_window(count, window),
                };
                let key = Key::new(method, client(draw(3))).counted_by(policy.algorithm(), 0);
                let cost = [1, 1, 1, 1, 1, 1, 1, 1, 0, 2, 3, 9][draw(12) as usize];
                match draw(100) {
                    0 => {
                        let hits = pair.last.len() as u64;
                        if let Some((key, policy, _, upto)) = pair.last.get(draw(hits + 1) as usize) {
                            let change = Change::Reset { upto: *upto };
                            pair.change(&Settlement::new(*key, *policy, change));
                        }
                    }
                    1 | 2 => {
                        if let Some((key, policy, cost, hit)) = pair.last.pop() {
                            let change = Change::Refund { hit, cost };
                            pair.change(&Settlement::new(key, policy, change));
                        }
                    }
                    3 => {
                        let gone = client(draw(3));
                        for store in [&pair.quick, &pair.thorough] {
                            drop(store.forget(gone));
                        }
                    }
                    4 => pair.change(&Settlement::new(key, policy, Change::Clear)),
                    5 if pair.steps_back => pair.clock.step_back(Duration::from_micros(draw(2 * SECOND))),
                    _ => {}
                }
                told_again += usize::from(pair.known(Charge::new(key, policy, cost)));
                match pair.ask(Charge::new(key, policy, cost)) {
                    None => admitted += 1,
                    Some(_) => refused += 1,
                }
                if draw(3) == 0 {
                    pair.clock.advance(Duration::from_micros(draw(SECOND)));
                }
            }
        }
        println!("{admitted} admitted, {refused} refused, {told_again} of them told again");
        assert!(admitted > 10_000 && refused > 10_000 && told_again > 10_000);
    }

    /// Where counters are given up, what is kept of their refusals is too.
    #[test]
    fn a_known_refusal_is_that_of_its_counter_where_there_is_no_room() {
        let pair = Pair::new(8);
        let (mut random, mut told_again) = (7_u64, 0);
        for _ in 0..20_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let policy = Policy::sliding_window(2, Duration::from_secs(1 + (random >> 50) % 2));
            let key = Key::new(Method::named("login"), client(random >> 60));
            let charge = Charge::new(key, policy, 1 + (random >> 40 & 1) as u32);
            told_again += usize::from(pair.known(charge));
            pair.quick.admit(Id::of(&key), charge.demand());
            pair.clock.advance(Duration::from_micros(random >> 50));
        }
        assert!(told_again > 500, "{told_again}");
        pair.clock.advance(Duration::from_secs(10));
        pair.quick.sweep();
        assert!(pair.quick.is_empty());
    }
}
