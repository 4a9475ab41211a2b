//! Callers whose future or runtime ends while the store works for them.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::thread;
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

fn from_environment(name: &str, default: u32) -> u32 {
    std::env::var(name).map_or(default, |number| number.parse().expect("a number"))
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

/// Drops the future at the end of this poll, counted from 1, or lets it end. Returns whether it ended.
async fn dropped_at<F: Future>(poll: u32, future: F) -> bool {
    if poll == 0 {
        return false;
    }
    let mut future = pin!(future);
    let mut polls = 0;
    poll_fn(|context| {
        polls += 1;
        match future.as_mut().poll(context) {
            Poll::Ready(_) => Poll::Ready(true),
            Poll::Pending if polls >= poll => Poll::Ready(false),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
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

/// `LONG_LIVED=100000` for more than `scripts/test` asks.
#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
fn f_69_calls_of_a_runtime_are_decided_while_others_end(#[case] kind: Kind) {
    let calls = from_environment("LONG_LIVED", 2_000);
    let (_database, store) = store_of_ended_runtimes(kind);
    let ended = AtomicBool::new(false);
    let (undecided, runtimes) = thread::scope(|scope| {
        let short = scope.spawn(|| {
            let mut runtimes = 0_u32;
            while !ended.load(Ordering::Relaxed) {
                let short = runtime();
                short.block_on(async {
                    let clients = (0..4).map(|n| 1_000_000 + runtimes * 4 + n);
                    for client in clients {
                        // Dropped with the runtime, under way.
                        tokio::spawn(store.acquire(&[charge(client)]));
                    }
                    sleep(Duration::from_millis(u64::from(runtimes % 10))).await;
                });
                drop(short);
                runtimes += 1;
                thread::sleep(Duration::from_millis(45));
            }
            runtimes
        });
        // The first caller is one of those that end.
        thread::sleep(Duration::from_millis(20));
        let undecided = runtime().block_on(async {
            let mut undecided = Vec::new();
            for client in 0..calls {
                if let Err(error) = store.acquire(&[charge(client)]).await {
                    undecided.push(error);
                }
            }
            undecided
        });
        ended.store(true, Ordering::Relaxed);
        (undecided, short.join().expect("it ends"))
    });
    println!(
        "F-69 in {kind:?}: {} of {calls} undecided beside {runtimes} runtimes",
        undecided.len()
    );
    assert!(undecided.is_empty(), "{undecided:?}");
}

/// A relative: connections that the first caller's runtime opened end with it, a moment after they were used.
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
    let drops = from_environment("DROPS", 80);
    let database = Database::with_table(kind).await;
    let store = database.pool(8).await.store().deadline(DEADLINE).build();
    for client in 0..drops {
        let verdict = store.acquire(&[charge(client)]).await.expect("of five");
        dropped_at(client % 4, store.settle(&[reset(client, &verdict)])).await;
        settles(&store, client).await;
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

/// `DROPS=4000` for more than `scripts/test` asks.
#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f_69_a_call_that_is_dropped_at_any_poll_is_charged_once_at_most_and_not_if_refused(#[case] kind: Kind) {
    let drops = from_environment("DROPS", 80);
    let database = Database::with_table(kind).await;
    let store = database.pool(8).await.store().deadline(DEADLINE).build();
    let address = 1_000_000;
    for _ in 0..COUNT {
        store.acquire(&[charge(address)]).await.expect("of five");
    }
    let (mut charged, mut ended) = (0, 0);
    for client in 0..drops {
        let (refused, admitted) = (2 * client, 2 * client + 1);
        dropped_at(client % 5, store.acquire(&[charge(refused), charge(address)])).await;
        ended += u32::from(dropped_at(client % 5, store.acquire(&[charge(admitted)])).await);
        // The ones under way are behind the next answer of the same row, or else they were never sent.
        sleep(Duration::from_millis(2)).await;
        if client % 8 == 7 || client + 1 == drops {
            sleep(Duration::from_millis(20)).await;
            for before in client.saturating_sub(7)..=client {
                assert_eq!(
                    remaining(&store, 2 * before).await,
                    COUNT,
                    "a refused call charges nothing"
                );
                let taken = COUNT - remaining(&store, 2 * before + 1).await;
                assert!(taken <= 1, "charged {taken} times");
                charged += taken;
            }
        }
    }
    println!("{kind:?}: {drops} drops of each, {ended} had ended, {charged} were charged");
    assert!(charged >= ended);
}

/// Each future that waits for the store has its statement run to its end before the pool is used again.
#[tokio::test]
async fn what_a_dropped_call_left_under_way_holds_no_connection() {
    let database = Database::with_table(Kind::Postgres).await;
    let pool = database.pool(2).await;
    let store = pool.store().deadline(DEADLINE).build();
    for client in 0..20 {
        dropped_at(1, store.acquire(&[charge(client)])).await;
    }
    let Pool::Postgres(pool) = &pool else { unreachable!() };
    let end = Instant::now() + DEADLINE;
    while pool.num_idle() < pool.size() as usize {
        assert!(Instant::now() < end, "all come back");
        sleep(Duration::from_millis(5)).await;
    }
}
