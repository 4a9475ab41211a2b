//! A success clears its record: up to its own hit, in time, and never at the cost of the answer.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rate_limit::{Limiter, OnStoreError, RedisStore, Rejection, Rule, limit_per_time};
use tokio::sync::{Mutex, Notify};
use tokio::time::timeout;

use crate::common::{admits, key, limiter, ms, per_minute, rule};
use crate::probe::Probe;
use crate::stopwatch::Stopwatch;
use crate::support::{FaultProxy, RedisServer};

#[derive(Debug, PartialEq)]
enum Failed {
    Password,
    Limited,
}

impl From<Rejection> for Failed {
    fn from(refusal: Rejection) -> Self {
        assert!(refusal.is_limited(), "{refusal}");
        Self::Limited
    }
}

/// Succeeds once it is told to, if there is somebody to tell it.
#[limit_per_time(5, "10m", key = user, reset_on_success, limiter = limiter)]
async fn login(limiter: &Limiter, user: &str, gate: Option<&Notify>) -> Result<&'static str, Failed> {
    let gate = gate.ok_or(Failed::Password)?;
    gate.notified().await;
    Ok("welcome")
}

#[tokio::test]
async fn rst_02_a_slow_success_keeps_the_failures_that_came_meanwhile() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let limiter = limiter(&server).await;
    let gate = Notify::new();
    assert_eq!(login(&limiter, "alice", None).await, Err(Failed::Password));
    let mut slow = Box::pin(login(&limiter, "alice", Some(&gate)));
    // It is in its body when the other has been charged.
    while probe.hits().await < 2 {
        assert!(timeout(ms(5), &mut slow).await.is_err());
    }
    let mut failures = 0;
    for _ in 0..20 {
        failures += u32::from(login(&limiter, "alice", None).await == Err(Failed::Password));
    }
    assert_eq!(failures, 3);
    gate.notify_one();
    assert_eq!(slow.await, Ok("welcome"));
    assert_eq!(
        probe.hits().await,
        3,
        "the two up to the success are gone, the later ones are not"
    );
    for expected in [Failed::Password, Failed::Password, Failed::Limited] {
        assert_eq!(login(&limiter, "alice", None).await, Err(expected));
    }
    assert_eq!(limiter.unsettled(), 0);
}

#[tokio::test]
async fn rst_02_a_reset_of_a_ring_keeps_what_came_later() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let limiter = limiter(&server).await;
    let mut permits = Vec::new();
    for _ in 0..200 {
        permits.push(limiter.check(rule(200, "a")).await.expect("it fits"));
    }
    let key = probe.key().await;
    let all = probe.log(&key).await.expect("it is there").entries;
    let late = permits.split_off(150).swap_remove(0);
    late.reset().await.expect("the store answers");
    let log = probe.log(&key).await.expect("it is there");
    assert_eq!(log.ring, Some(200));
    assert_eq!(log.entries, all[151..]);
    // Earlier ones come too late, whether they succeeded or not.
    permits.swap_remove(3).reset().await.expect("the store answers");
    assert_eq!(probe.log(&key).await.expect("it is there").entries, all[151..]);
    assert_eq!(
        limiter
            .peek(Rule::new(per_minute(200), crate::common::key("a")))
            .await
            .expect("it answers")
            .remaining,
        151
    );
}

/// What happens to the server while a call is in its body.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Dies,
    Stops,
}

static BODIES: AtomicU32 = AtomicU32::new(0);

#[limit_per_time(5, "10m", key = user, reset_on_success, limiter = limiter)]
async fn log_in_while(
    limiter: &Limiter,
    user: &str,
    server: &Mutex<RedisServer>,
    fate: Fate,
) -> Result<String, Failed> {
    BODIES.fetch_add(1, Ordering::SeqCst);
    let mut server = server.lock().await;
    match fate {
        Fate::Dies => server.stop(),
        Fate::Stops => server.pause(),
    }
    Ok(format!("welcome, {user}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rst_07_a_reset_that_fails_changes_no_answer() {
    for fate in [Fate::Dies, Fate::Stops] {
        for mode in [OnStoreError::Local, OnStoreError::Closed] {
            let server = Mutex::new(RedisServer::start());
            let url = server.lock().await.url();
            let store = RedisStore::builder(&url).connect().await.expect("it takes us");
            let limiter = Limiter::builder()
                .store(store)
                .on_store_error(mode)
                .build()
                .expect("it is right");
            let before = BODIES.load(Ordering::SeqCst);
            let stopwatch = Stopwatch::start();
            let answer = log_in_while(&limiter, "alice", &server, fate).await;
            let took = stopwatch.stop();
            assert_eq!(answer.as_deref(), Ok("welcome, alice"), "{fate:?}, {mode:?}");
            println!("RST-07 {fate:?}, {mode:?}: {took:.1?}");
            assert!(took.is_within(ms(100 + 20)), "{fate:?}, {mode:?}: {took:?}");
            assert_eq!(limiter.unsettled(), 1, "{fate:?}, {mode:?}");
            assert_eq!(BODIES.load(Ordering::SeqCst), before + 1);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rst_07_a_reset_is_not_repeated() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let proxy = FaultProxy::start(server.port()).await;
    let store = RedisStore::builder(&proxy.url())
        .deadline(ms(250))
        .connect()
        .await
        .expect("it takes us");
    let limiter = Limiter::builder().store(store).build().expect("it is right");
    let gate = Notify::new();
    let mut call = Box::pin(login(&limiter, "alice", Some(&gate)));
    while probe.hits().await < 1 {
        let _ = timeout(ms(5), &mut call).await;
    }
    assert!(timeout(ms(20), &mut call).await.is_err(), "it is in its body");
    let before = probe.info("commandstats", "cmdstat_evalsha").await;
    proxy.arm(crate::support::Fault::Drop);
    gate.notify_one();
    assert_eq!(call.await, Ok("welcome"));
    assert_eq!(limiter.unsettled(), 1, "what became of it is not known");
    tokio::time::sleep(ms(100)).await;
    assert_eq!(probe.info("commandstats", "cmdstat_evalsha").await, before + 1);
    assert_eq!(probe.hits().await, 0, "it was done, once");
}

#[tokio::test]
async fn rst_08_a_call_dropped_before_it_is_sent_is_not_charged() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let limiter = limiter(&server).await;
    let before = probe.info("commandstats", "cmdstat_evalsha").await;
    drop(limiter.check(rule(5, "a")));
    drop(login(&limiter, "alice", None));
    assert_eq!(probe.hits().await, 0);
    assert_eq!(probe.info("commandstats", "cmdstat_evalsha").await, before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rst_08_a_call_dropped_while_it_waits_is_charged_once_at_most() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let limiter = limiter(&server).await;
    for turn in 0..10 {
        server.pause();
        assert!(timeout(ms(20), limiter.check(rule(50, "a"))).await.is_err());
        server.resume();
        // The answer to the dropped call comes first, and is not taken for that of the next.
        let next = limiter.check(rule(200, "b")).await.expect("it fits");
        assert_eq!(next.decision().expect("it is decided").remaining, 199 - turn);
        let charged = limiter
            .peek(Rule::new(per_minute(50), key("a")))
            .await
            .expect("it answers");
        assert_eq!(charged.remaining, 49 - turn, "the command was sent, and counts once");
    }
    assert_eq!(probe.hits().await, 20);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rst_08_calls_dropped_at_any_moment_mix_up_no_answers() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let limiter = limiter(&server).await;
    for turn in 0..300_u32 {
        let limit = Duration::from_micros(u64::from(turn % 30) * 20);
        let charges = probe.hits().await;
        let dropped = timeout(limit, limiter.check(rule(400, "dropped"))).await.is_err();
        let kept = limiter.check(rule(1_000, "kept")).await.expect("it fits");
        assert_eq!(
            kept.decision().map(|decision| (decision.limit(), decision.remaining)),
            Some((1_000, 999))
        );
        kept.reset().await.expect("the store answers");
        let charged = probe.hits().await - charges;
        assert!(charged <= 1, "turn {turn}: {charged} charges");
        assert!(dropped || charged == 1, "turn {turn}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rst_08_a_call_dropped_in_its_body_stays_charged() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let limiter = limiter(&server).await;
    let never = Notify::new();
    for turn in 1..=5 {
        let mut call = Box::pin(login(&limiter, "alice", Some(&never)));
        while probe.hits().await < turn {
            assert!(timeout(ms(5), &mut call).await.is_err());
        }
        assert!(timeout(ms(20), &mut call).await.is_err(), "it is in its body");
        drop(call);
        assert_eq!(probe.hits().await, turn);
    }
    assert_eq!(login(&limiter, "alice", Some(&never)).await, Err(Failed::Limited));
    assert_eq!(limiter.unsettled(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rst_08_a_call_dropped_during_its_reset_settles_or_stays_charged() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let limiter = limiter(&server).await;
    let permit = limiter.check(rule(5, "a")).await.expect("it fits");
    server.pause();
    assert!(timeout(ms(20), permit.reset()).await.is_err());
    server.resume();
    // It was sent before the next call, so it was done before it.
    let next: Rule = rule(5, "a");
    let next = limiter.check(next).await.expect("it fits");
    assert_eq!(next.decision().map(|decision| decision.remaining), Some(4));
    assert_eq!(probe.hits().await, 1);

    drop(next.reset());
    assert_eq!(probe.hits().await, 1, "a reset that is not sent forgets nothing");
    assert!(admits(&limiter, rule(5, "a")).await);
}
