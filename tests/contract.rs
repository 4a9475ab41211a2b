//! The contract of a store, kept by both of ours.

#[path = "support/mod.rs"]
mod support;

use std::sync::Arc;
use std::time::Duration;

use rate_limit::{Algorithm, ManualClock, MemoryStore, RedisStore, contract};

use crate::support::RedisServer;

#[tokio::test]
async fn alg_01_the_embedded_store_keeps_the_contract() {
    let clock = ManualClock::new();
    contract::check(&MemoryStore::builder().clock(&clock).build(), &clock).await;
}

#[tokio::test]
async fn alg_13_the_redis_store_keeps_the_contract() {
    let server = RedisServer::start();
    let clock = ManualClock::new();
    let store = RedisStore::builder(&server.url()).clock(&clock).connect().await;
    contract::check(&store.expect("the server accepts us"), &clock).await;
}

#[tokio::test]
async fn f_01_two_policies_on_one_counter_admit_no_more_than_the_larger() {
    let clock = ManualClock::new();
    let store = MemoryStore::builder().clock(&clock).build();
    for algorithm in [Algorithm::SlidingWindow, Algorithm::FixedWindow, Algorithm::TokenBucket] {
        let told = contract::check_two_policies(&store, &clock, algorithm, 100_000).await;
        println!("F-01 {algorithm:?} in memory: {told:?}");
        assert!(
            told.admitted > 10_000 && told.waited > 500 && told.steps_back > 20,
            "{told:?}"
        );
    }
}

#[tokio::test]
async fn f_70_a_jump_of_the_wall_clock_changes_no_decision() {
    let clock = ManualClock::new();
    let store = MemoryStore::builder().clock(&clock).build();
    contract::check_wall_clock(&store, &clock).await;
}

#[tokio::test]
async fn f_03_a_backlog_of_any_age_is_limited_as_it_would_have_been_in_time() {
    let clock = ManualClock::new();
    let store = MemoryStore::builder().clock(&clock).build();
    let counted = contract::check_backlog(&store, &clock, 5_000, async || store.sweep()).await;
    println!("F-03 in memory: {counted}");
    assert_eq!(counted, 5 * 15_000);
}

/// The futures of memory are ready at once, so none is polled before it is charged.
#[tokio::test]
async fn f_02_in_memory_a_dropped_future_is_charged_once_or_not_at_all() {
    let dropped = contract::check_dropped_futures(&MemoryStore::builder().build()).await;
    println!("F-02 in memory: {dropped} futures dropped");
}

#[tokio::test]
async fn f_02_on_redis_a_dropped_future_is_charged_once_or_not_at_all() {
    let server = RedisServer::start();
    let store = RedisStore::builder(&server.url()).deadline(Duration::from_secs(5));
    let store = store.connect().await.expect("the server accepts us");
    let dropped = contract::check_dropped_futures(&store).await;
    println!("F-02 on Redis: {dropped} futures dropped");
    assert!(dropped > 500, "{dropped}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f_69_in_memory_calls_do_not_hang_on_a_runtime() {
    let store = Arc::new(MemoryStore::builder().build());
    let calls = contract::check_runtimes(store, Duration::from_millis(500)).await;
    println!("F-69 in memory: {calls:?}");
    assert!(calls.long > 100 && calls.ended > 3, "{calls:?}");
}
