//! A Redis Cluster of three primaries, each with a replica.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rate_limit::{Limiter, ManualClock, RedisStore, Rule, contract};
use tokio::time::sleep;

use crate::common::{
    PATIENT, admits, admitted, asks_until_limited, assert_failed_over, key, ms, per_minute, rule, store, strict,
};
use crate::support::RedisCluster;

/// Where the counters of a client are: what is between the braces of its key.
async fn slot_of(cluster: &RedisCluster, limiter: &Limiter, client: &str) -> (String, u16) {
    let before = keys(cluster);
    assert!(admits(limiter, rule(5, client)).await);
    let mut new: Vec<String> = keys(cluster);
    new.retain(|key| !before.contains(key));
    let key = new.pop().expect("a call that is admitted leaves a key");
    let slot = cluster.slot_of(&key);
    (key, slot)
}

pub(crate) fn keys(cluster: &RedisCluster) -> Vec<String> {
    let all = |port| {
        cluster
            .nodes()
            .ask::<Vec<String>>(port, "KEYS *:{*}")
            .expect("a primary answers")
    };
    cluster.primaries().into_iter().flat_map(all).collect()
}

#[tokio::test]
async fn red_13_a_cluster_keeps_the_contract_also_across_slots() {
    let cluster = RedisCluster::start();
    let clock = ManualClock::new();
    let store = RedisStore::builder(&cluster.url())
        .clock(&clock)
        .deadline(PATIENT)
        .connect()
        .await;
    contract::check(&store.expect("the cluster takes us"), &clock).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn red_13_counters_of_many_clients_are_spread_and_exact() {
    let cluster = RedisCluster::start();
    // One node is enough to find the others.
    let one = format!("redis-cluster://127.0.0.1:{}", cluster.ports()[0]);
    let limiters = [strict(store(&cluster.url()).await), strict(store(&one).await)];
    for client in 0..30 {
        // Braces in a name do not choose the slot.
        let client = format!("{{client}}{client}{{}}");
        let mut sum = 0;
        for limiter in &limiters {
            sum += admitted(limiter, rule(5, &client), 20).await;
        }
        assert_eq!(sum, 5, "{client}");
    }
    let counts: Vec<usize> = cluster
        .primaries()
        .into_iter()
        .map(|port| {
            cluster
                .nodes()
                .ask::<Vec<String>>(port, "KEYS *:{*}")
                .expect("it answers")
                .len()
        })
        .collect();
    assert_eq!(counts.iter().sum::<usize>(), 30);
    assert!(counts.iter().all(|count| *count > 0), "no node has all: {counts:?}");
}

/// One of several rules refuses: what the others reserved in other slots is given back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ops_01_rules_in_several_slots_charge_all_or_none() {
    let cluster = RedisCluster::start();
    let limiter = strict(store(&cluster.url()).await);
    let rules = [
        Rule::new(per_minute(10), key("everybody")),
        Rule::new(per_minute(1), key("one of them")).place(1),
        Rule::new(per_minute(7), key("and his address")).place(2),
    ];
    limiter.check_all(&rules).await.expect("all have room");
    let refused: Vec<_> = (0..19)
        .map(|_| {
            let limiter = limiter.clone();
            tokio::spawn(async move {
                limiter
                    .check_all(&rules)
                    .await
                    .expect_err("he had his one")
                    .is_limited()
            })
        })
        .collect();
    for refused in refused {
        assert!(refused.await.expect("no call panics"));
    }
    let mut left = Vec::new();
    for rule in rules {
        left.push(limiter.peek(rule).await.expect("it tells").remaining);
    }
    assert_eq!(left, [9, 0, 6], "a refused call charges no rule");
}

/// While a slot moves, and once it has moved, nothing is lost and no caller sees it.
#[tokio::test]
async fn a_slot_that_moves_keeps_its_counters() {
    let cluster = RedisCluster::start();
    let limiter = strict(store(&cluster.url()).await);
    let (key, slot) = slot_of(&cluster, &limiter, "moved").await;
    let from = cluster.primary_of(slot);
    let to = cluster
        .primaries()
        .into_iter()
        .find(|port| *port != from)
        .expect("there are three");
    let moving = cluster.begin_move(slot, to);
    assert!(admits(&limiter, rule(5, "moved")).await, "the second, at the old place");
    moving.move_key(&key);
    assert!(
        admits(&limiter, rule(5, "moved")).await,
        "the third, where it is asked to go"
    );
    moving.finish();
    assert!(admits(&limiter, rule(5, "moved")).await, "the fourth, at the new place");
    assert!(admits(&limiter, rule(5, "moved")).await);
    assert!(!admits(&limiter, rule(5, "moved")).await, "five in all");
    assert_eq!(keys(&cluster), [key]);
}

#[tokio::test]
async fn red_07_each_node_is_told_the_scripts_it_lacks() {
    let cluster = RedisCluster::start();
    let limiter = strict(store(&cluster.url()).await);
    for round in 0..5 {
        for port in cluster.primaries() {
            cluster.nodes().order(port, "SCRIPT FLUSH");
        }
        for client in 0..10 {
            assert_eq!(admits(&limiter, rule(3, &client.to_string())).await, round < 3);
        }
    }
}

/// The time from when a replica has taken over until a call is decided again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn red_15_a_primary_that_is_killed_is_replaced_within_a_second() {
    let cluster = RedisCluster::start();
    let store = RedisStore::builder(&cluster.url())
        .connect()
        .await
        .expect("the cluster takes us");
    let limiter = strict(store);
    let (_, slot) = slot_of(&cluster, &limiter, "failover").await;
    for _ in 0..2 {
        assert!(admits(&limiter, rule(5, "failover")).await);
    }
    // Replicas follow asynchronously.
    sleep(ms(300)).await;
    let old = cluster.primary_of(slot);
    cluster.kill(old);
    let asked = limiter
        .check(rule(5, "failover"))
        .await
        .expect_err("nobody has the slot");
    assert_eq!(asked.kind(), rate_limit::RejectionKind::StoreUnavailable);
    let asking = asks_until_limited(&limiter, rule(5, "failover"), 3);
    let (cluster, completed) = tokio::task::spawn_blocking(move || {
        cluster.wait_for_failover(slot, old);
        (cluster, Instant::now())
    })
    .await
    .expect("a replica takes over");
    assert_failed_over(asking, completed).await;
    drop(cluster);
}

/// A client whose counters a stopped node has is decided by the mode; the others by their nodes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn red_10_a_node_that_stops_delays_no_client_of_another() {
    let cluster = RedisCluster::start();
    let store = RedisStore::builder(&cluster.url())
        .connect()
        .await
        .expect("the cluster takes us");
    let limiter = strict(store);
    let (_, slot) = slot_of(&cluster, &limiter, "stopped").await;
    let node = cluster.primary_of(slot);
    let mut elsewhere = Vec::new();
    for client in 0..12 {
        let client = format!("other {client}");
        let (_, slot) = slot_of(&cluster, &limiter, &client).await;
        if cluster.primary_of(slot) != node {
            elsewhere.push(client);
        }
    }
    assert!(!elsewhere.is_empty());
    cluster.pause(node);
    let start = Instant::now();
    limiter.check(rule(5, "stopped")).await.expect_err("nobody answers");
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    for client in &elsewhere {
        assert!(admits(&limiter, rule(5, client)).await, "{client}");
    }
    cluster.resume(node);
}

/// Who takes a node of a cluster for a server of its own is told so by `MOVED`, and decided as the mode says.
#[tokio::test]
async fn a_node_that_is_taken_for_the_whole_decides_what_it_has() {
    let cluster = RedisCluster::start();
    let limiter = strict(store(&format!("redis://127.0.0.1:{}/", cluster.primaries()[0])).await);
    let (mut decided, mut undecided) = (0, 0);
    for client in 0..40 {
        match limiter.check(rule(5, &client.to_string())).await {
            Ok(_) => decided += 1,
            Err(refused) => {
                assert_eq!(refused.kind(), rate_limit::RejectionKind::StoreUnavailable);
                undecided += 1;
            }
        }
    }
    assert!(
        decided > 0 && undecided > decided,
        "a third of the slots: {decided} of 40"
    );
}

/// A node that was cut off from the others tells of the time before a failover, and is the first to answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f_68_a_stale_node_that_answers_first_undoes_no_failover() {
    let cluster = Arc::new(RedisCluster::start());
    let store = RedisStore::builder(&cluster.url()).deadline(ms(500)).connect().await;
    let limiter = strict(store.expect("the cluster takes us"));
    let (_, slot) = slot_of(&cluster, &limiter, "stale").await;
    let old = cluster.primary_of(slot);
    let new = cluster.cut_off(old);
    assert_ne!(new, old);
    // The others take their time.
    let ended = Arc::new(AtomicBool::new(false));
    let slow = cluster.slow_down(cluster.ports().iter().copied().filter(|port| *port != old), &ended);
    let start = Instant::now();
    let (mut decided, mut undecided) = (0, 0);
    while start.elapsed() < ms(4_000) && decided < 40 {
        match limiter.check(rule(1_000, "stale")).await {
            Ok(_) => decided += 1,
            Err(refused) => {
                assert_eq!(refused.kind(), rate_limit::RejectionKind::StoreUnavailable);
                undecided += 1;
                sleep(ms(20)).await;
            }
        }
    }
    ended.store(true, Ordering::Relaxed);
    slow.into_iter()
        .for_each(|thread| thread.join().expect("it slowed a node"));
    println!("F-68 {decided} decided, {undecided} undecided in {:?}", start.elapsed());
    assert!(
        decided >= 40 && undecided < 40,
        "{decided} decided, {undecided} undecided"
    );
}
