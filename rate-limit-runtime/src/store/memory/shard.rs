//! One part of the embedded store, under one lock.

use std::collections::HashMap;
use std::sync::Arc;

use hashbrown::HashTable;

use super::counter::Counter;
use super::refusals::Refusals;
use crate::algorithm::Answer;
use crate::clock::Clock;
use crate::key::{Client, Id};
use crate::policy::Policy;
use crate::store::{Change, Demand};
use crate::verdict::Hit;

/// How many counters a newcomer looks after in passing.
const SWEEP: usize = 2;
/// How many other calls there are to one that looks after a counter too, as long as none that it finds has run out.
const SELDOM: u32 = 16;
/// How many counters are weighed against each other when one has to go.
const CANDIDATES: usize = 16;

/// Counters lie in a table, each whole in its place, and a hand goes round the places.
#[derive(Default)]
pub(super) struct Shard {
    capacity: usize,
    counters: HashTable<Entry>,
    hand: usize,
    /// Calls since one looked after counters.
    calls: u32,
    /// What newcomers share, by function, while every counter here refuses.
    overflow: HashMap<u64, Counter>,
    /// What is told of it without its lock.
    refusals: Arc<Refusals>,
    /// The latest time at which something was decided here.
    latest: u64,
}

/// In two lines of the processor's cache, which come together.
#[repr(align(128))]
struct Entry {
    id: Id,
    counter: Counter,
}

const _: () = assert!(size_of::<Entry>() == 128, "a counter has outgrown its lines");

impl Entry {
    fn hash(&self) -> u64 {
        self.id.hash()
    }
}

/// Where the counter of a charge is.
#[derive(Clone, Copy)]
pub(super) enum Place {
    At(usize),
    /// It has none, and there is room for one.
    New,
    /// The one that newcomers share.
    Shared,
}

impl Shard {
    pub(super) fn new(capacity: usize, refusals: Arc<Refusals>) -> Self {
        Self {
            capacity,
            refusals,
            ..Self::default()
        }
    }

    /// The time that holds for a call which read the clock before it had the lock: times of one counter never run backwards, unless the
    /// clock does.
    #[inline]
    pub(super) fn time(&mut self, clock: &Clock, read: u64) -> u64 {
        let now = clock.unless_it_steps_back(read, self.latest);
        if now < self.latest {
            // What was decided later is put right now, and may hold no more when that time comes again.
            self.refusals.forget_all();
        }
        self.latest = now;
        now
    }

    pub(super) fn len(&self) -> usize {
        self.counters.len()
    }

    /// Finds the counter of a charge, and makes room for one if it has none.
    #[inline]
    pub(super) fn place(&mut self, now: u64, id: Id) -> Place {
        match self.find(id) {
            Some(place) => Place::At(place),
            None if self.counters.len() < self.capacity || self.make_room(now) => Place::New,
            None => Place::Shared,
        }
    }

    /// Charges a call if it fits. `None` if it does.
    #[inline]
    pub(super) fn admit(&mut self, now: u64, id: Id, demand: Demand<'_>) -> Option<Answer> {
        let entry = self.counters.find_mut(id.hash(), |entry| entry.id == id);
        match entry.and_then(|entry| entry.counter.admit_at_once(now, demand)) {
            Some(Ok(())) => None,
            Some(Err(refused)) => Some(self.refuse(now, id, demand, refused)),
            None => self.admit_by_steps(now, id, demand),
        }
    }

    #[inline(never)]
    fn admit_by_steps(&mut self, now: u64, id: Id, demand: Demand<'_>) -> Option<Answer> {
        let place = self.place(now, id);
        let mut answer = self.decide(now, id, place, demand);
        match &mut answer {
            Answer::Fits { .. } => {
                self.charge(now, id, place, demand);
                return None;
            }
            Answer::Refused { .. } => answer.extend_refusal(self.block(now, id, place, demand)),
            Answer::Never => {}
        }
        Some(match place {
            // What another policy charges changes how long this one refuses.
            Place::At(place) if self.at(place).goes_by(demand.policy) => self.refuse(now, id, demand, answer),
            Place::At(_) | Place::New | Place::Shared => answer,
        })
    }

    /// Keeps a refusal for those that ask again.
    fn refuse(&self, now: u64, id: Id, demand: Demand<'_>, answer: Answer) -> Answer {
        if let Answer::Refused {
            retry_after,
            reset_after,
            ..
        } = answer
        {
            self.refusals.keep(now, id, demand, retry_after, reset_after);
        }
        answer
    }

    /// Decides without charging.
    #[inline]
    pub(super) fn decide(&mut self, now: u64, id: Id, place: Place, demand: Demand<'_>) -> Answer {
        match place {
            Place::At(place) => {
                if !self.at(place).goes_by(demand.policy) {
                    self.refusals.forget(id);
                }
                self.at(place).decide(now, demand)
            }
            Place::New => Counter::new(*demand.policy).decide(now, demand),
            Place::Shared => self.shared(id, *demand.policy).decide(now, demand),
        }
    }

    /// Decides, changing nothing.
    pub(super) fn peek(&self, now: u64, id: Id, demand: Demand<'_>) -> Answer {
        let answer = |cost| {
            let demand = Demand { cost, ..demand };
            match self.counter(id) {
                Some(counter) => counter.peek(now, demand),
                None => Counter::new(*demand.policy).decide(now, demand),
            }
        };
        match answer(demand.cost) {
            // Nothing is charged, so all that remains now still does.
            Answer::Fits { .. } => answer(0),
            refused => refused,
        }
    }

    /// The times of the hits that count.
    pub(super) fn inspect(&self, now: u64, id: Id, policy: Policy) -> Vec<u64> {
        let counter = self.counter(id);
        counter.map_or_else(Vec::new, |counter| counter.inspect(now, policy))
    }

    /// Records a charge that was decided.
    #[inline]
    pub(super) fn charge(&mut self, now: u64, id: Id, place: Place, demand: Demand<'_>) -> Hit {
        match place {
            Place::At(place) => self.at(place).charge(now, demand),
            // A charge that records nothing makes no counter.
            Place::New if demand.cost == 0 => Hit::NONE,
            Place::New => self.begin(now, id, demand),
            Place::Shared => self.shared(id, *demand.policy).charge(now, demand),
        }
    }

    #[cold]
    fn begin(&mut self, now: u64, id: Id, demand: Demand<'_>) -> Hit {
        let mut counter = Counter::new(*demand.policy);
        counter.decide(now, demand);
        let hit = counter.charge(now, demand);
        self.counters
            .insert_unique(id.hash(), Entry { id, counter }, Entry::hash);
        for _ in 0..SWEEP {
            self.look_after_one(now);
        }
        hit
    }

    /// Notes that a charge was refused, for policies that block. Tells for how long they do.
    pub(super) fn block(&mut self, now: u64, id: Id, place: Place, demand: Demand<'_>) -> u64 {
        match place {
            Place::At(place) => self.at(place).block(now, demand.policy),
            // An empty one refuses nothing that can ever fit.
            Place::New => 0,
            Place::Shared => self.shared(id, *demand.policy).block(now, demand.policy),
        }
    }

    pub(super) fn change(&mut self, now: u64, id: Id, change: Change) {
        if let Some(place) = self.find(id) {
            self.refusals.forget(id);
            self.at(place).change(now, change);
        }
    }

    /// Gives up a counter that has run out, now and then. It comes after a charge, so that a counter that comes back after its window
    /// is not given up and made anew.
    #[inline]
    pub(super) fn sweep(&mut self, now: u64) {
        self.calls += 1;
        if self.calls >= SELDOM {
            // Where one has run out, the next may have too.
            self.calls = if self.look_after_one(now) { SELDOM } else { 0 };
        }
    }

    /// Gives up the next counter if it has run out, and tells whether it had.
    #[inline(never)]
    fn look_after_one(&mut self, now: u64) -> bool {
        let Some(place) = self.turn() else { return false };
        let idle = self.at(place).is_idle(now);
        if idle {
            self.remove(place);
            self.shrink();
        }
        idle
    }

    /// Gives up the counters of a client, and tells how many.
    pub(super) fn forget(&mut self, client: Client) -> usize {
        self.give_up(|entry| entry.id.is_of(client))
    }

    pub(super) fn sweep_all(&mut self, now: u64) {
        self.give_up(|entry| entry.counter.is_idle(now));
    }

    fn give_up(&mut self, which: impl Fn(&Entry) -> bool) -> usize {
        let before = self.counters.len();
        let refusals = &self.refusals;
        self.counters.retain(|entry| {
            let gone = which(entry);
            if gone {
                refusals.forget(entry.id);
            }
            !gone
        });
        self.shrink();
        before - self.counters.len()
    }

    #[inline]
    fn find(&self, id: Id) -> Option<usize> {
        self.counters.find_bucket_index(id.hash(), |entry| entry.id == id)
    }

    fn counter(&self, id: Id) -> Option<&Counter> {
        let entry = self.counters.find(id.hash(), |entry| entry.id == id);
        entry.map(|entry| &entry.counter)
    }

    fn at(&mut self, place: usize) -> &mut Counter {
        let entry = self.counters.get_bucket_mut(place);
        &mut entry.expect("a place that was found is taken").counter
    }

    #[cold]
    fn shared(&mut self, id: Id, policy: Policy) -> &mut Counter {
        self.overflow.entry(id.method()).or_insert_with(|| Counter::new(policy))
    }

    /// Gives up one counter that is not refusing: one that has run out, else of some the one that forgives
    /// least. `false` if all are refusing.
    #[cold]
    fn make_room(&mut self, now: u64) -> bool {
        let mut least: Option<(usize, usize)> = None;
        for seen in 0..self.counters.num_buckets() {
            if seen >= CANDIDATES && least.is_some() {
                break;
            }
            if let Some(place) = self.turn()
                && let Some(forgiven) = self.at(place).forgiven(now)
                && least.is_none_or(|(_, fewest)| forgiven < fewest)
            {
                least = Some((place, forgiven));
            }
        }
        if let Some((place, _)) = least {
            self.remove(place);
        }
        least.is_some()
    }

    /// The next place that is taken, if one is near.
    fn turn(&mut self) -> Option<usize> {
        const NEAR: usize = 16;
        let places = self.counters.num_buckets();
        (0..NEAR.min(places)).find_map(|_| {
            self.hand = if self.hand + 1 < places { self.hand + 1 } else { 0 };
            self.counters.get_bucket(self.hand).map(|_| self.hand)
        })
    }

    fn remove(&mut self, place: usize) {
        if let Ok(entry) = self.counters.get_bucket_entry(place) {
            // It may refuse what weighs more than what it would admit.
            self.refusals.forget(entry.get().id);
            entry.remove();
        }
    }

    /// Gives memory back once three quarters of it are unused.
    fn shrink(&mut self) {
        const SMALL: usize = 64;
        let used = self.counters.len();
        if self.counters.capacity() > SMALL && used < self.counters.capacity() / 4 {
            self.counters.shrink_to(used * 2, Entry::hash);
        }
    }
}
