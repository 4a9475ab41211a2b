//! The connection is lost and comes back by itself, without a storm.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rate_limit::{Limiter, OnStoreError, RedisStore, RejectionKind, Rule};
use tokio::net::TcpListener;

use crate::common::{admits, limiter, ms, rule, store, strict};
use crate::probe::Probe;
use crate::support::{FaultProxy, RedisServer};

/// Asks until the store decides.
async fn first_success(limiter: &Limiter, rule: Rule) -> Duration {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(5) {
        match limiter.check(rule.on_store_error(OnStoreError::Closed)).await {
            Ok(_) => return start.elapsed(),
            Err(refusal) => assert_eq!(refusal.kind(), RejectionKind::StoreUnavailable),
        }
        tokio::time::sleep(ms(1)).await;
    }
    panic!("the store does not decide any more");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn red_12_a_connection_that_is_killed_comes_back_within_a_second() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let limiter = limiter(&server).await;
    for turn in 0..5 {
        assert!(admits(&limiter, rule(100, "a")).await, "{turn}");
        let killed: u64 = probe.ask("CLIENT KILL TYPE normal SKIPME yes").await;
        assert_eq!(killed, 1, "the store holds one connection");
        let took = first_success(&limiter, rule(100, "a")).await;
        assert!(took < Duration::from_secs(1), "{took:?}");
    }
    // An attempt that met the killed connection was not charged, or was once: never twice.
    let hits = probe.hits().await;
    assert!((10..=15).contains(&hits), "{hits}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn red_12_a_server_that_restarts_is_found_within_a_second() {
    let mut server = RedisServer::start();
    let limiter = limiter(&server).await;
    for turn in 0..5 {
        assert!(admits(&limiter, rule(100, "a")).await, "{turn}");
        server.stop();
        let refused = limiter.check(rule(100, "a")).await.expect_err("nobody decides");
        assert_eq!(refused.kind(), RejectionKind::StoreUnavailable);
        // While it is away the pauses between attempts grow.
        tokio::time::sleep(ms(200)).await;
        server.restart();
        let took = first_success(&limiter, rule(100, "a")).await;
        assert!(took < Duration::from_secs(1), "{took:?}");
        let connections = Probe::of(&server)
            .await
            .info("stats", "total_connections_received")
            .await;
        // Its own, that of the harness, the one of the store, and one that came while it started.
        assert!(connections <= 5, "{connections} connections");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn red_07_a_restart_costs_no_caller_an_error() {
    let mut server = RedisServer::start();
    let store = RedisStore::builder(&server.url()).connect().await.expect("it takes us");
    let limiter = Limiter::builder()
        .store(store)
        .build()
        .expect("nothing is wrong with it");
    for turn in 0..60 {
        if turn % 20 == 10 {
            server.restart();
        }
        let permit = limiter.check(rule(1_000, "a")).await.expect("each call is decided");
        assert!(permit.decision().is_some());
        tokio::time::sleep(ms(5)).await;
    }
    // The server of the third start has forgotten scripts and hits, and serves.
    let took = first_success(&limiter, rule(1_000, "a")).await;
    assert!(took < Duration::from_secs(1), "{took:?}");
}

/// Has 200 tasks ask for 1.5 s, and tells how often.
async fn ask_in_vain(limiter: &Limiter) -> usize {
    let start = Instant::now();
    let calls: Vec<_> = (0..200)
        .map(|_| {
            let limiter = limiter.clone();
            tokio::spawn(async move {
                let mut asked = 0;
                while start.elapsed() < ms(1_500) {
                    limiter.check(rule(5, "a")).await.expect_err("nobody decides");
                    asked += 1;
                    tokio::time::sleep(ms(10)).await;
                }
                asked
            })
        })
        .collect();
    let mut asked = 0;
    for call in calls {
        asked += call.await.expect("no call panics");
    }
    asked
}

/// Pauses of 10 ms, doubled up to 200 ms, of each at least a half.
fn assert_no_storm(attempts: usize, asked: usize) {
    println!("RED-12: {attempts} attempts in 1.5 s for {asked} calls");
    assert!(asked > 2_000, "{asked} calls");
    assert!((2..=20).contains(&attempts), "{attempts} attempts");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn red_12_many_calls_that_wait_make_no_storm_of_connections() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .await
        .expect("loopback has a free port");
    let port = listener.local_addr().expect("it is bound").port();
    let attempts = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&attempts);
    let closing = tokio::spawn(async move {
        while listener.accept().await.is_ok() {
            counted.fetch_add(1, Ordering::SeqCst);
        }
    });
    let store = RedisStore::builder(&format!("redis://127.0.0.1:{port}/"))
        .connect()
        .await;
    let limiter = strict(store.expect("a server that cannot be reached is no error"));
    attempts.store(0, Ordering::SeqCst);
    let asked = ask_in_vain(&limiter).await;
    assert_no_storm(attempts.load(Ordering::SeqCst), asked);
    closing.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn red_12_nor_where_connecting_works_and_no_call_does() {
    let server = RedisServer::start();
    let proxy = FaultProxy::start(server.port()).await;
    let limiter = strict(store(&proxy.url()).await);
    assert!(admits(&limiter, rule(5, "a")).await);
    proxy.hang_up_on_calls();
    let before = proxy.accepted();
    let asked = ask_in_vain(&limiter).await;
    assert_no_storm(proxy.accepted() - before, asked);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn red_12_a_server_that_comes_up_late_is_found() {
    let mut server = RedisServer::start();
    server.stop();
    let start = Instant::now();
    let limiter = limiter(&server).await;
    assert!(
        start.elapsed() < ms(1_700),
        "an unreachable server is no error, and holds up no start"
    );
    let refused = limiter.check(rule(5, "a")).await.expect_err("nobody decides");
    assert_eq!(refused.kind(), RejectionKind::StoreUnavailable);
    server.restart();
    let took = first_success(&limiter, rule(5, "a")).await;
    assert!(took < Duration::from_secs(1), "{took:?}");
    // However long it was away, and by itself: nobody asks meanwhile.
    server.stop();
    limiter.check(rule(5, "a")).await.expect_err("nobody decides");
    tokio::time::sleep(ms(5_000)).await;
    server.restart();
    tokio::time::sleep(ms(700)).await;
    assert!(admits(&limiter, rule(5, "a")).await);
}
