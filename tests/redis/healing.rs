//! What a clock that stepped back or other numbers leave is put right for good, in both stores.

use std::time::{Duration, UNIX_EPOCH};

use rate_limit::{ManualClock, Policy, Rule};

use crate::common::{admits, both_turned_by, key, remaining, wait};
use crate::support::RedisServer;

const HOUR: Duration = Duration::from_secs(3_600);
const TICK: Duration = Duration::from_micros(1);

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[tokio::test]
async fn alg_11_a_clock_that_steps_back_locks_nobody_out_for_longer_than_a_window() {
    let server = RedisServer::start();
    let clock = ManualClock::new();
    let policies = [
        Policy::sliding_window(5, seconds(60)),
        Policy::sliding_window(200, seconds(60)),
        Policy::token_bucket(5, seconds(12)),
        Policy::fixed_window(5, seconds(60)),
    ];
    for limiter in both_turned_by(&clock, &server).await {
        for policy in policies {
            let rule = Rule::new(policy, key("a"));
            assert!(admits(&limiter, rule.cost(policy.count())).await);
            clock.step_back(HOUR);
            let told = wait(&limiter, rule).await;
            assert!(told <= seconds(60), "{policy:?}: {told:?}");
            // Asked again and again, as somebody does who is locked out.
            for _ in 0..4 {
                clock.advance((told - TICK) / 4);
                let left = wait(&limiter, rule).await;
                assert!(left < told, "{policy:?}: {left:?}");
            }
            clock.advance(seconds(60));
            assert!(admits(&limiter, rule).await, "{policy:?}, {limiter:?}");
            clock.advance(HOUR * 2);
            limiter.reset(key("a")).await.expect("the store answers");
        }
    }
}

#[tokio::test]
async fn alg_11_a_clock_that_keeps_stepping_back_admits_no_more_than_the_count() {
    let server = RedisServer::start();
    let clock = ManualClock::new();
    clock.advance(HOUR * 24);
    for limiter in both_turned_by(&clock, &server).await {
        for policy in [
            Policy::token_bucket(5, seconds(12)),
            Policy::fixed_window(5, seconds(60)),
        ] {
            let rule = Rule::new(policy, key("a"));
            let mut admitted = 0;
            for _ in 0..30 {
                admitted += u32::from(admits(&limiter, rule).await);
                clock.step_back(seconds(7));
            }
            assert_eq!(admitted, 5, "{policy:?}");
            clock.advance(seconds(60));
            assert!(admits(&limiter, rule).await);
            limiter.reset(key("a")).await.expect("the store answers");
        }
    }
}

#[tokio::test]
async fn alg_05_the_wait_told_under_other_numbers_holds() {
    let server = RedisServer::start();
    let clock = ManualClock::new();
    let changes = [
        (
            Policy::token_bucket(3, seconds(50)),
            Policy::token_bucket(3, seconds(25)),
        ),
        (
            Policy::token_bucket(3, seconds(50)),
            Policy::token_bucket(3, seconds(80)),
        ),
        (
            Policy::token_bucket(4, seconds(50)),
            Policy::token_bucket(2, seconds(33)),
        ),
        (
            Policy::fixed_window(3, seconds(600)),
            Policy::fixed_window(3, seconds(70)),
        ),
        (
            Policy::fixed_window(4, seconds(600)),
            Policy::fixed_window(2, seconds(90)),
        ),
        (
            Policy::sliding_window(3, seconds(600)),
            Policy::sliding_window(3, seconds(70)),
        ),
        (
            Policy::sliding_window(3, seconds(70)),
            Policy::sliding_window(3, seconds(600)),
        ),
    ];
    for limiter in both_turned_by(&clock, &server).await {
        for (before, after) in changes {
            let (before, after) = (Rule::new(before, key("a")), Rule::new(after, key("a")));
            // To where all fixed windows begin.
            let begin = 12_600_000_000 - clock.now() % 12_600_000_000;
            clock.advance(Duration::from_micros(begin) + seconds(7));
            while admits(&limiter, before).await {}
            clock.advance(seconds(11));
            let told = wait(&limiter, after).await;
            clock.advance(told - TICK);
            assert_eq!(wait(&limiter, after).await, TICK, "{after:?}, {limiter:?}");
            clock.advance(TICK);
            assert!(admits(&limiter, after).await, "{after:?}, {limiter:?}");
            limiter.reset(key("a")).await.expect("the store answers");
        }
    }
}

#[tokio::test]
async fn alg_11_a_block_outlasts_neither_its_time_nor_a_shorter_one() {
    let server = RedisServer::start();
    let clock = ManualClock::new();
    let policies = [
        Policy::sliding_window(1, seconds(5)),
        Policy::token_bucket(1, seconds(5)),
        Policy::fixed_window(1, seconds(5)),
    ];
    for limiter in both_turned_by(&clock, &server).await {
        for policy in policies {
            let long = Rule::new(policy.block(seconds(1_000)), key("a"));
            let short = Rule::new(policy.block(seconds(100)), key("a"));
            for (rule, time, steps_back) in [(long, seconds(1_000), true), (short, seconds(100), false)] {
                assert!(admits(&limiter, long).await);
                assert_eq!(wait(&limiter, long).await, seconds(1_000));
                if steps_back {
                    clock.step_back(HOUR);
                }
                let decision = limiter.peek(rule).await.expect("the store answers");
                assert_eq!(decision.retry_after, Some(time), "{rule:?}, {limiter:?}");
                assert_eq!(wait(&limiter, rule).await, time);
                clock.advance(time - TICK);
                assert_eq!(wait(&limiter, rule).await, TICK, "{rule:?}, {limiter:?}");
                clock.advance(TICK);
                assert!(admits(&limiter, rule).await, "{rule:?}, {limiter:?}");
                clock.advance(HOUR * 2);
                limiter.reset(key("a")).await.expect("the store answers");
            }
        }
    }
}

#[tokio::test]
async fn a_refund_takes_nothing_from_an_event_that_comes_late() {
    let server = RedisServer::start();
    let clock = ManualClock::new();
    for limiter in both_turned_by(&clock, &server).await {
        let rule = Rule::new(Policy::token_bucket(3, seconds(50)), key("a"));
        let early = UNIX_EPOCH + Duration::from_micros(clock.now()) - HOUR;
        let permit = limiter.check(rule.at(early)).await.expect("it fits");
        permit.refund().await.expect("the store answers");
        let left = limiter.peek(rule.at(early)).await.expect("the store answers");
        assert!(left.allowed && left.remaining >= 2, "{left:?}, {limiter:?}");
        assert!(admits(&limiter, rule.at(early).cost(2)).await);
        limiter.reset(key("a")).await.expect("the store answers");
        assert_eq!(remaining(&limiter, rule).await, 3);
    }
}
