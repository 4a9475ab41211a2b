//! No call leaves a bucket, a fixed window or a block that never goes.

use std::time::Duration;

use rate_limit::{Policy, RejectionKind, Rule};

use crate::common::{MINUTE, admits, key, ms, per_minute, remaining, wait};
use crate::expiry::assert_all_expire;
use crate::lifetimes::Bench;

const DAY: Duration = Duration::from_secs(86_400);

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Every branch that writes one of these keys.
async fn every_kind_of_call(bench: &Bench, policy: Policy, other: Policy) {
    let Bench {
        probe, clock, limiter, ..
    } = bench;
    let check = |what: &'static str, rule: Rule| async move {
        let answer = limiter.check(rule).await;
        assert_all_expire(probe, what).await;
        answer
    };
    for block in [None, Some(ms(40_000))] {
        let with = |policy: Policy| Rule::new(block.map_or(policy, |block| policy.block(block)), key("a"));
        let (rule, other) = (with(policy), with(other));
        let _ = check("a cost of 0", rule.cost(0)).await.expect("it fits");
        let first = check("the first", rule).await.expect("it fits");
        clock.advance(ms(1));
        let second = check("the second", rule).await.expect("it fits");
        let third = check("the rest", rule.cost(policy.count() - 2)).await.expect("it fits");
        let refused = check("a refusal", rule).await.expect_err("it is full");
        assert!(refused.is_limited());
        let _ = check("another", rule).await.expect_err("it is full");
        let above = check("what never fits", rule.cost(policy.count() + 1)).await;
        assert_eq!(above.expect_err("it is above").kind(), RejectionKind::Impossible);
        let _ = check("other numbers", other).await;
        let _ = check("and back", rule).await;
        second.refund().await.expect("the store answers");
        assert_all_expire(probe, "a refund").await;
        first.reset().await.expect("the store answers");
        assert_all_expire(probe, "a reset of some").await;
        clock.step_back(ms(3_600_000));
        let _ = check("a clock that stepped back", rule.cost(policy.count())).await;
        let _ = check("and a stack", rule).await;
        let stack = [rule, Rule::new(per_minute(5), key("a"))];
        let _ = limiter.check_all(&stack).await;
        assert_all_expire(probe, "a stack").await;
        third.reset().await.expect("the store answers");
        assert_all_expire(probe, "a reset of all").await;
        clock.advance(DAY);
        let _ = check("long after", rule).await.expect("it fits");
        limiter.reset(key("a")).await.expect("the store answers");
        assert_eq!(probe.keys().await, [""; 0]);
    }
}

#[tokio::test]
async fn red_03_no_call_leaves_a_bucket_window_or_block_without_expiry() {
    let bench = Bench::new().await;
    let buckets = (
        Policy::token_bucket(5, seconds(60)),
        Policy::token_bucket(3, seconds(100)),
    );
    every_kind_of_call(&bench, buckets.0, buckets.1).await;
    let windows = (
        Policy::fixed_window(5, seconds(600)),
        Policy::fixed_window(3, seconds(70)),
    );
    every_kind_of_call(&bench, windows.0, windows.1).await;
}

#[tokio::test]
async fn red_03_a_bucket_or_window_whose_expiry_was_taken_heals() {
    let bench = Bench::new().await;
    for policy in [
        Policy::token_bucket(2, seconds(10)),
        Policy::fixed_window(2, seconds(10)),
    ] {
        let rule = Rule::new(policy, key("a"));
        assert!(admits(&bench.limiter, rule.cost(2)).await);
        let key = bench.probe.key().await;
        let _: u64 = bench.probe.ask(&format!("PERSIST {key}")).await;
        let left = wait(&bench.limiter, rule).await;
        bench.clock.advance(left);
        assert!(admits(&bench.limiter, rule).await);
        assert_all_expire(&bench.probe, "the next hit").await;
        bench
            .limiter
            .reset(crate::common::key("a"))
            .await
            .expect("the store answers");
    }
}

#[tokio::test]
async fn red_03_nor_does_a_call_that_fails() {
    let bench = Bench::new().await;
    let policies = [
        Policy::token_bucket(5, seconds(60)),
        Policy::fixed_window(5, seconds(600)),
        per_minute(5),
    ];
    let stack = policies.map(|policy| Rule::new(policy.block(MINUTE), key("a")));
    let permit = bench.limiter.check_all(&stack).await.expect("all have room");
    for cost in [1, 5] {
        let before = bench.probe.dump().await;
        // A server without memory lets a script read and fails it at the first write.
        let _: () = bench.probe.ask("CONFIG SET maxmemory 1").await;
        let costly = stack.map(|rule| rule.cost(cost));
        let failed = bench.limiter.check_all(&costly).await.expect_err("there is no memory");
        assert_eq!(failed.kind(), RejectionKind::StoreUnavailable);
        for rule in costly {
            bench.limiter.check(rule).await.expect_err("there is no memory");
        }
        let _: () = bench.probe.ask("CONFIG SET maxmemory 0").await;
        assert_eq!(bench.probe.dump().await, before, "nothing was kept");
        assert_all_expire(&bench.probe, "no memory").await;
    }
    permit.refund().await.expect("the store answers");
    for rule in stack {
        assert_eq!(remaining(&bench.limiter, rule).await, 5);
    }
}
