//! What goes wrong between us and the server: a call is charged at most once, and decided all the same.

use std::time::{Duration, Instant};

use rate_limit::{Limiter, OnStoreError, RedisStore, Rule, StoreErrorKind};

use crate::common::{PATIENT, key, ms, per_minute, rule};
use crate::probe::Probe;
use crate::support::{Fault, FaultProxy, RedisServer, Weather};

/// Long enough for a busy machine, and yet to be waited for.
const DEADLINE: Duration = ms(250);

async fn through(proxy: &FaultProxy) -> Limiter {
    let store = RedisStore::builder(&proxy.url()).deadline(DEADLINE).connect().await;
    let limiter = Limiter::builder().store(store.expect("the server takes us"));
    limiter.build().expect("nothing is wrong with it")
}

/// Waits until it has connected anew, without a call that would have it do so.
async fn reconnects(proxy: &FaultProxy) {
    let start = Instant::now();
    while proxy.accepted() < 2 {
        assert!(start.elapsed() < Duration::from_secs(1), "it does not connect again");
        tokio::time::sleep(ms(5)).await;
    }
    // It logs in and loads the scripts.
    tokio::time::sleep(ms(100)).await;
}

async fn one_charge_and_recovery(fault: Fault) {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    for count in [5, 200] {
        for mode in [OnStoreError::Local, OnStoreError::Open, OnStoreError::Closed] {
            // One each: what connects anew after one fault must not run into the next.
            let proxy = FaultProxy::start(server.port()).await;
            let limiter = through(&proxy).await;
            proxy.arm(fault);
            let call = limiter.check(rule(count, "a").on_store_error(mode)).await;
            assert!(!proxy.is_armed(), "{fault:?} came to pass");
            match (mode, call) {
                (OnStoreError::Local, Ok(permit)) => {
                    // By the memory of this process, where other modes charge nothing.
                    assert_eq!(permit.decision().expect("it is decided").remaining, count - 1);
                }
                (OnStoreError::Open, Ok(permit)) => assert!(permit.decision().is_none()),
                (OnStoreError::Closed, Err(refusal)) => assert!(!refusal.is_limited(), "{refusal}"),
                (mode, call) => panic!("{mode:?}: {call:?}"),
            }
            // A reply that stalls is still held back: it takes another connection.
            reconnects(&proxy).await;
            let afterwards = limiter
                .peek(Rule::new(per_minute(count), key("a")))
                .await
                .expect("the store answers");
            assert_eq!(afterwards.remaining, count - 1, "{fault:?}, {mode:?}: charged once");
            let _: () = probe.ask("FLUSHALL").await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn red_08_a_reply_that_is_lost_was_charged_once() {
    one_charge_and_recovery(Fault::Drop).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn red_08_a_reply_that_is_garbage_was_charged_once() {
    one_charge_and_recovery(Fault::Garbage).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn red_08_a_reply_that_stalls_was_charged_once() {
    one_charge_and_recovery(Fault::Stall).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn red_08_a_connection_that_is_refused_charges_nothing() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let proxy = FaultProxy::start(server.port()).await;
    let limiter = through(&proxy).await;
    proxy.turn(Weather::Refuse).await;
    for left in (0..5).rev() {
        let permit = limiter.check(rule(5, "a")).await.expect("it fits");
        assert_eq!(permit.decision().expect("it is decided").remaining, left);
    }
    let refused = limiter.check(rule(5, "a")).await.expect_err("the same policy holds");
    assert!(refused.is_limited());
    let error = limiter
        .peek(Rule::new(per_minute(5), key("a")))
        .await
        .expect_err("nobody answers");
    assert_eq!(error.kind(), StoreErrorKind::Unavailable);
    assert_eq!(probe.hits().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn red_08_an_error_tells_what_is_known_of_the_charge() {
    let server = RedisServer::start();
    let mut kinds = Vec::new();
    for fault in [Fault::Drop, Fault::Stall, Fault::Garbage] {
        let proxy = FaultProxy::start(server.port()).await;
        let limiter = through(&proxy).await;
        proxy.arm(fault);
        let error = limiter
            .peek(Rule::new(per_minute(5), key("a")))
            .await
            .expect_err("no answer comes");
        kinds.push(error.kind());
    }
    let lost = StoreErrorKind::Unavailable;
    assert_eq!(kinds, [lost, StoreErrorKind::Timeout, StoreErrorKind::Unexpected]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn red_09_a_charge_that_comes_late_lands_once_at_the_time_of_the_server() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let store = RedisStore::builder(&server.url())
        .deadline(ms(100))
        .connect()
        .await
        .expect("it takes us");
    let limiter = Limiter::builder()
        .store(store)
        .build()
        .expect("nothing is wrong with it");
    let before = probe.time().await;
    let frozen = Instant::now();
    server.pause();
    let permit = limiter.check(rule(5, "a")).await.expect("the fallback decides");
    assert_eq!(permit.decision().map(|decision| decision.remaining), Some(4));
    tokio::time::sleep(ms(400)).await;
    let frozen = frozen.elapsed().as_micros() as u64;
    server.resume();

    // The client gave up long ago; the command is still in the socket of the server.
    for _ in 0..200 {
        if probe.hits().await == 1 {
            break;
        }
        tokio::time::sleep(ms(5)).await;
    }
    let log = probe.log(&probe.key().await).await.expect("it is there");
    assert_eq!(log.entries.len(), 1);
    assert!(
        log.entries[0] >= before + frozen - 50_000,
        "at the time of the thaw, not of the call"
    );

    // It stands for the call that the fallback admitted: nobody is refused below the limit.
    let strict: Rule = rule(5, "a").on_store_error(OnStoreError::Closed);
    for left in (0..4).rev() {
        let permit = limiter.check(strict).await.expect("it fits");
        assert_eq!(permit.decision().map(|decision| decision.remaining), Some(left));
    }
    assert!(limiter.check(strict).await.expect_err("it is full").is_limited());
}

#[tokio::test]
async fn red_15_a_server_that_cannot_write_does_not_decide() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let store = RedisStore::builder(&server.url())
        .deadline(PATIENT)
        .connect()
        .await
        .expect("it takes us");
    let limiter = Limiter::builder()
        .store(store)
        .build()
        .expect("nothing is wrong with it");
    for (fail, repair) in [
        ("CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"),
        (
            "CONFIG SET min-replicas-to-write 1",
            "CONFIG SET min-replicas-to-write 0",
        ),
        ("REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"),
    ] {
        let _: () = probe.ask(fail).await;
        let open = limiter
            .check(rule(5, "a").on_store_error(OnStoreError::Open))
            .await
            .expect("it is open");
        assert!(open.decision().is_none(), "{fail}");
        let closed = limiter.check(rule(5, "a").on_store_error(OnStoreError::Closed)).await;
        let closed = closed.expect_err("it is closed");
        assert_eq!(closed.kind(), rate_limit::RejectionKind::StoreUnavailable, "{fail}");
        let _: () = probe.ask(repair).await;
        assert_eq!(probe.hits().await, 0, "{fail}");
        let permit = limiter.check(rule(5, "a")).await.expect("it fits");
        assert_eq!(
            permit.decision().map(|decision| decision.remaining),
            Some(4),
            "{repair}"
        );
        let _: () = probe.ask("FLUSHALL").await;
    }
}
