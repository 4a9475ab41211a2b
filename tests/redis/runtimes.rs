//! One store that several Tokio runtimes use, while some of them end: a runtime takes its tasks with it, and a
//! connection whose driver was one of them.

use std::future::Future as _;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use rate_limit::{DecidedBy, Limiter, OnStoreError, RedisStore, contract};
use tokio::runtime::{Builder, Runtime};

use crate::common::{ms, rule};
use crate::support::{RedisCluster, RedisServer};

const TIME: Duration = ms(2_000);

async fn store(url: &str) -> Arc<RedisStore> {
    let store = RedisStore::builder(url).deadline(ms(1_000)).connect().await;
    Arc::new(store.expect("the server takes us"))
}

async fn assert_decided(store: Arc<RedisStore>, what: &str) {
    let calls = contract::check_runtimes(store, TIME).await;
    println!("F-69 on {what}: {calls:?}");
    assert!(calls.long > 200 && calls.ended > 10, "{calls:?}");
}

/// In a runtime that ends at once.
fn connected_elsewhere(url: &str) -> Arc<RedisStore> {
    Runtime::new().expect("there are threads").block_on(store(url))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f_69_calls_on_a_server_do_not_hang_on_a_runtime_that_ends() {
    let server = RedisServer::start();
    assert_decided(store(&server.url()).await, "a server").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f_69_calls_on_a_cluster_do_not_hang_on_a_runtime_that_ends() {
    let cluster = RedisCluster::start();
    assert_decided(store(&cluster.url()).await, "a cluster").await;
}

/// A relative: the connection itself was made in a runtime that has ended.
#[test]
fn f_69_nor_does_the_connection() {
    let server = RedisServer::start();
    let store = connected_elsewhere(&server.url());
    let runtime = Runtime::new().expect("there are threads");
    runtime.block_on(assert_decided(store, "a server, connected elsewhere"));
}

#[test]
fn f_69_nor_do_the_connections_of_a_cluster() {
    let cluster = RedisCluster::start();
    let store = connected_elsewhere(&cluster.url());
    let runtime = Runtime::new().expect("there are threads");
    runtime.block_on(assert_decided(store, "a cluster, connected elsewhere"));
}

/// One server is asked from the line of the batches, a cluster from the future of the call.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f_02_on_a_cluster_a_dropped_future_is_charged_once_or_not_at_all() {
    let cluster = RedisCluster::start();
    let dropped = contract::check_dropped_futures(&*store(&cluster.url()).await).await;
    println!("F-02 on a cluster: {dropped} futures dropped");
    assert!(dropped > 500, "{dropped}");
}

/// Calls that were begun and are not polled any more, as those of a `select!` that has another branch run.
#[tokio::test]
async fn f_69_callers_that_are_not_polled_hold_up_nobody() {
    let server = RedisServer::start();
    let limiter = closed(&store(&server.url()).await);
    let begun: Vec<_> = (0..40)
        .map(|_| {
            let mut call = Box::pin(limiter.check(rule(1_000, "begun")));
            let _ = call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            call
        })
        .collect();
    for call in 0..10 {
        let permit = limiter.check(rule(1_000, "others")).await;
        let permit = permit.unwrap_or_else(|refused| panic!("{call}: {refused}"));
        assert_eq!(
            permit.decision().map(|decision| decision.decided_by),
            Some(DecidedBy::Store)
        );
    }
    drop(begun);
}

/// The connection is on a runtime that is there, and runs no task.
#[test]
fn f_69_a_runtime_that_stands_still_holds_up_no_other() {
    let server = RedisServer::start();
    let still = Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("it needs no thread");
    let limiter = still.block_on(async { closed(&store(&server.url()).await) });
    assert!(still.block_on(limiter.check(rule(1_000, "a"))).is_ok());
    let other = Runtime::new().expect("there are threads");
    for call in 0..10 {
        let answer = other.block_on(limiter.check(rule(1_000, "a")));
        assert!(answer.is_ok(), "{call}: {answer:?}");
    }
    drop(still);
}

fn closed(store: &Arc<RedisStore>) -> Limiter {
    let limiter = Limiter::builder()
        .store(RedisStore::clone(store))
        .on_store_error(OnStoreError::Closed);
    limiter.build().expect("nothing is wrong with it")
}
