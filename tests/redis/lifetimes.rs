//! Buckets, fixed windows and blocks go by themselves: when they are over, and not before.

use std::ops::RangeInclusive;
use std::time::{Duration, UNIX_EPOCH};

use rate_limit::{Algorithm, Limiter, ManualClock, Permit, Policy, Rule};

use crate::common::{key, ms, turned_by, wait};
use crate::expiry::assert_all_expire;
use crate::probe::Probe;
use crate::support::RedisServer;

const DAY: Duration = Duration::from_secs(86_400);

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn bucket(capacity: u32, refill: Duration) -> Rule {
    Rule::new(Policy::token_bucket(capacity, refill), key("a"))
}

fn window(count: u32, window: Duration) -> Rule {
    Rule::new(Policy::fixed_window(count, window), key("a"))
}

pub(crate) struct Bench {
    pub(crate) probe: Probe,
    pub(crate) clock: ManualClock,
    pub(crate) limiter: Limiter,
    _server: RedisServer,
}

impl Bench {
    pub(crate) async fn new() -> Self {
        let server = RedisServer::start();
        let clock = ManualClock::new();
        Self {
            probe: Probe::of(&server).await,
            limiter: turned_by(&clock, &server).await,
            clock,
            _server: server,
        }
    }

    async fn now(&self) -> u64 {
        self.probe.time().await / 1_000
    }

    /// The milliseconds that a key was given since `before`: as exactly as the time of the server can be had from outside.
    async fn given(&self, key: &str, before: u64) -> RangeInclusive<u64> {
        let expiry: i64 = self.probe.ask(&format!("PEXPIRETIME {key}")).await;
        let expiry = u64::try_from(expiry).expect("it is there, and goes");
        expiry.saturating_sub(self.now().await)..=expiry - before
    }

    /// Charges, and tells what the one key was given.
    async fn charge(&self, rule: Rule) -> (Permit, RangeInclusive<u64>) {
        let before = self.now().await;
        let permit = self.limiter.check(rule).await.expect("it fits");
        (permit, self.given(&self.probe.key().await, before).await)
    }
}

fn assert_given(given: &RangeInclusive<u64>, ms: u64) {
    assert!(given.contains(&ms), "{ms} ms, not {given:?}");
}

#[tokio::test]
async fn red_04_a_bucket_lives_until_it_is_full() {
    let bench = Bench::new().await;
    let rule = bucket(5, seconds(10));
    let (first, given) = bench.charge(rule.cost(2)).await;
    assert_given(&given, 20_001);
    bench.clock.advance(seconds(5));
    let (second, given) = bench.charge(rule).await;
    assert_given(&given, 25_001);

    let key = bench.probe.key().await;
    let before = bench.now().await;
    first.refund().await.expect("the store answers");
    // 5 s of its 20 had come back by themselves.
    assert_given(&bench.given(&key, before).await, 10_001);
    second.refund().await.expect("the store answers");
    assert_gone(&bench, &key).await;

    bench
        .limiter
        .reset(crate::common::key("a"))
        .await
        .expect("the store answers");
    let (all, given) = bench.charge(rule.cost(5)).await;
    assert_given(&given, 50_001);
    all.reset().await.expect("the store answers");
    assert_gone(&bench, &key).await;
}

/// A full bucket is kept for the one millisecond that is the least.
async fn assert_gone(bench: &Bench, key: &str) {
    let left: i64 = bench.probe.ask(&format!("PTTL {key}")).await;
    assert!(left == -2 || left == 0 || left == 1, "PTTL {left}");
}

#[tokio::test]
async fn red_04_a_bucket_whose_events_have_a_time_lives_a_day_longer() {
    let bench = Bench::new().await;
    let now = UNIX_EPOCH + Duration::from_micros(bench.clock.now());
    let rule = bucket(5, seconds(10));
    let (_, given) = bench.charge(rule.at(now - seconds(3_600))).await;
    assert_given(&given, 1 + 86_400_000);
    let (_, given) = bench.charge(rule.at(now)).await;
    assert_given(&given, 10_001 + 86_400_000);
    let (permit, given) = bench.charge(rule).await;
    assert_given(&given, 20_001 + 86_400_000);

    let key = bench.probe.key().await;
    let before = bench.now().await;
    permit.refund().await.expect("the store answers");
    assert_given(&bench.given(&key, before).await, 10_001 + 86_400_000);
    bench.clock.step_back(seconds(60));
    let before = bench.now().await;
    assert_eq!(wait(&bench.limiter, rule.cost(5)).await, seconds(10));
    assert_given(&bench.given(&key, before).await, 10_001 + 86_400_000);
}

#[tokio::test]
async fn red_04_a_fixed_window_lives_until_it_ends() {
    let bench = Bench::new().await;
    bench.clock.advance(seconds(4));
    let rule = window(5, seconds(10));
    let (first, given) = bench.charge(rule).await;
    assert_given(&given, 6_001);
    bench.clock.advance(ms(2_500));
    let (_, given) = bench.charge(rule).await;
    assert_given(&given, 3_501);
    let key = bench.probe.key().await;
    let before = bench.now().await;
    first.refund().await.expect("the store answers");
    assert_given(&bench.given(&key, before).await, 3_501);
    bench.clock.advance(ms(3_500));
    let (_, given) = bench.charge(rule).await;
    assert_given(&given, 10_001);
    // One microsecond before the end is as good as one millisecond, and the key must outlive it.
    bench.clock.advance(Duration::from_micros(9_999_999));
    for _ in 0..50 {
        let before = bench.now().await;
        bench.limiter.check(rule).await.expect("it fits");
        let expiry: i64 = bench.probe.ask(&format!("PEXPIRETIME {key}")).await;
        // It may be gone before it is looked at.
        if let Ok(expiry) = u64::try_from(expiry) {
            let given = expiry.saturating_sub(bench.now().await)..=expiry - before;
            return assert_given(&given, 2);
        }
        bench.clock.advance(seconds(10));
    }
    panic!("it is never there");
}

#[tokio::test]
async fn red_04_a_counter_lives_as_long_as_its_block_and_no_longer_without() {
    let bench = Bench::new().await;
    let policies = [
        Policy::token_bucket(1, DAY),
        Policy::fixed_window(1, 10_000 * DAY),
        Policy::sliding_window(1, DAY),
    ];
    for policy in policies {
        for block in [ms(1), ms(1_500), DAY, Policy::MAX_WINDOW] {
            let rule = Rule::new(policy.block(block), key("a"));
            let permit = bench.limiter.check(rule).await.expect("it fits");
            let whole = permit.decision().expect("the store decides").reset_after;
            let is_log = policy.algorithm() == Algorithm::SlidingWindow;
            let kept = if is_log { 2 * whole } else { whole };
            let before = bench.now().await;
            wait(&bench.limiter, rule).await;
            let counter = bench.probe.key().await;
            let in_ms = |kept: Duration| kept.as_micros().div_ceil(1_000) as u64 + 1;
            assert_given(&bench.given(&counter, before).await, in_ms(block.max(kept)));
            // One of a millisecond is over then, and another one begins.
            if block > ms(1) {
                let expiry: i64 = bench.probe.ask(&format!("PEXPIRETIME {counter}")).await;
                bench.clock.advance(ms(700));
                wait(&bench.limiter, rule).await;
                let after: i64 = bench.probe.ask(&format!("PEXPIRETIME {counter}")).await;
                assert_eq!(after, expiry, "a refusal meanwhile does not extend it");
                bench.clock.step_back(ms(700));
            }
            assert_all_expire(&bench.probe, "a block").await;
            let before = bench.now().await;
            permit.reset().await.expect("the store answers");
            if policy.algorithm() == Algorithm::FixedWindow {
                assert_given(&bench.given(&counter, before).await, in_ms(whole));
            } else {
                assert_eq!(bench.probe.keys().await, [""; 0], "nothing is left of {policy}");
            }
            bench.limiter.reset(key("a")).await.expect("the store answers");
            assert_eq!(bench.probe.keys().await, [""; 0]);
        }
    }
}

/// A relative of F-03: a block that begins is no reason to let a bucket go before its latest events.
#[tokio::test]
async fn f_06_a_block_leaves_a_bucket_of_late_events_its_day() {
    let bench = Bench::new().await;
    let rule = Rule::new(Policy::token_bucket(2, seconds(10)).block(ms(1_500)), key("a"));
    let late = rule.at(UNIX_EPOCH + Duration::from_micros(bench.clock.now()) - DAY);
    let (permit, given) = bench.charge(late.cost(2)).await;
    let day = DAY.as_millis() as u64 + 1;
    assert_given(&given, day);
    let counter = bench.probe.key().await;
    let before = bench.now().await;
    wait(&bench.limiter, late).await;
    assert_given(&bench.given(&counter, before).await, day);
    let before = bench.now().await;
    permit.reset().await.expect("the store answers");
    assert_given(&bench.given(&counter, before).await, day);
}

#[tokio::test]
async fn alg_10_the_largest_buckets_and_windows_neither_overflow_nor_expire_at_once() {
    let bench = Bench::new().await;
    let longest = Policy::MAX_WINDOW;
    // None so short that its key is gone before it is looked at: keys go by the server's own clock.
    let policies = [
        Policy::token_bucket(1, longest),
        Policy::token_bucket(Policy::MAX_COUNT, longest / Policy::MAX_COUNT),
        Policy::fixed_window(1, longest),
        Policy::fixed_window(Policy::MAX_COUNT, longest),
        Policy::fixed_window(Policy::MAX_COUNT, seconds(60)),
    ];
    for policy in policies {
        for block in [None, Some(longest)] {
            let rule = Rule::new(block.map_or(policy, |block| policy.block(block)), key("a"));
            let above = bench
                .limiter
                .check(rule.cost(u32::MAX))
                .await
                .expect_err("it is above the limit");
            assert_eq!(above.retry_after(), None);
            let (permit, given) = bench.charge(rule.cost(policy.count())).await;
            let decision = *permit.decision().expect("the store decides");
            assert_eq!(decision.remaining, 0);
            let whole = decision.reset_after;
            assert_given(&given, whole.as_micros().div_ceil(1_000) as u64 + 1);
            assert!(whole <= policy.window() && whole > Duration::ZERO, "{whole:?}");
            let refused = wait(&bench.limiter, rule).await;
            let token = policy.window() / policy.count();
            let until = if policy.algorithm() == Algorithm::TokenBucket {
                token
            } else {
                whole
            };
            assert_eq!(refused, block.unwrap_or(until), "{policy:?}");
            bench
                .limiter
                .reset(crate::common::key("a"))
                .await
                .expect("the store answers");
        }
    }
}
