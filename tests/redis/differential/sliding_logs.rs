//! Histories of one sliding log, as list and as ring.

use std::time::Duration;

use rate_limit::{Decision, Limiter, ManualClock, MemoryStore, Permit, Policy, Rejection, RejectionKind, Rule};

use crate::common::{key, ms, turned_by};
use crate::support::{Random, RedisServer};

const STEPS: usize = 3_000;
/// Long, so that no key goes by the real clock before it does by that of the test. And coarse: Redis lets entries be up
/// to a millisecond ahead of the clock before it takes it to have stepped back.
const TICK: Duration = ms(1_000);

/// A verdict without the id of the hit.
type Answer = Result<Option<Decision>, (RejectionKind, Option<Decision>)>;

fn answer(verdict: &Result<Permit, Rejection>) -> Answer {
    match verdict {
        Ok(permit) => Ok(permit.decision().copied()),
        Err(refusal) => Err((refusal.kind(), refusal.decision().copied())),
    }
}

struct Pair {
    redis: Limiter,
    memory: Limiter,
    /// Hits that may still be settled, in both.
    permits: Vec<(Permit, Permit)>,
    refused: usize,
    /// Whether both have dropped the same entries, those that have left the window. What is only past, a clock
    /// that steps back makes count again.
    swept: bool,
    /// Whether a call of weight 1 that is admitted leaves some of it in Redis, as it does in a list that is not short.
    keeps_some: bool,
}

impl Pair {
    async fn acquire(&mut self, step: &str, rule: Rule, cost: u32) {
        let rule = rule.cost(cost);
        let (redis, memory) = (self.redis.check(rule).await, self.memory.check(rule).await);
        assert_eq!(answer(&redis), answer(&memory), "{step}: {rule:?}");
        match (redis, memory) {
            (Ok(redis), Ok(memory)) => {
                self.permits.push((redis, memory));
                self.swept = cost != 1 || !self.keeps_some;
            }
            (Err(refusal), _) => {
                self.refused += 1;
                // The memory may give up a counter that has run out at any call; Redis at the next hit.
                self.swept &= refusal.is_limited();
            }
            (Ok(_), Err(_)) => unreachable!("the answers are equal"),
        }
    }

    async fn peek(&self, step: &str, policy: Policy, key: rate_limit::Key) {
        let redis = self
            .redis
            .peek(Rule::new(policy, key))
            .await
            .expect("the store answers");
        let memory = self
            .memory
            .peek(Rule::new(policy, key))
            .await
            .expect("the store answers");
        assert_eq!(redis, memory, "{step}: {policy:?}");
    }

    async fn reset(&mut self, random: &mut Random) {
        // One of the last few, mostly: older ones have nothing left to forget.
        let recent = self.permits.len().min(12) as u64;
        if recent > 0 {
            let at = self.permits.len() - 1 - random.below(recent) as usize;
            let (redis, memory) = self.permits.remove(at);
            redis.reset().await.expect("the store answers");
            memory.reset().await.expect("the store answers");
        }
    }
}

/// One history. A call takes any of the counts, so that lists become rings and rings lists.
async fn same_answers(seed: u64, counts: &[u32]) {
    let server = RedisServer::start();
    let clock = ManualClock::new();
    let memory = MemoryStore::builder().clock(&clock).build();
    let mut pair = Pair {
        redis: turned_by(&clock, &server).await,
        memory: Limiter::builder()
            .store(memory)
            .build()
            .expect("nothing is wrong with it"),
        permits: Vec::new(),
        refused: 0,
        swept: true,
        keeps_some: counts.iter().any(|count| *count > 16),
    };
    let mut random = Random(seed);
    // In ticks: calls fill the limit in about half of it.
    let window = counts.iter().max().map_or(0, |count| u64::from(*count)).max(8);
    let (mut resets, mut steps_back) = (0, 0);
    let key = key("a");
    for step in 0..STEPS {
        let policy = Policy::sliding_window(random.one_of(counts), TICK * window as u32);
        let step = format!("seed {seed}, step {step}");
        match random.below(200) {
            0..20 => pair.peek(&step, policy, key).await,
            20..22 => {
                pair.reset(&mut random).await;
                resets += 1;
            }
            22..24 if pair.swept => {
                clock.step_back(TICK * random.below(2 * window) as u32);
                steps_back += 1;
                pair.peek(&step, policy, key).await;
                // Weighs nothing, and brings what is ahead back to now in both. A hit at this very time would
                // be one microsecond apart from it in Redis alone.
                pair.acquire(&step, Rule::new(policy, key), 0).await;
                // That has swept what is past out of the memory alone.
                pair.swept = false;
            }
            24..26 => clock.advance(TICK * random.below(window + 2) as u32),
            _ => {
                let cost = random.one_of(&[1, 1, 1, 2, 2, 3]);
                pair.acquire(&step, Rule::new(policy, key), cost).await;
                pair.peek(&step, policy, key).await;
            }
        }
        clock.advance(TICK);
    }
    // A history in which nothing happens shows nothing.
    let (admitted, refused) = (pair.permits.len() + resets, pair.refused);
    println!("seed {seed}: {admitted} admitted, {refused} refused, {resets} resets, {steps_back} steps back");
    assert!(admitted > 300 && refused > 100 && resets > 10 && steps_back >= 5);
}

macro_rules! histories {
    ($($name:ident: $seed:literal, $counts:expr;)*) => {$(
        #[tokio::test]
        async fn $name() {
            same_answers($seed, &$counts).await;
        }
    )*};
}

histories! {
    alg_13_histories_of_a_count_of_1_are_one: 1, [1];
    alg_13_histories_of_a_count_of_5_are_one: 2, [5];
    alg_13_histories_of_a_count_of_128_are_one: 3, [128];
    alg_13_histories_of_a_count_of_129_are_one: 4, [129];
    alg_13_histories_of_a_count_of_300_are_one: 5, [300];
    alg_13_histories_of_small_counts_that_change_are_one: 6, [1, 2, 5, 7];
    alg_13_histories_of_counts_about_the_ring_are_one: 7, [127, 128, 129, 130];
    alg_13_histories_of_all_counts_are_one: 8, [1, 5, 128, 129, 300];
}
