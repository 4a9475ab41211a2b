//! Connections of a pool that end while nobody uses them.
//!
//! sqlx asks a connection for a sign of life before it hands it out, if the pool is as a user has it who sets nothing. A call
//! that finds its connection closed was never written, so nothing was kept of it: the database decides it on another one.

use std::time::Duration;

use rate_limit::{Client, DecidedBy, Key, Limiter, Method, OnStoreError, Policy, Rule, SqlStoreBuilder, contract};
use rstest::rstest;
use sqlx::{AssertSqlSafe, MySqlPool, PgPool};
use tokio::time::sleep;

use crate::database::{Database, Kind, Pool};

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

/// A pool as a user has it who sets nothing.
async fn plain_pool(database: &Database) -> Pool {
    match database.kind {
        Kind::Postgres => Pool::Postgres(PgPool::connect(&database.url).await.expect("it connects")),
        Kind::MariaDb => Pool::MariaDb(MySqlPool::connect(&database.url).await.expect("it connects")),
        Kind::Sqlite => unreachable!("it has no connection that another one could end"),
    }
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
            limiters.push(limiter(plain_pool(&database).await.store(), mode));
        }
        let (mut admitted, mut refused, mut alone, mut undecided) = (0, 0, 0, 0);
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
                let answer = call.await.expect("no call panics");
                let decision = match &answer {
                    Ok(permit) => permit.decision(),
                    Err(refused) => refused.decision(),
                };
                match (decision.map(|decision| decision.decided_by), &answer) {
                    (Some(DecidedBy::Store), Ok(_)) => admitted += 1,
                    (Some(DecidedBy::Store), Err(_)) => refused += 1,
                    (Some(_), _) => alone += 1,
                    (None, _) => undecided += 1,
                }
            }
        }
        println!(
            "F-31 {kind:?}, {mode:?}, connections killed {ROUNDS} times: {admitted} admitted, {refused} refused, {alone} decided \
             alone, {undecided} undecided"
        );
        let right = (COUNT, STORES * (ROUNDS + 1) - COUNT, 0, 0);
        assert_eq!((admitted, refused, alone, undecided), right);
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
        let pool = match kind {
            Kind::Sqlite => database.pool(4).await,
            _ => plain_pool(&database).await,
        };
        (database, pool)
    });
    let limiter = limiter(pool.store(), OnStoreError::Local);
    drop(first);
    let (mut admitted, mut alone) = (0, 0);
    for _ in 0..RUNTIMES {
        let answer = runtime().block_on(limiter.check(rule("static")));
        admitted += usize::from(answer.is_ok());
        let decision = match &answer {
            Ok(permit) => permit.decision(),
            Err(refused) => refused.decision(),
        };
        alone += usize::from(decision.map(|decision| decision.decided_by) != Some(DecidedBy::Store));
    }
    println!(
        "F-31 {kind:?}, a pool of {RUNTIMES} runtimes: {admitted} admitted of {COUNT}, {alone} not by the database"
    );
    assert_eq!((admitted, alone), (COUNT, 0));
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
        let pool = database.pool(8).await;
        (database, pool)
    });
    let store = pool.store().deadline(Duration::from_secs(5)).build();
    let checks = contract::check_runtimes(std::sync::Arc::new(store), Duration::from_secs(1));
    let calls = runtime().block_on(checks);
    println!("F-69 in {kind:?}, connected elsewhere: {calls:?}");
    drop(database);
}
