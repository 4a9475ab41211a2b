//! Counters that three and five policies judge, with windows, counts and refills far apart, in memory and in Redis.

use std::time::{Duration, UNIX_EPOCH};

use rate_limit::{Limiter, ManualClock, MemoryStore, Policy, RedisStore, Rule, Store, contract};
use rstest::rstest;

use crate::common::{PATIENT, admits, both_turned_by, key, turned_by};
use crate::probe::Probe;
use crate::support::RedisServer;

fn windows(policies: &[(u32, u64)]) -> Vec<Policy> {
    let window = |&(count, seconds)| Policy::sliding_window(count, Duration::from_secs(seconds));
    policies.iter().map(window).collect()
}

fn fixed(policies: &[(u32, u64)]) -> Vec<Policy> {
    let window = |&(count, seconds)| Policy::fixed_window(count, Duration::from_secs(seconds));
    policies.iter().map(window).collect()
}

/// Refills in microseconds.
fn buckets(policies: &[(u32, u64)]) -> Vec<Policy> {
    let bucket = |&(capacity, micros)| Policy::token_bucket(capacity, Duration::from_micros(micros));
    policies.iter().map(bucket).collect()
}

#[rstest]
#[case::a_ring_and_a_list(windows(&[(200, 3_600), (100, 60)]))]
#[case::a_ring_a_list_of_its_window_and_a_shorter_one(windows(&[(200, 3_600), (20, 3_600), (100, 60)]))]
#[case::about_the_ring(windows(&[(128, 900), (129, 600), (127, 1_200), (130, 300), (3, 7_200)]))]
#[case::five_windows(windows(&[(5, 60), (20, 600), (9, 700), (50, 6_000), (300, 90_000)]))]
#[case::a_second_beside_a_century(windows(&[(3, 1), (400, 3_153_600_000)]))]
#[case::three_fixed(fixed(&[(12, 60), (15, 700), (60, 6_000)]))]
#[case::four_fixed(fixed(&[(12, 60), (20, 600), (15, 700), (60, 6_000)]))]
#[case::three_buckets(buckets(&[(10, 360_000_000), (100, 1_000_000), (9, 1_200_000_000)]))]
#[case::five_buckets(buckets(&[(10, 7_000_001), (1_000, 13_000_000), (60, 5_000_000_000), (3, 999_999_937_000), (17, 1_000_003)]))]
#[case::millions_beside_one_in_a_century(buckets(&[(10_000_000, 1_000_000), (1, 3_153_600_000_000_000)]))]
#[case::many_an_hour_beside_one_a_day(buckets(&[(100_000, 36_000), (1, 86_400_000_000)]))]
#[tokio::test]
async fn f_01_several_policies_admit_no_more_than_the_largest(#[case] policies: Vec<Policy>) {
    let server = RedisServer::start();
    let clock = ManualClock::new();
    // So that times have as many digits as today's.
    clock.advance(Duration::from_secs(1_753_000_000));
    let redis = RedisStore::builder(&server.url()).clock(&clock).deadline(PATIENT);
    let stores: [Box<dyn Store>; 2] = [
        Box::new(MemoryStore::builder().clock(&clock).build()),
        Box::new(redis.connect().await.expect("the server takes us")),
    ];
    for store in &stores {
        for seed in 1..=4 {
            let told = contract::check_policies(&**store, &clock, &policies, seed, 1_500).await;
            assert!(told.admitted > 20 && told.refused > 20, "{store:?}: {told:?}");
        }
    }
}

/// A key, a clock, and both stores by it.
struct Both {
    clock: ManualClock,
    stores: [Limiter; 2],
    _server: RedisServer,
}

impl Both {
    async fn new() -> Self {
        let (server, clock) = (RedisServer::start(), ManualClock::new());
        clock.advance(Duration::from_secs(1_753_000_000));
        Self {
            stores: both_turned_by(&clock, &server).await,
            clock,
            _server: server,
        }
    }

    /// Whether a call is admitted, by both alike.
    async fn admits(&self, policy: Policy, cost: u32) -> bool {
        let rule = Rule::new(policy, key("a")).cost(cost);
        let [redis, memory] = [&self.stores[0], &self.stores[1]];
        let answers = [admits(redis, rule).await, admits(memory, rule).await];
        assert_eq!(answers[0], answers[1], "Redis, then memory: {policy} at {cost}");
        answers[0]
    }
}

/// What a list has no room for is kept once a policy was asked that counts it, though it refused.
#[tokio::test]
async fn f_01_a_list_becomes_a_ring_at_a_refusal_that_counts_more() {
    let both = Both::new().await;
    let [day, minute] = [(200, 86_400), (100, 60)].map(|policy| windows(&[policy])[0]);
    assert!(both.admits(minute, 60).await);
    assert!(!both.admits(day, 150).await);
    for _ in 0..3 {
        both.clock.advance(Duration::from_secs(60));
        assert!(both.admits(minute, 100).await);
    }
    assert!(!both.admits(day, 1).await, "360 of 200");
}

/// A smaller count of the same window makes no room for less than the largest asks for.
#[tokio::test]
async fn f_01_a_ring_is_kept_while_its_log_counts() {
    let both = Both::new().await;
    let [day, small, minute] = [(200, 86_400), (20, 86_400), (100, 60)].map(|policy| windows(&[policy])[0]);
    assert!(both.admits(day, 1).await);
    assert!(both.admits(small, 1).await);
    for _ in 0..3 {
        both.clock.advance(Duration::from_secs(61));
        assert!(both.admits(minute, 100).await);
    }
    assert!(!both.admits(day, 1).await, "302 of 200");
}

/// What is missing at the time of a late event is as many tokens under a slower refill.
#[tokio::test]
async fn f_01_late_events_gain_nothing_from_a_slower_refill() {
    let both = Both::new().await;
    let policies = buckets(&[(100, 1_000_000), (100, 2_000_000)]);
    let event = UNIX_EPOCH + Duration::from_micros(both.clock.now()) - Duration::from_secs(86_000);
    for limiter in &both.stores {
        let rule = |policy, seconds| Rule::new(policy, key("a")).at(event + Duration::from_secs(seconds));
        assert!(admits(limiter, rule(policies[0], 0).cost(100)).await);
        let mut admitted = 100;
        for call in 0..200 {
            admitted += u32::from(admits(limiter, rule(policies[(call + 1) % 2], 10)).await);
        }
        assert_eq!(admitted, 110, "{limiter:?}: ten come back in ten seconds");
    }
}

/// A value of the version before does not tell when it changed. A smaller capacity waits for it no longer than it was told.
#[tokio::test]
async fn f_01_a_bucket_of_the_version_before_keeps_a_wait_that_was_told() {
    let server = RedisServer::start();
    let (probe, clock) = (Probe::of(&server).await, ManualClock::new());
    clock.advance(Duration::from_secs(1_753_000_000));
    let limiter = turned_by(&clock, &server).await;
    let [larger, smaller] = [10, 3].map(|capacity| Policy::token_bucket(capacity, Duration::from_secs(50)));
    assert!(admits(&limiter, Rule::new(larger, key("a")).cost(10)).await);
    let counter = probe.key().await;
    let value = probe.value(&counter).await;
    for tag in [b"B", b"E"] {
        probe.set(&counter, &[tag, &value[1..22]].concat()).await;
        let refused = limiter.check(Rule::new(smaller, key("a"))).await;
        let wait = refused.expect_err("three are missing").retry_after();
        assert_eq!(wait, Some(Duration::from_secs(50)));
        clock.advance(Duration::from_secs(50));
        assert!(admits(&limiter, Rule::new(smaller, key("a"))).await, "the wait is over");
    }
}
