//! The contract of a store, for token buckets.

use std::sync::Arc;
use std::time::Duration;

use rate_limit::{Algorithm, ManualClock, contract};
use rstest::rstest;

use crate::database::{Database, Kind};

#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
#[tokio::test]
async fn alg_01_a_sql_store_keeps_the_contract_of_token_buckets(#[case] kind: Kind) {
    let database = Database::with_table(kind).await;
    let clock = ManualClock::new();
    let store = database.pool(2).await.store().deadline(Duration::from_secs(5));
    contract::check_token_buckets(&store.clock(&clock).build(), &clock).await;
}

/// `TWO_POLICIES=100000` for more than `scripts/test` asks.
#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
#[tokio::test]
async fn f_01_two_policies_on_one_row(#[case] kind: Kind) {
    let calls = std::env::var("TWO_POLICIES").map_or(5_000, |calls| calls.parse().expect("a number"));
    let database = Database::with_table(kind).await;
    let clock = ManualClock::new();
    let store = database.pool(8).await.store().deadline(Duration::from_secs(5));
    let store = store.clock(&clock).build();
    let told = contract::check_two_policies(&store, &clock, Algorithm::TokenBucket, calls).await;
    println!("F-01 in {kind:?}: {told:?}");
    assert!(told.admitted > calls / 10 && told.waited > calls / 400, "{told:?}");
}

/// `BACKLOG=5000` members for more than `scripts/test` asks.
#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
#[tokio::test]
async fn f_03_a_backlog_of_any_age_is_limited_as_it_would_have_been_in_time(#[case] kind: Kind) {
    let members = std::env::var("BACKLOG").map_or(20, |members| members.parse().expect("a number"));
    let database = Database::with_table(kind).await;
    let clock = ManualClock::new();
    let store = database.pool(2).await.store().deadline(Duration::from_secs(5));
    let store = store.clock(&clock).build();
    let counted = contract::check_backlog(&store, &clock, members, async || {
        store.purge().await.expect("it purges");
    })
    .await;
    println!("F-03 in {kind:?}: {counted}");
    assert_eq!(counted, 5 * 3 * members as u64);
}

/// A dropped future stops no statement, so each attempt is a task of its own.
#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
#[tokio::test]
async fn f_02_a_dropped_future_is_charged_once_or_not_at_all(#[case] kind: Kind) {
    let database = Database::with_table(kind).await;
    let store = database.pool(4).await.store().deadline(Duration::from_secs(5)).build();
    let dropped = contract::check_dropped_futures(&store).await;
    println!("F-02 in {kind:?}: {dropped} futures dropped");
    assert!(dropped > 50, "{dropped}");
}

/// The connections of the pool were made in the runtime that goes on, or in whichever needed one.
#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f_69_calls_do_not_hang_on_a_runtime_that_ends(#[case] kind: Kind) {
    let database = Database::with_table(kind).await;
    let store = database
        .plain_pool()
        .await
        .store()
        .deadline(Duration::from_secs(5))
        .build();
    let calls = contract::check_runtimes(Arc::new(store), Duration::from_secs(2)).await;
    println!("F-69 in {kind:?}: {calls:?}");
    assert!(calls.ended > 10, "{calls:?}");
}
