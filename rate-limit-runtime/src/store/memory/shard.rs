//! One part of the embedded store, under one lock.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::counter::Counter;
use crate::algorithm::Answer;
use crate::key::{Client, Key};
use crate::method::Method;
use crate::policy::Policy;
use crate::store::{Change, Charge};
use crate::verdict::Hit;

/// How many counters a call looks after in passing.
const SWEEP: usize = 2;
/// How many counters are weighed against each other when one has to go.
const CANDIDATES: usize = 16;

/// Counters lie in a row, so that a hand can go round them; a table tells the place of each.
#[derive(Default)]
pub(super) struct Shard {
    capacity: usize,
    places: HashMap<Key, u32, RandomState>,
    counters: Vec<(Key, Counter)>,
    hand: usize,
    /// What newcomers share, by function, while every counter here refuses.
    overflow: HashMap<Method, Counter>,
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

    /// Decides without charging.
    pub(super) fn decide(&mut self, now: u64, charge: &Charge) -> Answer {
        match self.counter(now, charge) {
            Some(counter) => counter.decide(now, charge),
            None => Counter::new(charge.policy).decide(now, charge),
        }
    }

    /// Decides, changing nothing.
    pub(super) fn peek(&self, now: u64, charge: &Charge) -> Answer {
        let answer = |cost| {
            let charge = Charge { cost, ..*charge };
            match self.places.get(&charge.key) {
                Some(place) => self.counters[*place as usize].1.peek(now, &charge),
                None => Counter::new(charge.policy).decide(now, &charge),
            }
        };
        match answer(charge.cost) {
            // Nothing is charged, so all that remains now still does.
            Answer::Fits { .. } => answer(0),
            refused => refused,
        }
    }

    /// The times of the hits that count.
    pub(super) fn inspect(&self, now: u64, key: Key, policy: Policy) -> Vec<u64> {
        let place = self.places.get(&key);
        place.map_or_else(Vec::new, |place| self.counters[*place as usize].1.inspect(now, policy))
    }

    /// Records a charge that was decided.
    pub(super) fn charge(&mut self, now: u64, charge: &Charge) -> Hit {
        match self.counter(now, charge) {
            Some(counter) => counter.charge(now, charge),
            // A charge that records nothing makes no counter.
            None if charge.cost == 0 => Hit::NONE,
            None => {
                let mut counter = Counter::new(charge.policy);
                counter.decide(now, charge);
                let hit = counter.charge(now, charge);
                self.places.insert(charge.key, self.counters.len() as u32);
                self.counters.push((charge.key, counter));
                hit
            }
        }
    }

    /// Records a charge that was decided elsewhere, if it fits and there is room for its counter.
    pub(super) fn record(&mut self, now: u64, charge: &Charge) -> Hit {
        let has_place = self.places.contains_key(&charge.key) || self.counters.len() < self.capacity;
        if !has_place && !self.make_room(now) {
            return Hit::NONE;
        }
        match self.decide(now, charge) {
            Answer::Fits { .. } => self.charge(now, charge),
            Answer::Refused { .. } | Answer::Never => Hit::NONE,
        }
    }

    /// Notes that a charge was refused, for policies that block. Tells for how long they do.
    pub(super) fn block(&mut self, now: u64, charge: &Charge) -> u64 {
        // A charge that is refused has a counter: an empty one refuses nothing that can ever fit.
        self.counter(now, charge).map_or(0, |counter| counter.block(now))
    }

    pub(super) fn change(&mut self, now: u64, key: Key, change: Change) {
        if let Some(place) = self.places.get(&key) {
            self.counters[*place as usize].1.change(now, change);
        }
    }

    /// Gives up counters that have run out, a few at a time. It comes after a charge, so that a counter that comes back
    /// after its window is not given up and made anew.
    pub(super) fn sweep(&mut self, now: u64) {
        for _ in 0..SWEEP.min(self.counters.len()) {
            let place = self.turn();
            if self.counters[place].1.is_idle(now) {
                self.remove(place);
            }
        }
        self.shrink();
    }

    /// Gives up the counters of a client, and tells how many.
    pub(super) fn forget(&mut self, client: Client) -> usize {
        let before = self.counters.len();
        for place in (0..before).rev() {
            if self.counters[place].0.client() == client {
                self.remove(place);
            }
        }
        self.shrink();
        before - self.counters.len()
    }

    pub(super) fn sweep_all(&mut self, now: u64) {
        for place in (0..self.counters.len()).rev() {
            if self.counters[place].1.is_idle(now) {
                self.remove(place);
            }
        }
        self.shrink();
    }

    /// The counter of a charge: its own, none if there is room for one, or the one that newcomers share.
    fn counter(&mut self, now: u64, charge: &Charge) -> Option<&mut Counter> {
        if let Some(place) = self.places.get(&charge.key) {
            return Some(&mut self.counters[*place as usize].1);
        }
        if self.counters.len() < self.capacity || self.make_room(now) {
            return None;
        }
        let shared = self.overflow.entry(charge.key.method());
        Some(shared.or_insert_with(|| Counter::new(charge.policy)))
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
            if let Some(forgiven) = self.counters[place].1.forgiven(now)
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
        let (gone, _) = self.counters.swap_remove(place);
        self.places.remove(&gone);
        if let Some((moved, _)) = self.counters.get(place) {
            self.places.insert(*moved, place as u32);
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
