//! Histories of rules by limiters: stacks of all algorithms on a few keys, settled by their permits.

use std::time::{Duration, UNIX_EPOCH};

use rate_limit::{Decision, Key, Limiter, ManualClock, MemoryStore, Permit, Policy, Rejection, RejectionKind, Rule};

use crate::common::{key, turned_by};
use crate::support::{Random, RedisServer};

const STEPS: usize = 10_000;
const TICK: Duration = Duration::from_secs(5);

type Answer = Result<Option<Decision>, (RejectionKind, Option<Decision>)>;

fn answer(verdict: &Result<Permit, Rejection>) -> Answer {
    match verdict {
        Ok(permit) => Ok(permit.decision().copied()),
        Err(refusal) => Err((refusal.kind(), refusal.decision().copied())),
    }
}

/// The rules of one function: their places tell two of one algorithm apart. Which one decided is told by its policy.
fn rules(random: &mut Random, key: Key, clock: &ManualClock) -> Vec<Rule> {
    let policies = [
        Policy::sliding_window(4, TICK * 15),
        Policy::token_bucket(5, TICK * 4),
        Policy::fixed_window(6, TICK * 18).block(TICK * 6),
        Policy::sliding_window(9, TICK * 60),
        Policy::token_bucket(3, TICK * 5).block(TICK * 5),
    ];
    let mut rules = Vec::new();
    for (place, policy) in policies.into_iter().enumerate() {
        if random.one_in(2) && rules.len() < 4 {
            let rule = Rule::new(policy, key)
                .place(place as u8)
                .cost(random.one_of(&[0, 1, 1, 1, 2, 3]));
            let rule = if random.one_in(4) { rule.observe() } else { rule };
            // Only a bucket asks for it; here the one that always has it.
            let late = TICK * random.below(20) as u32;
            let now = UNIX_EPOCH + Duration::from_micros(clock.now());
            rules.push(if place == 1 { rule.at(now - late) } else { rule });
        }
    }
    rules
}

#[tokio::test]
async fn alg_13_histories_of_rules_are_one() {
    let server = RedisServer::start();
    let clock = ManualClock::new();
    let redis = turned_by(&clock, &server).await;
    let memory = MemoryStore::builder().clock(&clock).build();
    let memory = Limiter::builder()
        .store(memory)
        .build()
        .expect("nothing is wrong with it");
    let keys = ["a", "b", "c"].map(key);
    let mut random = Random(7);
    let mut permits: Vec<(Permit, Permit)> = Vec::new();
    let (mut admitted, mut refused, mut settled) = (0, 0, 0);
    for step in 0..STEPS {
        let key = random.one_of(&keys);
        match random.below(20) {
            0..16 => {
                let rules = rules(&mut random, key, &clock);
                let answers = (redis.check_all(&rules).await, memory.check_all(&rules).await);
                assert_eq!(answer(&answers.0), answer(&answers.1), "step {step}: {rules:?}");
                match answers {
                    (Ok(redis), Ok(memory)) => {
                        admitted += 1;
                        permits.push((redis, memory));
                    }
                    _ => refused += 1,
                }
                if let Some(rule) = rules.first() {
                    let peeked = (redis.peek(*rule).await, memory.peek(*rule).await);
                    let peeked = (peeked.0.expect("it answers"), peeked.1.expect("it answers"));
                    assert_eq!(peeked.0, peeked.1, "step {step}: {rule:?}");
                }
            }
            16..19 if !permits.is_empty() => {
                let recent = permits.len().min(12) as u64;
                let (redis, memory) = permits.remove(permits.len() - 1 - random.below(recent) as usize);
                if random.one_in(3) {
                    redis.reset().await.expect("it answers");
                    memory.reset().await.expect("it answers");
                } else {
                    redis.refund().await.expect("it answers");
                    memory.refund().await.expect("it answers");
                }
                settled += 1;
            }
            _ if random.one_in(4) => {
                redis.reset(key).await.expect("it answers");
                memory.reset(key).await.expect("it answers");
            }
            _ => clock.advance(TICK * random.below(30) as u32),
        }
        clock.advance(TICK / 2);
    }
    println!("{admitted} admitted, {refused} refused, {settled} settled");
    assert!(admitted > 2_000 && refused > 1_000 && settled > 500);
}
