//! One part of the embedded store, under one lock.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::algorithm::sliding_window::Log;
use crate::key::Key;
use crate::method::Method;
use crate::policy::Policy;
use crate::store::Charge;
use crate::verdict::{Hit, Verdict};

/// How many counters a call looks after in passing.
const SWEEP: usize = 2;
/// How many counters are weighed against each other when one has to go.
const CANDIDATES: usize = 16;

/// Counters lie in a row, so that a hand can go round them; a table tells the place of each.
#[derive(Default)]
pub(super) struct Shard {
    capacity: usize,
    places: HashMap<Key, u32, RandomState>,
    counters: Vec<Counter>,
    hand: usize,
    /// What newcomers share, by function, while every counter here refuses.
    overflow: HashMap<Method, Log>,
}

struct Counter {
    key: Key,
    /// The policy that last decided: it tells whether the counter has run out, and whether it refuses.
    policy: Policy,
    log: Log,
}

impl Counter {
    fn is_idle(&self, now: u64) -> bool {
        self.log.is_idle(now, self.policy.window_span().0)
    }

    /// The hits that would be forgiven with this counter, or `None` if it is refusing.
    fn forgiven(&self, now: u64) -> Option<usize> {
        let live = self.log.live(now, self.policy.window_span().0);
        (live < self.policy.count() as usize).then_some(live)
    }
}

impl Shard {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            capacity,
            ..Self::default()
        }
    }

    pub(super) fn len(&self) -> usize {
        self.counters.len()
    }

    pub(super) fn acquire(&mut self, now: u64, charge: Charge) -> Verdict {
        let verdict = self.charge(now, charge);
        // Afterwards, so that a counter that comes back after its window is not given up and made anew.
        self.sweep(now);
        verdict
    }

    fn charge(&mut self, now: u64, charge: Charge) -> Verdict {
        let Charge { key, policy, cost } = charge;
        let (count, window) = (policy.count(), policy.window_span().0);
        if let Some(place) = self.places.get(&key) {
            let counter = &mut self.counters[*place as usize];
            counter.policy = policy;
            return counter.log.acquire(now, count, window, cost);
        }
        // A charge that records nothing makes no counter.
        if cost == 0 || cost > count {
            return Log::default().acquire(now, count, window, cost);
        }
        if self.counters.len() >= self.capacity && !self.make_room(now) {
            return self
                .overflow
                .entry(key.method())
                .or_default()
                .acquire(now, count, window, cost);
        }
        let mut log = Log::default();
        let verdict = log.acquire(now, count, window, cost);
        self.places.insert(key, self.counters.len() as u32);
        self.counters.push(Counter { key, policy, log });
        verdict
    }

    pub(super) fn peek(&self, now: u64, key: Key, policy: Policy) -> Verdict {
        let (count, window) = (policy.count(), policy.window_span().0);
        match self.places.get(&key) {
            Some(place) => self.counters[*place as usize].log.peek(now, count, window),
            None => Log::default().peek(now, count, window),
        }
    }

    pub(super) fn reset(&mut self, now: u64, key: Key, hit: Hit) {
        if let Some(place) = self.places.get(&key) {
            self.counters[*place as usize].log.reset(now, hit);
        }
    }

    /// Gives up counters that have run out, a few at a time.
    fn sweep(&mut self, now: u64) {
        for _ in 0..SWEEP.min(self.counters.len()) {
            let place = self.turn();
            if self.counters[place].is_idle(now) {
                self.remove(place);
            }
        }
        self.shrink();
    }

    pub(super) fn sweep_all(&mut self, now: u64) {
        for place in (0..self.counters.len()).rev() {
            if self.counters[place].is_idle(now) {
                self.remove(place);
            }
        }
        self.shrink();
    }

    /// Gives up one counter that is not refusing: one that has run out, else of some the one that forgives
    /// least. `false` if all are refusing.
    fn make_room(&mut self, now: u64) -> bool {
        let mut least: Option<(usize, usize)> = None;
        for seen in 0..self.counters.len() {
            if seen >= CANDIDATES && least.is_some() {
                break;
            }
            let place = self.turn();
            if let Some(forgiven) = self.counters[place].forgiven(now)
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

    fn turn(&mut self) -> usize {
        self.hand += 1;
        if self.hand >= self.counters.len() {
            self.hand = 0;
        }
        self.hand
    }

    fn remove(&mut self, place: usize) {
        let gone = self.counters.swap_remove(place);
        self.places.remove(&gone.key);
        if let Some(moved) = self.counters.get(place) {
            self.places.insert(moved.key, place as u32);
        }
    }

    /// Gives memory back once three quarters of it are unused.
    fn shrink(&mut self) {
        const SMALL: usize = 64;
        let used = self.counters.len();
        if self.counters.capacity() > SMALL && used < self.counters.capacity() / 4 {
            self.counters.shrink_to(used * 2);
            self.places.shrink_to(used * 2);
        }
    }
}
