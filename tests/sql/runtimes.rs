//! Callers whose future or runtime ends while the store works for them, beside what the contract suite checks of every store.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use rate_limit::{Change, Charge, Client, Key, Method, Policy, Settlement, SqlStore, Store as _, Verdict};
use rstest::rstest;
use tokio::runtime::{Builder, Runtime};
use tokio::time::{Instant, sleep};

use crate::database::{Database, Kind, Pool};

/// Long, so that no busy machine ends a call.
const DEADLINE: Duration = Duration::from_secs(10);
const COUNT: u32 = 5;

fn runtime() -> Runtime {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("nothing hinders it")
}

fn charge(client: u32) -> Charge {
    let key = Key::new(Method::named("runtimes"), Client::of(&client).expect("somebody"));
    Charge::new(key, Policy::token_bucket(COUNT, Duration::from_secs(3_000)), 1)
}

/// What is left for a client.
async fn remaining(store: &SqlStore, client: u32) -> u32 {
    match store.peek(charge(client)).await.expect("it tells") {
        Verdict::Allowed { remaining, .. } => remaining,
        refused => panic!("{refused:?}"),
    }
}

fn reset(client: u32, verdict: &Verdict) -> Settlement {
    let Verdict::Allowed { hits, .. } = verdict else {
        panic!("{verdict:?}")
    };
    let charge = charge(client);
    Settlement::new(charge.key, charge.policy, Change::Reset { upto: hits[0] })
}

async fn settles(store: &SqlStore, client: u32) {
    let end = Instant::now() + DEADLINE;
    while remaining(store, client).await < COUNT {
        assert!(Instant::now() < end, "it is settled");
        sleep(Duration::from_millis(2)).await;
    }
}

/// Drops the future after so many polls, or when it has ended.
async fn dropped_after<F: Future>(most: u32, future: F) {
    let mut future = pin!(future);
    let mut polls = 0;
    poll_fn(|context| {
        if polls == most {
            return Poll::Ready(());
        }
        polls += 1;
        future.as_mut().poll(context).map(drop)
    })
    .await;
}

/// A store whose pool has connections of a runtime that has ended, and another that will.
fn store_of_ended_runtimes(kind: Kind) -> (Database, SqlStore) {
    let (database, pool) = runtime().block_on(async {
        let database = Database::with_table(kind).await;
        let pool = database.pool(8).await;
        (database, pool)
    });
    let store = pool.store().deadline(DEADLINE).build();
    (database, store)
}

/// Connections that the first caller's runtime opened end with it, a moment after they were used.
#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
fn f_69_connections_of_an_ended_runtime_are_replaced(#[case] kind: Kind) {
    let (_database, store) = store_of_ended_runtimes(kind);
    let lives = runtime();
    for round in 0..5 {
        let ends = runtime();
        let calls = |client: u32| {
            let store = store.clone();
            async move {
                let mut calls = tokio::task::JoinSet::new();
                for n in 0..6 {
                    calls.spawn(store.acquire(&[charge(client + n)]));
                }
                for call in calls.join_all().await {
                    call.unwrap_or_else(|error| panic!("round {round}: {error:?}"));
                }
            }
        };
        ends.block_on(calls(round * 100));
        lives.block_on(calls(round * 100 + 10));
        drop(ends);
        lives.block_on(calls(round * 100 + 20));
    }
}

/// `DROPS=4000` for more than `scripts/test` asks.
#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f_69_a_reset_goes_on_wherever_its_future_is_dropped(#[case] kind: Kind) {
    let drops = std::env::var("DROPS").map_or(80, |drops| drops.parse().expect("a number"));
    let database = Database::with_table(kind).await;
    let store = database.pool(8).await.store().deadline(DEADLINE).build();
    for client in 0..drops {
        let verdict = store.acquire(&[charge(client)]).await.expect("of five");
        dropped_after(client % 4, store.settle(&[reset(client, &verdict)])).await;
        store.drain().await;
        assert_eq!(remaining(&store, client).await, COUNT, "it is settled");
    }
}

/// A relative: the runtime ends too.
#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
fn f_69_a_reset_goes_on_if_its_runtime_ends(#[case] kind: Kind) {
    let (_database, store) = store_of_ended_runtimes(kind);
    let lives = runtime();
    runtime().block_on(store.acquire(&[charge(0)])).expect("of five");
    for client in 1..20 {
        let verdict = lives.block_on(store.acquire(&[charge(client)])).expect("of five");
        let ends = runtime();
        ends.block_on(async { drop(store.settle(&[reset(client, &verdict)])) });
        drop(ends);
        lives.block_on(settles(&store, client));
    }
}

/// Each future that waits for the store has its statement run to its end before the pool is used again.
#[tokio::test]
async fn what_a_dropped_call_left_under_way_holds_no_connection() {
    let database = Database::with_table(Kind::Postgres).await;
    let pool = database.pool(2).await;
    let store = pool.store().deadline(DEADLINE).build();
    for client in 0..20 {
        dropped_after(1, store.acquire(&[charge(client)])).await;
    }
    let Pool::Postgres(pool) = &pool else { unreachable!() };
    let end = Instant::now() + DEADLINE;
    while pool.num_idle() < pool.size() as usize {
        assert!(Instant::now() < end, "all come back");
        sleep(Duration::from_millis(5)).await;
    }
}
