//! One store that several Tokio runtimes use, while some of them end: a runtime takes its tasks with it, and a
//! connection whose driver was one of them.

use std::sync::Arc;
use std::time::Duration;

use rate_limit::{RedisStore, contract};
use tokio::runtime::Runtime;

use crate::common::ms;
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
