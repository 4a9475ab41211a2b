//! A call that weighs nothing records nothing, changes nothing and gives nothing back, in both stores.

use std::time::{Duration, UNIX_EPOCH};

use rate_limit::{ManualClock, Policy, Rule};

use crate::common::{admits, both_turned_by, key, per_minute, remaining, wait};
use crate::probe::Probe;
use crate::support::RedisServer;

const SECOND: Duration = Duration::from_secs(1);

fn policies() -> [Policy; 4] {
    [
        per_minute(5),
        per_minute(200),
        Policy::token_bucket(5, SECOND * 1_000),
        Policy::fixed_window(5, SECOND * 1_000),
    ]
}

#[tokio::test]
async fn alg_09_a_refund_of_nothing_takes_back_no_other_hit() {
    let server = RedisServer::start();
    let clock = ManualClock::new();
    for limiter in both_turned_by(&clock, &server).await {
        for policy in policies() {
            let rule = Rule::new(policy, key("a"));
            assert!(admits(&limiter, rule.cost(2)).await);
            let free = limiter.check(rule.cost(0)).await.expect("it weighs nothing");
            free.refund().await.expect("the store answers");
            assert_eq!(
                remaining(&limiter, rule).await,
                policy.count() - 2,
                "{policy:?}, {limiter:?}"
            );
            // Its success forgets what was before it, as that of any call does.
            let free = limiter.check(rule.cost(0)).await.expect("it weighs nothing");
            clock.advance(SECOND);
            assert!(admits(&limiter, rule).await);
            free.reset().await.expect("the store answers");
            assert_eq!(
                remaining(&limiter, rule).await,
                policy.count() - 1,
                "{policy:?}, {limiter:?}"
            );
            limiter.reset(key("a")).await.expect("the store answers");
        }
    }
}

#[tokio::test]
async fn alg_09_a_cost_of_0_writes_nothing() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let clock = ManualClock::new();
    let [redis, _] = both_turned_by(&clock, &server).await;
    for policy in policies() {
        let rule = Rule::new(policy.block(SECOND), key("a"));
        assert!(admits(&redis, rule.cost(0)).await);
        assert_eq!(probe.keys().await, [""; 0]);
        assert!(admits(&redis, rule.cost(policy.count())).await);
        let before = probe.dump().await;
        clock.advance(SECOND);
        assert!(admits(&redis, rule.cost(0)).await, "it fits into what is full");
        assert_eq!(probe.dump().await, before, "{policy:?}");
        redis.reset(key("a")).await.expect("the store answers");
    }
}

#[tokio::test]
async fn alg_09_a_cost_of_0_leaves_a_bucket_as_it_was_for_late_events() {
    let server = RedisServer::start();
    let clock = ManualClock::new();
    for limiter in both_turned_by(&clock, &server).await {
        let rule = Rule::new(Policy::token_bucket(3, SECOND * 50), key("a"));
        let early = UNIX_EPOCH + Duration::from_micros(clock.now()) - SECOND * 3_000;
        assert!(admits(&limiter, rule.at(early)).await);
        assert!(admits(&limiter, rule.cost(0)).await);
        assert_eq!(remaining(&limiter, rule.at(early)).await, 2, "{limiter:?}");
        assert!(admits(&limiter, rule.at(early).cost(2)).await);
        assert_eq!(wait(&limiter, rule.at(early)).await, SECOND * 50);
        limiter.reset(key("a")).await.expect("the store answers");
    }
}

#[tokio::test]
async fn alg_09_a_peek_of_a_rule_that_observes_answers_as_a_call_would() {
    let server = RedisServer::start();
    let clock = ManualClock::new();
    for limiter in both_turned_by(&clock, &server).await {
        for policy in policies() {
            let rule = Rule::new(policy, key("a"));
            assert!(admits(&limiter, rule.cost(policy.count())).await);
            assert!(admits(&limiter, rule.observe()).await);
            let peeked = limiter.peek(rule.observe()).await.expect("the store answers");
            assert_eq!((peeked.allowed, peeked.remaining), (true, 0), "{limiter:?}");
            assert!(!limiter.peek(rule).await.expect("the store answers").allowed);
            limiter.reset(key("a")).await.expect("the store answers");
        }
    }
}
