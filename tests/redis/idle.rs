//! Connections that end while nobody uses them, as servers, firewalls and runtimes end them every few minutes.
//!
//! A call that comes after that was never written to the connection that ended, so nothing was kept of it: it waits for the
//! new connection and is decided by the server. Only a connection that is dead without a sign costs a call, since that one
//! was written and may have been counted.

use std::time::{Duration, Instant};

use rate_limit::{Limiter, OnStoreError, RedisStore, RejectionKind};
use tokio::runtime::{Builder, Runtime};
use tokio::time::sleep;

use crate::common::{ms, rule};
use crate::support::{FaultProxy, RedisCluster, RedisServer, Tally, eventually};

/// Each with a connection of its own.
const STORES: usize = 8;
const COUNT: u32 = 5;
/// After the server has closed a connection, until the client has surely heard of it.
const HEARD: Duration = ms(50);
const LIMIT: Duration = Duration::from_secs(10);

async fn limiter(url: &str, mode: OnStoreError) -> Limiter {
    let store = RedisStore::builder(url).deadline(ms(1_000)).deny_cache(Duration::ZERO);
    let store = store.connect().await.expect("the server takes us");
    let limiter = Limiter::builder().store(store).on_store_error(mode);
    limiter.build().expect("nothing is wrong with it")
}

async fn limiters(url: &str, mode: OnStoreError) -> Vec<Limiter> {
    let mut limiters = Vec::new();
    for _ in 0..STORES {
        limiters.push(limiter(url, mode).await);
    }
    limiters
}

/// Makes two calls by each limiter, all limiters at once.
async fn ask(limiters: &[Limiter], client: &str, tally: &mut Tally) {
    let calls: Vec<_> = limiters
        .iter()
        .map(|limiter| {
            let (limiter, rule) = (limiter.clone(), rule(COUNT, client));
            tokio::spawn(async move { [limiter.check(rule).await, limiter.check(rule).await] })
        })
        .collect();
    for call in calls {
        for answer in call.await.expect("no call panics") {
            tally.enter(&answer);
        }
    }
}

/// Closes the connections of all stores `rounds` times while they are idle. The server decides every call.
async fn assert_decided(url: &str, rounds: usize, what: &str, mut close: impl AsyncFnMut()) {
    for mode in [OnStoreError::Closed, OnStoreError::Local] {
        let limiters = limiters(url, mode).await;
        // The client of the one mode is another one than that of the other.
        let client = format!("{what} {mode:?}");
        let mut tally = Tally::default();
        for _ in 0..rounds {
            ask(&limiters, &client, &mut tally).await;
            close().await;
            sleep(HEARD).await;
        }
        ask(&limiters, &client, &mut tally).await;
        println!("F-31 {what}, {mode:?}, closed {rounds} times: {tally:?}");
        let right = Tally::by_store(2 * STORES * (rounds + 1), COUNT as usize);
        assert_eq!(tally, right, "{what}, {mode:?}");
    }
}

/// Returns something if the connection that asks is the only one.
fn is_alone(server: &RedisServer) -> Option<()> {
    let clients: String = server.nodes().ask(server.port(), "CLIENT LIST TYPE normal").ok()?;
    (clients.lines().count() == 1).then_some(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f_31_a_server_that_closes_idle_connections_costs_no_call() {
    let server = RedisServer::start_with(&["--timeout", "1"]);
    assert_decided(&server.url(), 1, "a server with a timeout", async || {
        eventually("idle connections are closed", LIMIT, || is_alone(&server));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f_31_a_connection_that_is_killed_while_idle_costs_no_call() {
    let server = RedisServer::start();
    assert_decided(&server.url(), 10, "connections killed", async || {
        server.nodes().order(server.port(), "CLIENT KILL TYPE normal");
    })
    .await;
}

/// A relative: each node has a connection of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f_31_nor_does_one_to_a_node_of_a_cluster() {
    let cluster = RedisCluster::start();
    assert_decided(&cluster.url(), 10, "connections killed in a cluster", async || {
        for port in cluster.ports() {
            cluster.nodes().order(*port, "CLIENT KILL TYPE normal");
        }
    })
    .await;
}

/// A firewall that has forgotten a connection drops what is sent on it, and tells nobody.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f_31_a_connection_that_is_dead_without_a_sign_costs_one_call() {
    let server = RedisServer::start();
    let proxy = FaultProxy::start(server.port()).await;
    let limiter = limiter(&proxy.url(), OnStoreError::Closed).await;
    let (mut undecided, start) = (0, Instant::now());
    for _ in 0..3 {
        for call in 0..4 {
            match limiter.check(rule(100, "forgotten")).await {
                Ok(_) => {}
                Err(refused) => {
                    assert_eq!(
                        (refused.kind(), call),
                        (RejectionKind::StoreUnavailable, 0),
                        "{refused}"
                    );
                    undecided += 1;
                    // The new connection is there by then.
                    sleep(ms(200)).await;
                }
            }
        }
        proxy.forget_connections();
    }
    println!(
        "F-31 connections forgotten twice: {undecided} undecided in {:?}",
        start.elapsed()
    );
    assert!(undecided <= 2, "{undecided}");
}

/// A firewall forgets connections that are idle: such a one is tested before a call is written to it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f_31_a_connection_that_died_without_a_sign_while_it_was_idle_costs_no_call() {
    let server = RedisServer::start();
    let proxy = FaultProxy::start(server.port()).await;
    assert_decided(&proxy.url(), 2, "connections forgotten while idle", async || {
        proxy.forget_connections();
        sleep(ms(1_100)).await;
    })
    .await;
}

/// So is a static limiter that several tests share, each with a runtime of its own.
#[test]
fn f_31_a_limiter_that_outlives_its_runtimes_is_decided_by_the_server() {
    const RUNTIMES: usize = 10;
    let server = RedisServer::start();
    let cluster = RedisCluster::start();
    for url in [server.url(), cluster.url()] {
        let first = Runtime::new().expect("there are threads");
        let limiter = first.block_on(limiter(&url, OnStoreError::Local));
        drop(first);
        let mut tally = Tally::default();
        for turn in 0..RUNTIMES {
            let mut builder = match turn % 2 {
                0 => Builder::new_current_thread(),
                _ => Builder::new_multi_thread(),
            };
            let runtime = builder.enable_all().build().expect("there are threads");
            runtime.block_on(ask(std::slice::from_ref(&limiter), "static", &mut tally));
        }
        println!("F-31 a limiter of {RUNTIMES} runtimes at {url}: {tally:?}");
        assert_eq!(tally, Tally::by_store(2 * RUNTIMES, COUNT as usize));
    }
}

/// A relative: a settlement and a look use the same connection as a call.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f_31_nor_is_a_settlement_lost_or_a_look() {
    let server = RedisServer::start();
    let limiter = limiter(&server.url(), OnStoreError::Closed).await;
    let kill = async || {
        server.nodes().order(server.port(), "CLIENT KILL TYPE normal");
        sleep(HEARD).await;
    };
    let mut lost = Vec::new();
    for round in 0..10 {
        let permit = limiter.check(rule(COUNT, "settled")).await;
        kill().await;
        let refunded = match permit {
            Ok(permit) => permit.refund().await.map_err(|error| error.to_string()),
            Err(refused) => Err(refused.to_string()),
        };
        lost.extend(refunded.err().map(|error| format!("refund {round}: {error}")));
        kill().await;
        let looked = limiter.peek(rule(COUNT, "settled")).await;
        lost.extend(looked.err().map(|error| format!("peek {round}: {error}")));
        kill().await;
        let inspected = limiter.inspect(rule(COUNT, "settled")).await;
        lost.extend(inspected.err().map(|error| format!("inspect {round}: {error}")));
        kill().await;
    }
    assert!(lost.is_empty(), "{} of 40 are lost; the first: {}", lost.len(), lost[0]);
}
