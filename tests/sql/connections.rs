//! Connections that end while they are idle, of a pool that does not test them, as our documentation has it.

use std::time::Duration;

use rate_limit::Rule;
use rstest::rstest;
use tokio::time::sleep;

use crate::database::{Database, Kind, Pool, on_each};
use crate::faults::{closed_within, rule};
use crate::idle::kill;
use crate::support::Fault;

/// How many connections of the pool are idle when they end.
const IDLE: u32 = 4;
const DEADLINE: Duration = Duration::from_secs(2);
/// After so long without a call the store tests a connection before it uses it.
const QUIET: Duration = Duration::from_millis(1_100);

/// Opens connections of the pool, so many in all, and leaves them idle.
async fn open_idle(pool: &Pool, connections: u32) {
    on_each!(pool, |pool| {
        let mut taken = Vec::new();
        for _ in 0..connections {
            taken.push(pool.acquire().await.expect("it connects"));
        }
        drop(taken);
        while pool.num_idle() < connections as usize {
            sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(pool.num_idle(), connections as usize);
    });
}

/// Ends all other connections to the database.
async fn terminate(database: &Database) {
    kill(&Database::at(database.kind, database.url.clone()).pool(1).await).await;
}

/// As many calls as there were idle connections, one after the other and then at once: each is decided by the store.
async fn all_are_decided(pool: &Pool, rule: impl Fn(u32) -> Rule) {
    let limiter = closed_within(pool, DEADLINE);
    for n in 0..IDLE {
        let call = limiter.check(rule(n % 2)).await;
        assert!(call.is_ok(), "call {n}: {:?}", call.err());
    }
    let mut calls = tokio::task::JoinSet::new();
    for n in 0..2 * IDLE {
        let (limiter, rule) = (limiter.clone(), rule(n % 2));
        calls.spawn(async move {
            limiter
                .check(rule)
                .await
                .map(drop)
                .map_err(|refused| refused.is_limited())
        });
    }
    let mut admitted = 0;
    for call in calls.join_all().await {
        assert!(call != Err(false), "the store did not decide");
        admitted += u32::from(call.is_ok());
    }
    assert_eq!(admitted, 2, "3 tokens each, of which 2 were taken");
}

#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[tokio::test]
async fn f_31_connections_that_an_operator_ended_fail_no_call(#[case] kind: Kind) {
    let database = Database::with_table(kind).await;
    let pool = database.pool(IDLE).await;
    open_idle(&pool, IDLE).await;
    let limiter = closed_within(&pool, DEADLINE);
    limiter.check(rule(7)).await.expect("the first");
    terminate(&database).await;
    sleep(QUIET).await;
    all_are_decided(&pool, rule).await;
    limiter.check(rule(7)).await.expect("a store that was used before");
}

#[rstest]
#[case(Kind::Postgres, "SET idle_session_timeout = '500ms'")]
#[case(Kind::MariaDb, "SET wait_timeout = 1")]
#[tokio::test]
async fn f_31_connections_that_the_server_ended_as_idle_fail_no_call(#[case] kind: Kind, #[case] ends: &'static str) {
    let database = Database::with_table(kind).await;
    let pool = database.pool_that(IDLE, ends).await;
    open_idle(&pool, IDLE).await;
    sleep(2 * QUIET).await;
    all_are_decided(&pool, rule).await;
}

/// With calls twice as often as a connection is tested, but each on another connection.
#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[tokio::test]
async fn f_31_a_connection_is_idle_for_as_long_as_its_turn_takes(#[case] kind: Kind) {
    let database = Database::with_table(kind).await;
    let pool = database.pool(IDLE).await;
    open_idle(&pool, IDLE).await;
    let limiter = closed_within(&pool, DEADLINE);
    let pause = QUIET / 2;
    for n in 0..IDLE {
        limiter.check(rule(n)).await.expect("the first of each");
        sleep(pause).await;
    }
    terminate(&database).await;
    for n in 0..IDLE {
        sleep(pause).await;
        limiter.check(rule(n)).await.expect("the second of each");
    }
}

/// A firewall that forgot a connection lets nothing through, and says nothing.
#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[tokio::test]
async fn f_31_a_connection_that_was_dropped_silently_fails_no_call(#[case] kind: Kind) {
    let (proxy, database) = Database::behind_proxy(kind).await;
    let pool = database.pool(1).await;
    pool.store().build().create_table().await.expect("it is created");
    let limiter = closed_within(&pool, DEADLINE);
    for n in 0..3 {
        open_idle(&pool, 1).await;
        sleep(QUIET).await;
        proxy.arm(Fault::Stall);
        limiter.check(rule(n)).await.expect("on another connection");
        assert!(!proxy.is_armed(), "the first one had no answer");
    }
}
