//! Connections of a pool that end while nobody uses them.
//!
//! sqlx asks a connection for a sign of life before it hands it out, if the pool is as a user has it who sets nothing. A call
//! that finds its connection closed was never written, so nothing was kept of it: the database decides it on another one.

use std::time::Duration;

use rate_limit::{Client, Key, Limiter, Method, OnStoreError, Policy, Rule, SqlStoreBuilder, contract};
use rstest::rstest;
use sqlx::AssertSqlSafe;
use tokio::time::sleep;

use crate::database::{Database, Kind, Pool};
use crate::support::Tally;

const STORES: usize = 8;
const ROUNDS: usize = 5;
const COUNT: usize = 5;
const DEADLINE: Duration = Duration::from_millis(500);
/// How long after a connection was closed the client has heard of it.
const HEARD: Duration = Duration::from_millis(50);

fn rule(client: &str) -> Rule {
    let key = Key::new(Method::named("idle"), Client::of(client).expect("somebody"));
    Rule::new(Policy::token_bucket(COUNT as u32, Duration::from_secs(3_600)), key)
}

fn limiter(store: SqlStoreBuilder, mode: OnStoreError) -> Limiter {
    let limiter = Limiter::builder()
        .store(store.deadline(DEADLINE).build())
        .on_store_error(mode);
    limiter.build().expect("it is built")
}

/// Ends all connections to the database but that of `pool`, which has one.
pub async fn kill(pool: &Pool) {
    match pool {
        Pool::Postgres(pool) => {
            let all = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid()";
            sqlx::query(all).execute(pool).await.expect("it ends them");
        }
        Pool::MariaDb(pool) => {
            let all = "SELECT CAST(id AS CHAR) FROM information_schema.processlist
                WHERE db = DATABASE() AND id <> CONNECTION_ID()";
            let all: Vec<String> = sqlx::query_scalar(all).fetch_all(pool).await.expect("it lists them");
            for id in all {
                // One that has ended by itself is none any more.
                let _ = sqlx::query(AssertSqlSafe(format!("KILL {id}"))).execute(pool).await;
            }
        }
        Pool::Sqlite(_) => {}
    }
    sleep(HEARD).await;
}

#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f_31_a_connection_that_is_killed_while_idle_costs_no_call(#[case] kind: Kind) {
    let database = Database::with_table(kind).await;
    let killer = database.pool(1).await;
    for mode in [OnStoreError::Closed, OnStoreError::Local] {
        let mut limiters = Vec::new();
        for _ in 0..STORES {
            limiters.push(limiter(database.plain_pool().await.store(), mode));
        }
        let mut tally = Tally::default();
        for round in 0..=ROUNDS {
            if round > 0 {
                kill(&killer).await;
            }
            let calls: Vec<_> = limiters
                .iter()
                .map(|limiter| {
                    let (limiter, rule) = (limiter.clone(), rule(&format!("{mode:?}")));
                    tokio::spawn(async move { limiter.check(rule).await })
                })
                .collect();
            for call in calls {
                tally.enter(&call.await.expect("no call panics"));
            }
        }
        println!("F-31 {kind:?}, {mode:?}, connections killed {ROUNDS} times: {tally:?}");
        assert_eq!(tally, Tally::by_store(STORES * (ROUNDS + 1), COUNT));
    }
}

/// A pool that several tests share, each with a runtime of its own.
#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
fn f_31_a_pool_that_outlives_its_runtimes_is_decided_by_the_database(#[case] kind: Kind) {
    const RUNTIMES: usize = 8;
    let runtime = || tokio::runtime::Runtime::new().expect("there are threads");
    let first = runtime();
    let (database, pool) = first.block_on(async {
        let database = Database::with_table(kind).await;
        let pool = database.plain_pool().await;
        (database, pool)
    });
    let limiter = limiter(pool.store(), OnStoreError::Local);
    drop(first);
    let mut tally = Tally::default();
    for _ in 0..RUNTIMES {
        tally.enter(&runtime().block_on(limiter.check(rule("static"))));
    }
    println!("F-31 {kind:?}, a pool of {RUNTIMES} runtimes: {tally:?}");
    assert_eq!(tally, Tally::by_store(RUNTIMES, COUNT));
    drop(database);
}

/// A relative of both: the pool was made in a runtime that has ended, and others end beside.
#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
fn f_69_nor_do_calls_hang_on_the_runtime_of_the_pool(#[case] kind: Kind) {
    let runtime = || tokio::runtime::Runtime::new().expect("there are threads");
    let (database, pool) = runtime().block_on(async {
        let database = Database::with_table(kind).await;
        let pool = database.plain_pool().await;
        (database, pool)
    });
    let store = pool.store().deadline(Duration::from_secs(5)).build();
    let checks = contract::check_runtimes(std::sync::Arc::new(store), Duration::from_secs(1));
    let calls = runtime().block_on(checks);
    println!("F-69 in {kind:?}, connected elsewhere: {calls:?}");
    drop(database);
}
