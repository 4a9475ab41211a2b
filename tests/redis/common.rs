//! Short names for what most tests here start with.

use std::time::{Duration, Instant};

use rate_limit::{
    Client, Key, Limiter, ManualClock, MemoryStore, Method, OnStoreError, Permit, Policy, RedisStore, Rejection, Rule,
};

use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::support::RedisServer;

/// Far above what any call takes, so that only what is about deadlines fails by one.
pub(crate) const PATIENT: Duration = Duration::from_secs(10);
pub(crate) const MINUTE: Duration = Duration::from_secs(60);

pub(crate) const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub(crate) const fn per_minute(count: u32) -> Policy {
    Policy::sliding_window(count, MINUTE)
}

pub(crate) fn key(client: &str) -> Key {
    Key::new(Method::named("login"), Client::of(client).expect("it names somebody"))
}

pub(crate) fn rule(count: u32, client: &str) -> Rule {
    Rule::new(per_minute(count), key(client))
}

/// A store that asks for every call, since tests change what the server holds past it.
pub(crate) async fn store(url: &str) -> RedisStore {
    let store = RedisStore::builder(url).deadline(PATIENT).deny_cache(Duration::ZERO);
    store.connect().await.expect("the server takes us")
}

/// A limiter that refuses when the store does not decide, so that no error goes unseen.
pub(crate) fn strict(store: RedisStore) -> Limiter {
    let limiter = Limiter::builder().store(store).on_store_error(OnStoreError::Closed);
    limiter.build().expect("nothing is wrong with it")
}

pub(crate) async fn limiter(server: &RedisServer) -> Limiter {
    strict(store(&server.url()).await)
}

/// A limiter over the server that goes by a clock of the test.
pub(crate) async fn turned_by(clock: &ManualClock, server: &RedisServer) -> Limiter {
    let store = RedisStore::builder(&server.url()).clock(clock).deadline(PATIENT);
    strict(store.connect().await.expect("the server takes us"))
}

/// One limiter over each of our stores, by one clock.
pub(crate) async fn both_turned_by(clock: &ManualClock, server: &RedisServer) -> [Limiter; 2] {
    let memory = MemoryStore::builder().clock(clock).build();
    let memory = Limiter::builder().store(memory).build();
    [
        turned_by(clock, server).await,
        memory.expect("nothing is wrong with it"),
    ]
}

/// How many of `calls` calls at once are admitted. Any answer but yes and "limited" is a failure.
pub(crate) async fn admitted(limiter: &Limiter, rule: Rule, calls: usize) -> usize {
    let calls: Vec<_> = (0..calls)
        .map(|_| {
            let limiter = limiter.clone();
            tokio::spawn(async move { admits(&limiter, rule).await })
        })
        .collect();
    let mut admitted = 0;
    for call in calls {
        admitted += usize::from(call.await.expect("no call panics"));
    }
    admitted
}

pub(crate) async fn admits(limiter: &Limiter, rule: Rule) -> bool {
    is_admitted(limiter.check(rule).await)
}

/// Any answer but yes and "limited" is a failure.
pub(crate) fn is_admitted(answer: Result<Permit, Rejection>) -> bool {
    match answer {
        Ok(permit) => {
            assert!(permit.decision().is_some(), "the store decides");
            true
        }
        Err(refusal) => {
            assert!(refusal.is_limited(), "{refusal}");
            false
        }
    }
}

/// What remains now, and charges nothing.
pub(crate) async fn remaining(limiter: &Limiter, rule: Rule) -> u32 {
    let decision = limiter.peek(rule).await.expect("the store answers");
    decision.remaining
}

/// Until when this call is refused. It must be.
pub(crate) async fn wait(limiter: &Limiter, rule: Rule) -> Duration {
    let refusal = limiter.check(rule).await.expect_err("it is full");
    assert!(refusal.is_limited(), "{refusal}");
    refusal.retry_after().expect("it will fit")
}

/// Asks every 5 ms from now on, with `admitted` of the rule's calls admitted before, until a call is refused by the limit: when that is,
/// and how many were admitted in all.
pub(crate) fn asks_until_limited(limiter: &Limiter, rule: Rule, admitted: u32) -> JoinHandle<(Instant, u32)> {
    let limiter = limiter.clone();
    tokio::spawn(async move {
        let mut admitted = admitted;
        loop {
            match limiter.check(rule).await {
                Ok(_) => admitted += 1,
                Err(refused) if refused.is_limited() => return (Instant::now(), admitted),
                Err(_) => {}
            }
            sleep(ms(5)).await;
        }
    })
}

/// Decided within a second of when the failover was complete, and at most as many again admitted as the limit of 5.
pub(crate) async fn assert_failed_over(asking: JoinHandle<(Instant, u32)>, completed: Instant) {
    let (decided, admitted) = tokio::time::timeout(Duration::from_secs(20), asking)
        .await
        .expect("it decides again")
        .expect("no call panics");
    let took = decided.saturating_duration_since(completed);
    println!("RED-15: decided {took:?} after the failover, {admitted} admitted of 5");
    assert!(took < Duration::from_secs(1), "{took:?}");
    assert!(
        (5..=10).contains(&admitted),
        "at most as many again as the limit: {admitted}"
    );
}
