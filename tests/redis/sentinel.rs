//! A primary, two replicas, and three sentinels that watch them.

use std::time::Instant;

use rate_limit::{RedisStore, RejectionKind};
use tokio::runtime::Runtime;
use tokio::time::sleep;

use crate::common::{admits, asks_until_limited, assert_failed_over, ms, remaining, rule, store, strict};
use crate::support::{RedisSentinels, eventually};

fn url(sentinels: &RedisSentinels, service: &str) -> String {
    format!("redis-sentinel://{}/{service}", sentinels.addresses())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn red_15_a_new_primary_is_found_within_a_second() {
    let sentinels = RedisSentinels::start();
    let store = RedisStore::builder(&url(&sentinels, "main")).connect().await;
    let limiter = strict(store.expect("the primary takes us"));
    for _ in 0..3 {
        assert!(admits(&limiter, rule(5, "failover")).await);
    }
    // Replicas follow asynchronously.
    sleep(ms(300)).await;
    let old = sentinels.kill_primary();
    let refused = limiter
        .check(rule(5, "failover"))
        .await
        .expect_err("there is no primary");
    assert_eq!(refused.kind(), RejectionKind::StoreUnavailable);
    let asking = asks_until_limited(&limiter, rule(5, "failover"), 3);
    let (mut sentinels_again, new, completed) = tokio::task::spawn_blocking(move || {
        let new = sentinels.wait_for_failover(old);
        (sentinels, new, Instant::now())
    })
    .await
    .expect("a replica is promoted");
    assert_failed_over(asking, completed).await;

    // The old one comes back, and is a replica now: nobody asks it.
    sentinels_again.restart(old);
    assert_ne!(new, old);
    for n in 0..10 {
        assert_eq!(admits(&limiter, rule(5, "after")).await, n < 5);
        sleep(ms(20)).await;
    }
}

#[tokio::test]
async fn a_sentinel_that_is_gone_is_passed_over() {
    let sentinels = RedisSentinels::start();
    let gone = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let port = gone.local_addr().expect("it is bound").port();
    // One that never answers, and the others behind it.
    let url = format!("redis-sentinel://127.0.0.1:{port},{}/main/0", sentinels.addresses());
    let limiter = strict(store(&url).await);
    for n in 0..4 {
        assert_eq!(admits(&limiter, rule(3, "a")).await, n < 3);
    }
}

/// Those begin with a low epoch, and name another primary than the one of the highest that was known.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f_67_sentinels_that_were_set_up_anew_are_believed() {
    let sentinels = RedisSentinels::start();
    let limiter = strict(store(&url(&sentinels, "main")).await);
    let first = sentinels.begin_failover();
    let (sentinels, second) = tokio::task::spawn_blocking(move || {
        let second = sentinels.wait_for_failover(first);
        (sentinels, second)
    })
    .await
    .expect("a replica is promoted");
    assert!(admits(&limiter, rule(9, "a")).await);
    let third = sentinels
        .server_ports()
        .iter()
        .find(|port| ![first, second].contains(port));
    let third = *third.expect("there are three");
    for sentinel in sentinels.sentinel_ports() {
        let order = |command: &str| sentinels.nodes().order(*sentinel, command);
        order("SENTINEL REMOVE main");
        order(&format!("SENTINEL MONITOR main 127.0.0.1 {third} 2"));
    }
    sentinels.nodes().order(third, "REPLICAOF NO ONE");
    sentinels.kill(second);
    let mut decided_by_third = false;
    for _ in 0..200 {
        if limiter.check(rule(1_000, "b")).await.is_ok() {
            decided_by_third = true;
            break;
        }
        sleep(ms(20)).await;
    }
    assert!(decided_by_third, "the sentinels name {third}, and {second} is gone");
    let keys: Vec<String> = sentinels.nodes().ask(third, "KEYS *:{*}").expect("it answers");
    assert!(!keys.is_empty(), "it has decided");
}

/// The thread of the store follows failovers after the runtime that connected has ended, also while no call is made.
#[test]
fn f_69_a_failover_is_followed_after_the_runtime_that_connected_has_ended() {
    let sentinels = RedisSentinels::start();
    let first = Runtime::new().expect("there are threads");
    let limiter = first.block_on(async { strict(store(&url(&sentinels, "main")).await) });
    drop(first);
    let second = Runtime::new().expect("there are threads");
    assert!(second.block_on(admits(&limiter, rule(100, "before"))));
    let old = sentinels.begin_failover();
    let new = sentinels.wait_for_failover(old);
    std::thread::sleep(ms(1_500));
    let counters = || -> usize {
        let keys: Vec<String> = sentinels.nodes().ask(new, "KEYS *:{*}").expect("it answers");
        keys.len()
    };
    let before = counters();
    for call in 0..10 {
        assert_eq!(second.block_on(admits(&limiter, rule(5, "after"))), call < 5);
    }
    assert_eq!(counters(), before + 1, "the new primary has decided");
    second.block_on(limiter.drain());
}

/// What is under way when the last limiter is dropped is done, and a drain waits for no server for ever.
#[test]
fn f_69_settlements_outlive_their_limiter_and_a_drain_ends() {
    let sentinels = RedisSentinels::start();
    let runtime = Runtime::new().expect("there are threads");
    let limiter = runtime.block_on(async { strict(store(&url(&sentinels, "main")).await) });
    let permits: Vec<_> = (0..5)
        .map(|_| runtime.block_on(limiter.check(rule(5, "refunded"))).expect("it fits"))
        .collect();
    for permit in permits {
        // Polled once at the most.
        runtime.block_on(async { tokio::time::timeout(ms(0), permit.refund()).await.ok() });
    }
    runtime.block_on(limiter.drain());
    assert_eq!(runtime.block_on(remaining(&limiter, rule(5, "refunded"))), 5);
    let permit = runtime.block_on(limiter.check(rule(5, "last"))).expect("it fits");
    runtime.block_on(async { tokio::time::timeout(ms(0), permit.refund()).await.ok() });
    drop(limiter);
    let left = || -> Option<()> {
        let again = runtime.block_on(async { strict(store(&url(&sentinels, "main")).await) });
        (runtime.block_on(remaining(&again, rule(5, "last"))) == 5).then_some(())
    };
    eventually("the refund is done", ms(5_000), left);
}

#[tokio::test]
async fn a_service_that_nobody_knows_is_told_at_the_start() {
    let sentinels = RedisSentinels::start();
    let error = RedisStore::builder(&url(&sentinels, "mian")).connect().await;
    let error = error.expect_err("there is none");
    let source = std::error::Error::source(&error).expect("why").to_string();
    assert!(source.contains("no service of this name"), "{source}");
}
