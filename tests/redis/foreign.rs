//! What is not ours at the key of a bucket, of a fixed window or of a block is named, and left as it is.

use rate_limit::{Policy, RejectionKind, Rule, StoreErrorKind};

use crate::common::{MINUTE, admits, key, limiter, ms, per_minute, wait};
use crate::probe::Probe;
use crate::support::RedisServer;

const FOREIGN: [&[u8]; 12] = [
    b"1",
    b"17",
    b"1753000000123456",
    b"",
    b"B",
    b"F",
    b"Tuesday,",
    b"Bangkok and then a way",
    b"Funafuti, a town by the seas,",
    b"L\0\0\0\0\0\0\0",
    b"B\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
    b"{\"user\":\"alice\",\"expires\":1753000000}",
];

/// A window that ends at no time, one that forgot more than there was, and one in which more counts than there was.
const IMPLAUSIBLE_WINDOWS: [&[u8]; 3] = [
    b"F\0\0\0\0\0\0\x20\x02\0\0\0\0\0\0\x01\0\0\0\0\0\0\x01\0\0\0\0\0\0",
    b"F\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\0\0\0\0\0\0",
    b"F\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\x01\0\0\0\0\0\0\x02\0\0\0\0\0\0",
];

fn policies() -> [Policy; 2] {
    [
        Policy::token_bucket(5, MINUTE),
        Policy::fixed_window(5, Policy::MAX_WINDOW),
    ]
}

#[tokio::test]
async fn a_foreign_value_at_a_bucket_or_window_is_left_as_it_is() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let limiter = limiter(&server).await;
    for policy in policies() {
        let rule = Rule::new(policy, key("a"));
        let permits = [
            limiter.check(rule).await.expect("it fits"),
            limiter.check(rule).await.expect("it fits"),
        ];
        let ours = probe.key().await;
        let own = probe.value(&ours).await;
        // The value of the other algorithm is as foreign.
        let cut: &[u8] = &own[..own.len() - 1];
        let swapped = [if own[0] == b'B' { b"F" } else { b"B" }, &own[1..]].concat();
        let mut values = [&FOREIGN[..], &[cut]].concat();
        values.extend(IMPLAUSIBLE_WINDOWS);
        values.push(&swapped);
        for value in &values {
            probe.set(&ours, value).await;
            let shown = value.escape_ascii();
            let error = limiter.peek(rule).await.expect_err("it is not ours");
            assert_eq!(error.kind(), StoreErrorKind::Unexpected, "{shown}");
            assert!(
                error.to_string().contains("give the store a prefix of its own"),
                "{error}"
            );
            for cost in [0, 1] {
                let refused = limiter.check(rule.cost(cost)).await.expect_err("it is not ours");
                assert_eq!(refused.kind(), RejectionKind::StoreUnavailable, "{shown}");
            }
            assert_eq!(probe.value(&ours).await, *value, "{shown}");
        }
        let [one, two] = permits;
        let errors = [one.reset().await, two.refund().await].map(|settled| settled.expect_err("it is not ours"));
        assert_eq!(errors.map(|error| error.kind()), [StoreErrorKind::Unexpected; 2]);
        assert_eq!(probe.value(&ours).await, *values[values.len() - 1]);
        let _: () = probe.ask("FLUSHALL").await;

        let _: u64 = probe.ask(&format!("RPUSH {ours} alice")).await;
        let error = limiter.peek(rule).await.expect_err("it is no string");
        assert_eq!(error.kind(), StoreErrorKind::Unexpected);
        limiter.check(rule).await.expect_err("it is no string");
        assert_eq!(
            probe.ask::<Vec<String>>(&format!("LRANGE {ours} 0 -1")).await,
            ["alice"]
        );
        let _: () = probe.ask("FLUSHALL").await;
    }
}

/// What is not ours where a block is, and behind one that is.
#[tokio::test]
async fn a_foreign_value_at_a_block_is_left_as_it_is() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let limiter = limiter(&server).await;
    let [bucket, window] = policies();
    for policy in [bucket, window, per_minute(5), per_minute(200)] {
        let [blocking, plain] = [policy.block(MINUTE), policy].map(|policy| Rule::new(policy, key("a")));
        let permit = limiter.check(blocking.cost(policy.count())).await.expect("it fits");
        let counter = probe.key().await;
        wait(&limiter, blocking).await;
        let value = probe.value(&counter).await;
        let (block, own) = value.split_at(15);
        let begins_after_its_end = [&b"t\x01\0\0\0\0\0\0\x02\0\0\0\0\0\0"[..], own].concat();
        let ends_at_no_time = [&b"t\0\0\0\0\0\0\x20\0\0\0\0\0\0\0"[..], own].concat();
        let mut values = vec![
            block[..14].to_vec(),
            b"t".to_vec(),
            begins_after_its_end,
            ends_at_no_time,
        ];
        // Nothing, and an empty log of the version before, may stand behind a block.
        let foreign = FOREIGN
            .iter()
            .filter(|foreign| !foreign.is_empty() && foreign[0] != b'L');
        values.extend(foreign.map(|foreign| [block, foreign].concat()));
        for value in &values {
            probe.set(&counter, value).await;
            let shown = value.escape_ascii();
            for rule in [blocking, plain] {
                let error = limiter.peek(rule).await.expect_err("it is not ours");
                assert_eq!(error.kind(), StoreErrorKind::Unexpected, "{shown}");
                for cost in [0, 1] {
                    let refused = limiter.check(rule.cost(cost)).await.expect_err("it is not ours");
                    assert_eq!(refused.kind(), RejectionKind::StoreUnavailable, "{shown}");
                }
            }
            assert_eq!(probe.value(&counter).await, *value, "{shown}");
        }
        permit.reset().await.expect_err("it is not ours");
        assert_eq!(&probe.value(&counter).await, values.last().expect("there are some"));
        let _: () = probe.ask("FLUSHALL").await;
    }
}

#[tokio::test]
async fn a_foreign_value_in_a_stack_keeps_the_others_as_they_were() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let limiter = limiter(&server).await;
    let [bucket, window] = policies().map(|policy| Rule::new(policy.block(ms(60_000)), key("a")));
    assert!(admits(&limiter, bucket).await);
    let foreign = probe.key().await;
    probe.set(&foreign, b"a session").await;
    let log = Rule::new(per_minute(5), key("a"));
    // Whether they fit or are full, and on whichever side of it.
    for cost in [1, 4, 1] {
        for stack in [[window.cost(cost), log, bucket], [bucket, log, window.cost(cost)]] {
            let before = probe.dump().await;
            let refused = limiter.check_all(&stack).await.expect_err("it is not ours");
            assert_eq!(refused.kind(), RejectionKind::StoreUnavailable);
            assert_eq!(probe.dump().await, before);
        }
        let _ = limiter.check(window.cost(cost)).await;
    }
}
