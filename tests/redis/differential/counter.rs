//! The counters of a history, and what is asked of them.

use std::time::Duration;

use rate_limit::{Algorithm, Charge, Client, Key, Method, Policy};

use crate::support::Random;

/// Long, so that no key goes by the real clock before it does by that of the test.
pub(super) const TICK: Duration = Duration::from_secs(5);

/// One counter of each store.
pub(super) struct Counter {
    pub(super) key: Key,
    /// Those that it may be asked by, all of one algorithm. The first is the usual one.
    policies: Vec<Policy>,
    /// Whether its events come with their time.
    timed: bool,
    /// The policy that last decided.
    pub(super) last: Policy,
    /// How often it was seen with nothing to lose: the memory may have forgotten it then, and Redis, whose expiry goes by
    /// the real clock, has not.
    pub(super) idle_times: u32,
    /// Whether that was so since it was last cleared.
    pub(super) stale: bool,
    /// Whether the last call left out what had left the window, in both.
    pub(super) trimmed: bool,
}

impl Counter {
    pub(super) fn new(name: &str, policies: Vec<Policy>, timed: bool) -> Self {
        let client = Client::of(name).expect("it names somebody");
        Self {
            key: Key::new(Method::named("history"), client),
            last: policies[0],
            policies,
            timed,
            idle_times: 0,
            stale: false,
            trimmed: true,
        }
    }

    pub(super) fn is_log(&self) -> bool {
        self.last.algorithm() == Algorithm::SlidingWindow
    }

    pub(super) fn blocks(&self) -> bool {
        self.policies
            .iter()
            .any(|policy| policy.to_string().contains("blocked"))
    }

    /// Whether what is past would count again under another policy of it.
    pub(super) fn changes_windows(&self) -> bool {
        self.last.algorithm() != Algorithm::TokenBucket
            && self.policies.iter().any(|policy| policy.window() != self.last.window())
    }

    pub(super) fn charge(&self, random: &mut Random, now: u64) -> Charge {
        let policy = match random.below(8) {
            0 => random.one_of(&self.policies),
            1..4 => self.policies[0],
            _ => self.last,
        };
        let mut charge = Charge::new(self.key, policy, random.one_of(&[0, 1, 1, 1, 1, 2, 2, 3, 4]));
        if self.timed {
            let tick = TICK.as_micros() as u64;
            charge.at = Some(match random.below(8) {
                0..3 => now,
                3..6 => now - random.below(40) * tick,
                6 => now - random.below(16 * 3_600_000_000),
                _ => now + random.one_of(&[1, 3 * tick, 3_600_000_000, u64::MAX - now]),
            });
        }
        charge
    }

    /// Asks how it stands, as it was last asked.
    pub(super) fn look(&self) -> Charge {
        Charge::new(self.key, self.last, 0)
    }
}

fn micros(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

/// Refills up to 33 s: a product of two stays exact in a Lua number, and so does its quotient.
pub(super) fn buckets() -> Vec<Counter> {
    let plain = Policy::token_bucket(5, TICK * 4);
    let changing = vec![
        Policy::token_bucket(5, TICK * 3),
        Policy::token_bucket(5, TICK * 6),
        Policy::token_bucket(3, TICK * 3),
        Policy::token_bucket(8, micros(12_345_679)),
        Policy::token_bucket(2, micros(29_999_999)),
    ];
    let timed = vec![
        Policy::token_bucket(6, TICK * 5),
        Policy::token_bucket(4, micros(17_000_003)),
    ];
    let block = vec![
        Policy::token_bucket(4, TICK * 3).block(TICK * 7),
        Policy::token_bucket(4, TICK * 3).block(TICK * 3),
        Policy::token_bucket(4, TICK * 3),
    ];
    vec![
        Counter::new("bucket", vec![plain], false),
        Counter::new("changing bucket", changing, false),
        Counter::new("bucket with times", timed, true),
        Counter::new("bucket that blocks", block, false),
    ]
}

pub(super) fn fixed_windows() -> Vec<Counter> {
    let changing = vec![
        Policy::fixed_window(5, TICK * 20),
        Policy::fixed_window(3, TICK * 20),
        Policy::fixed_window(6, TICK * 33),
        Policy::fixed_window(4, micros(41_234_567)),
    ];
    let block = vec![
        Policy::fixed_window(4, TICK * 12).block(TICK * 9),
        Policy::fixed_window(4, TICK * 12).block(TICK * 30),
        Policy::fixed_window(4, TICK * 12),
    ];
    vec![
        Counter::new("window", vec![Policy::fixed_window(5, TICK * 16)], false),
        Counter::new("changing window", changing, false),
        Counter::new("window that blocks", block, false),
    ]
}

pub(super) fn logs() -> Vec<Counter> {
    let changing = vec![
        Policy::sliding_window(5, TICK * 20),
        Policy::sliding_window(3, TICK * 20),
        Policy::sliding_window(200, TICK * 12),
        Policy::sliding_window(7, TICK * 31),
    ];
    let block = vec![
        Policy::sliding_window(4, TICK * 12).block(TICK * 9),
        Policy::sliding_window(4, TICK * 12).block(TICK * 21),
        Policy::sliding_window(4, TICK * 12),
        Policy::sliding_window(200, TICK * 12).block(TICK * 9),
    ];
    vec![
        Counter::new("log", vec![Policy::sliding_window(5, TICK * 16)], false),
        Counter::new("changing log", changing, false),
        Counter::new("log that blocks", block, false),
        Counter::new("long log", vec![Policy::sliding_window(130, TICK * 260)], false),
    ]
}
