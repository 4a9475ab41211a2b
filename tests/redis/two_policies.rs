//! F-01: counters that two policies judge, on one server and on a cluster, calls one after the other and together.

use rate_limit::{Algorithm, ManualClock, RedisStore, RedisStoreBuilder, contract};

use crate::common::PATIENT;
use crate::support::{RedisCluster, RedisServer};

/// `TWO_POLICIES=100000` for more than `scripts/test` asks.
fn calls() -> u64 {
    std::env::var("TWO_POLICIES").map_or(10_000, |calls| calls.parse().expect("a number"))
}

async fn check(store: RedisStoreBuilder) {
    let clock = ManualClock::new();
    let store = store.clock(&clock).deadline(PATIENT).connect().await;
    let store = store.expect("the server takes us");
    for algorithm in [Algorithm::SlidingWindow, Algorithm::FixedWindow, Algorithm::TokenBucket] {
        let told = contract::check_two_policies(&store, &clock, algorithm, calls()).await;
        println!("F-01 {algorithm:?} in {store:?}: {told:?}");
        assert!(told.admitted > calls() / 10 && told.waited > calls() / 400, "{told:?}");
    }
}

#[tokio::test]
async fn f_01_two_policies_on_one_server() {
    let server = RedisServer::start();
    check(RedisStore::builder(&server.url())).await;
}

#[tokio::test]
async fn f_01_two_policies_on_a_cluster() {
    let cluster = RedisCluster::start();
    check(RedisStore::builder(&format!(
        "redis-cluster://127.0.0.1:{}",
        cluster.ports()[0]
    )))
    .await;
}
