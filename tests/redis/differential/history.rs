//! Random histories of several counters, singly and in stacks.

use std::collections::HashMap;
use std::time::Duration;

use rate_limit::{Key, Verdict};

use super::counter::{Counter, TICK};
use super::pair::{Pair, Recorded};
use crate::support::{Random, RedisServer};

/// An admitted call that may still be settled.
struct Call {
    recorded: Vec<Recorded>,
    /// How often the clock had stepped back, and each counter had been idle.
    steps_back: u32,
    idle_times: HashMap<Key, u32>,
}

#[derive(Default, Debug)]
pub(super) struct Told {
    pub(super) admitted: u32,
    pub(super) refused: u32,
    pub(super) impossible: u32,
    /// Calls that a rule after the first decided.
    pub(super) by_a_later: u32,
    /// Hits that were left out since their rule only observes.
    pub(super) observed: u32,
    pub(super) resets: u32,
    pub(super) refunds: u32,
    pub(super) clears: u32,
    pub(super) steps_back: u32,
    /// Counters that had something to lose when the clock stepped back.
    pub(super) stepped_back: u32,
}

pub(super) struct History {
    pair: Pair,
    counters: Vec<Counter>,
    stacks: bool,
    /// Whether a hit counts by its time alone, and the clock may go on by anything, or nothing.
    any_time: bool,
    calls: Vec<Call>,
    random: Random,
    pub(super) told: Told,
}

impl History {
    pub(super) async fn over(server: &RedisServer, seed: u64, counters: Vec<Counter>, stacks: bool) -> Self {
        Self {
            pair: Pair::over(server).await,
            stacks,
            any_time: !counters.iter().any(Counter::is_log),
            counters,
            calls: Vec::new(),
            random: Random(seed),
            told: Told::default(),
        }
    }

    pub(super) async fn step(&mut self, step: &str) {
        self.look_for_idle().await;
        match self.random.below(100) {
            0..60 => self.acquire(step).await,
            60..70 => self.peek(step).await,
            70..80 => self.settle(true).await,
            80..92 => self.settle(false).await,
            92..96 if self.any_time => self.go_to_an_edge().await,
            92..96 => self.settle(false).await,
            96 => {
                let which = self.random.below(self.counters.len() as u64) as usize;
                self.pair.clear(&mut self.counters[which]).await;
                self.told.clears += 1;
            }
            97 => self.step_back(step).await,
            98 => self.pair.clock.advance(TICK * self.random.below(40) as u32),
            _ => self.pair.clock.advance(TICK * 400),
        }
        // Whatever happened, the counters must be as one.
        let which = self.random.below(self.counters.len() as u64) as usize;
        self.pair.peek(step, self.counters[which].look()).await;
        let on = if self.any_time {
            let short = Duration::from_micros(1_234_567);
            self.random
                .one_of(&[Duration::ZERO, Duration::from_micros(1), short, TICK, TICK, TICK * 2])
        } else {
            TICK
        };
        self.pair.clock.advance(on);
    }

    /// To the moment at which a counter is whole, or just before it.
    async fn go_to_an_edge(&mut self) {
        let which = self.random.below(self.counters.len() as u64) as usize;
        let whole_in = self.pair.whole_in(&self.counters[which]).await;
        let on = whole_in.saturating_sub(self.random.below(2));
        self.pair.clock.advance(Duration::from_micros(on));
    }

    async fn acquire(&mut self, step: &str) {
        let width = if self.stacks {
            2 + self.random.below(3) as usize
        } else {
            1
        };
        let mut chosen: Vec<usize> = Vec::new();
        while chosen.len() < width.min(self.counters.len()) {
            let which = self.random.below(self.counters.len() as u64) as usize;
            if !chosen.contains(&which) {
                chosen.push(which);
            }
        }
        let now = self.pair.clock.now();
        let mut charges = Vec::new();
        for which in &chosen {
            let mut charge = self.counters[*which].charge(&mut self.random, now);
            charge.observe = self.random.one_in(if self.stacks { 4 } else { 50 });
            if self.stacks {
                // One that can never be would hide the others.
                charge.cost = charge.cost.min(charge.policy.count());
            }
            if self.random.one_in(60) {
                charge.cost += charge.policy.count();
            }
            charges.push(charge);
        }
        let (verdict, recorded) = self.pair.acquire(step, &charges).await;
        for (which, charge) in chosen.iter().zip(&charges) {
            let counter = &mut self.counters[*which];
            if charge.cost <= charge.policy.count() {
                counter.last = charge.policy;
            }
            let hit = recorded.iter().any(|of| of.charge.key == charge.key && charge.cost > 0);
            counter.trimmed = hit || (counter.trimmed && !matches!(verdict, Verdict::Allowed { .. }));
        }
        self.tell(&verdict);
        if matches!(verdict, Verdict::Allowed { .. }) {
            self.told.observed += (charges.len() - recorded.len()) as u32;
            let idle_times = self.counters.iter().map(|counter| (counter.key, counter.idle_times));
            self.calls.push(Call {
                recorded,
                steps_back: self.told.steps_back,
                idle_times: idle_times.collect(),
            });
        }
    }

    fn tell(&mut self, verdict: &Verdict) {
        let (count, place) = match verdict {
            Verdict::Allowed { tightest, .. } => (&mut self.told.admitted, *tightest),
            Verdict::Denied { longest, .. } => (&mut self.told.refused, *longest),
            Verdict::Impossible { which } => (&mut self.told.impossible, *which),
            other => panic!("an answer of no known kind: {other:?}"),
        };
        *count += 1;
        self.told.by_a_later += u32::from(place > 0);
    }

    async fn peek(&mut self, step: &str) {
        let which = self.random.below(self.counters.len() as u64) as usize;
        let mut charge = self.counters[which].charge(&mut self.random, self.pair.clock.now());
        charge.observe = self.random.one_in(8);
        self.pair.peek(step, charge).await;
    }

    /// Settles one of the last few calls as a whole, or a hit of it: what is older has mostly nothing left.
    async fn settle(&mut self, refund: bool) {
        let recent = self.calls.len().min(16) as u64;
        if recent == 0 {
            return;
        }
        let at = self.calls.len() - 1 - self.random.below(recent) as usize;
        let mut call = self.calls.remove(at);
        if !self.names_the_same(&call) {
            return;
        }
        let keep = self.random.below(4) as usize;
        if keep < call.recorded.len() {
            let rest = call.recorded.split_off(keep);
            call.recorded = vec![rest[0]];
        }
        if refund {
            self.pair.refund(&call.recorded).await;
            self.told.refunds += 1;
        } else if self.random.one_in(3) {
            self.pair.reset(&call.recorded).await;
            self.told.resets += 1;
        }
    }

    /// Ids begin anew in a counter that was forgotten. If the clock stepped back as well, an old one may name a new hit, and in
    /// one store only.
    fn names_the_same(&self, call: &Call) -> bool {
        call.steps_back == self.told.steps_back
            || self
                .counters
                .iter()
                .all(|counter| call.idle_times.get(&counter.key) == Some(&counter.idle_times))
    }

    async fn look_for_idle(&mut self) {
        for counter in &mut self.counters {
            if self.pair.whole_in(counter).await == 0 {
                counter.idle_times += 1;
                counter.stale = true;
                if counter.changes_windows() {
                    self.pair.clear(counter).await;
                }
            }
        }
    }

    /// What is past and forgotten in one store alone, a clock that steps back would make count again: that is cleared first.
    async fn step_back(&mut self, step: &str) {
        for counter in &mut self.counters {
            let idle = self.pair.whole_in(counter).await == 0;
            if idle || (counter.stale && counter.blocks()) || (counter.is_log() && !counter.trimmed) {
                self.pair.clear(counter).await;
            } else {
                self.told.stepped_back += 1;
            }
        }
        let back = self.random.one_of(&[1, 3, 10, 50, 400, 2_000]);
        self.pair.clock.step_back(TICK * back);
        self.told.steps_back += 1;
        for counter in &mut self.counters {
            self.pair.peek(step, counter.look()).await;
            if counter.is_log() {
                // Brings what is ahead back to now in both. A hit at this very time would be one microsecond apart from it
                // in Redis alone.
                self.pair.acquire(step, &[counter.look()]).await;
                counter.trimmed = false;
            }
        }
    }
}
