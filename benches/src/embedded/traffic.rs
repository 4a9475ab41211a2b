//! Who calls, how often, and what becomes of it.

use std::fmt;

use rand::distr::Distribution;
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};
use rand_distr::Zipf;

/// Of whom the calls are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clients {
    /// One at a time: the next comes when he has made as many calls as are admitted.
    One,
    /// Many, each as often as any other.
    Uniform,
    /// Many, the second half as often as the first, the third a third as often.
    Zipf,
}

/// What becomes of the calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Admitted,
    Refused,
    /// Every other call is of a client who has spent his limit.
    Mixed,
}

/// A sequence of calls under a limit.
pub struct Traffic {
    pub limit: u32,
    pub calls: Vec<u128>,
    of: Clients,
    outcome: Outcome,
    /// Those below have spent their limit, the others have made one call.
    spent: u128,
    clients: u128,
}

impl Traffic {
    pub fn new(of: Clients, limit: u32, outcome: Outcome, calls: usize) -> Self {
        // 100,000 logs of 10,000 entries would take 8 GB.
        let many = if limit > 1_000 && outcome != Outcome::Admitted {
            1_000
        } else {
            100_000
        };
        let many = many.min(calls as u128);
        let spent = match (of, outcome) {
            (_, Outcome::Admitted) => 0,
            (Clients::One, _) => 1,
            (_, Outcome::Refused) => many,
            (_, Outcome::Mixed) => many / 2,
        };
        let mut spending = Draw::new(of, spent.max(1), None);
        let mut saving = Draw::new(of, many - if of == Clients::One { 0 } else { spent }, Some(limit - 1));
        let calls: Vec<u128> = (0..calls)
            .map(|call| match outcome {
                Outcome::Refused => spending.next(),
                Outcome::Mixed if call % 2 == 0 => spending.next(),
                _ => spent + saving.next(),
            })
            .collect();
        let clients = calls.iter().max().map_or(0, |last| last + 1);
        Self {
            limit,
            calls,
            of,
            outcome,
            spent,
            clients,
        }
    }

    pub fn clients(&self) -> usize {
        self.clients as usize
    }

    /// The calls that are made before: by all, so that nobody is new.
    pub fn prepare(&self, spend: impl Fn(u128, u32)) {
        for client in 0..self.clients {
            spend(client, if client < self.spent { self.limit } else { 1 });
        }
    }

    /// The calls of each of some threads.
    pub fn split(&self, threads: usize) -> Vec<Vec<u128>> {
        let of = |thread| self.calls.iter().skip(thread).step_by(threads).copied().collect();
        (0..threads).map(of).collect()
    }

    /// # Panics
    ///
    /// If other calls were admitted than are meant to be: a comparison would compare nothing. A bucket may have gained a few tokens.
    pub fn check(&self, admitted: usize, by: &str) {
        let meant = self.calls.iter().filter(|client| **client >= self.spent).count();
        assert!(
            admitted.abs_diff(meant) <= self.calls.len() / 50,
            "{by} admitted {admitted} calls where {meant} of {} are meant to be: {self}",
            self.calls.len()
        );
    }
}

impl fmt::Display for Traffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outcome = match self.outcome {
            Outcome::Admitted => "admitted",
            Outcome::Refused => "refused",
            Outcome::Mixed => "mixed",
        };
        let clients = match self.of {
            Clients::One => "one client at a time".to_owned(),
            Clients::Uniform => format!("{} clients", self.clients),
            Clients::Zipf => format!("{} clients by Zipf", self.clients),
        };
        write!(f, "{clients}, limit {}, {outcome}", self.limit)
    }
}

/// Draws clients.
struct Draw {
    of: Clients,
    many: u128,
    /// How many calls each makes.
    most: Option<u32>,
    made: Vec<u32>,
    random: SmallRng,
    one: u128,
}

impl Draw {
    fn new(of: Clients, many: u128, most: Option<u32>) -> Self {
        Self {
            of,
            many,
            most,
            made: Vec::new(),
            random: SmallRng::seed_from_u64(7),
            one: 0,
        }
    }

    fn next(&mut self) -> u128 {
        loop {
            let client = match self.of {
                Clients::One => self.one,
                Clients::Uniform => self.random.random_range(0..self.many),
                Clients::Zipf => {
                    let zipf = Zipf::new(self.many as f64, 1.0).expect("the numbers are in range");
                    // The rank, from 1.
                    zipf.sample(&mut self.random) as u128 - 1
                }
            };
            let Some(most) = self.most else { return client };
            let place = client as usize;
            if self.made.len() <= place {
                self.made.resize(place + 1, 0);
            }
            if self.made[place] < most {
                self.made[place] += 1;
                return client;
            }
            self.one += 1;
        }
    }
}
