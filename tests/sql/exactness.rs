//! Exactly as many as there are, however many ask at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rate_limit::{Client, Key, Limiter, Method, Policy, RejectionKind, Rule};
use rstest::rstest;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::database::{Database, Kind, Pool, on_each};
use crate::within::count;

const BUCKET: Policy = Policy::token_bucket(3, Duration::from_secs(50));
const ASKING: u32 = 20;
const ROUNDS: u32 = 200;

fn rule(member: u32) -> Rule {
    Rule::new(
        BUCKET,
        Key::new(Method::named("exactness"), Client::of(&member).expect("somebody")),
    )
}

fn limiter(pool: &Pool) -> Limiter {
    let store = pool.store().deadline(Duration::from_secs(5)).build();
    Limiter::builder()
        .store(store)
        .on_store_error(rate_limit::OnStoreError::Closed)
        .build()
        .expect("it is built")
}

/// Asks from so many tasks at once, each for a member of its number's choice. Who was admitted; any error fails the test.
async fn admitted(limiter: &Limiter, asking: u32, member: impl Fn(u32) -> u32) -> u32 {
    let barrier = Arc::new(Barrier::new(asking as usize));
    let mut tasks = JoinSet::new();
    for n in 0..asking {
        let (limiter, barrier, rule) = (limiter.clone(), Arc::clone(&barrier), rule(member(n)));
        tasks.spawn(async move {
            barrier.wait().await;
            match limiter.check(rule).await {
                Ok(_) => 1,
                Err(refused) => {
                    assert_eq!(refused.kind(), RejectionKind::Limited, "{refused}");
                    0
                }
            }
        });
    }
    tasks.join_all().await.into_iter().sum()
}

const ANSI: [&str; 4] = [
    "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
];

/// A read, then a write, lets twenty through where there are three, and so does a level that another part of the statement reckoned.
#[rstest]
#[case(Kind::Postgres, "SET default_transaction_isolation = 'read committed'")]
#[case(Kind::Postgres, "SET default_transaction_isolation = 'repeatable read'")]
#[case(Kind::Postgres, "SET default_transaction_isolation = 'serializable'")]
#[case(Kind::MariaDb, ANSI[0])]
#[case(Kind::MariaDb, ANSI[1])]
#[case(Kind::MariaDb, ANSI[2])]
#[case(Kind::MariaDb, ANSI[3])]
#[case(Kind::Sqlite, "")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sql_01_sql_02_twenty_connections_on_one_new_key_are_admitted_three_times(
    #[case] kind: Kind,
    #[case] level: &'static str,
) {
    let database = Database::with_table(kind).await;
    let limiter = limiter(&database.pool_that(ASKING, level).await);
    for round in 0..ROUNDS {
        assert_eq!(admitted(&limiter, ASKING, |_| round).await, 3, "round {round}");
    }
}

/// First takes of new keys deadlock where a gap is locked.
#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sql_05_a_hundred_connections_on_a_hundred_new_keys_and_on_one(#[case] kind: Kind) {
    let database = Database::with_table(kind).await;
    let limiter = limiter(&database.pool(100).await);
    for round in 1..=5 {
        let own = |n| round * 1_000 + n;
        assert_eq!(admitted(&limiter, 100, own).await, 100);
        assert_eq!(admitted(&limiter, 100, |_| round).await, 3);
    }
}

/// What becomes of the transactions of one round: committed, rolled back after their token, refused, run again.
#[derive(Default)]
struct Outcomes {
    committed: AtomicU32,
    rolled_back: AtomicU32,
    aborted: AtomicU32,
}

/// Runs twenty transactions on one new key at once, each again for as long as it is said to be worth it; of the admitted ones every
/// second rolls back where `half` is set.
async fn transactions(pool: &Pool, limiter: &Limiter, member: u32, half: bool) -> Arc<Outcomes> {
    let outcomes = Arc::new(Outcomes::default());
    let barrier = Arc::new(Barrier::new(ASKING as usize));
    let mut tasks = JoinSet::new();
    for n in 0..ASKING {
        let (limiter, barrier, outcomes) = (limiter.clone(), Arc::clone(&barrier), Arc::clone(&outcomes));
        on_each!(pool.clone(), |pool| {
            tasks.spawn(async move {
                barrier.wait().await;
                loop {
                    let mut tx = pool.begin().await.expect("it begins");
                    match count(&mut tx, &limiter, member).await {
                        Ok(()) if half && n % 2 == 0 => {
                            tx.rollback().await.expect("it rolls back");
                            outcomes.rolled_back.fetch_add(1, Ordering::Relaxed);
                            return;
                        }
                        Ok(()) if tx.commit().await.is_ok() => {
                            outcomes.committed.fetch_add(1, Ordering::Relaxed);
                            return;
                        }
                        Ok(()) => {}
                        Err(refused) if refused.kind() == RejectionKind::Aborted => {}
                        Err(refused) => {
                            assert_eq!(refused.kind(), RejectionKind::Limited, "{refused}");
                            return;
                        }
                    }
                    outcomes.aborted.fetch_add(1, Ordering::Relaxed);
                }
            })
        });
    }
    tasks.join_all().await;
    outcomes
}

#[rstest]
#[case(Kind::Postgres, "SET default_transaction_isolation = 'read committed'")]
#[case(Kind::Postgres, "SET default_transaction_isolation = 'repeatable read'")]
#[case(Kind::Postgres, "SET default_transaction_isolation = 'serializable'")]
#[case(Kind::MariaDb, ANSI[1])]
#[case(Kind::MariaDb, ANSI[2])]
#[case(Kind::Sqlite, "")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sql_05_transactions_that_commit_and_that_roll_back_never_keep_more_than_three(
    #[case] kind: Kind,
    #[case] level: &'static str,
) {
    let database = Database::with_table(kind).await;
    let pool = database.pool_that(ASKING + 10, level).await;
    let limiter = limiter(&pool);
    let may_abort = level.contains("'repeatable read'") || level.contains("'serializable'");
    // SQLite polls for its one lock.
    let rounds = if kind == Kind::Sqlite { 5 } else { 50 };
    for round in 0..rounds {
        let outcomes = transactions(&pool, &limiter, round, false).await;
        assert_eq!(outcomes.committed.load(Ordering::Relaxed), 3);
        assert!(
            may_abort || outcomes.aborted.load(Ordering::Relaxed) == 0,
            "no deadlock"
        );

        let member = 1_000 + round;
        let outcomes = transactions(&pool, &limiter, member, true).await;
        let committed = outcomes.committed.load(Ordering::Relaxed);
        assert!(committed <= 3, "{committed}");
        assert!(
            may_abort || outcomes.aborted.load(Ordering::Relaxed) == 0,
            "no deadlock"
        );
        // What was rolled back took nothing.
        let outcomes = transactions(&pool, &limiter, member, false).await;
        assert_eq!(
            committed + outcomes.committed.load(Ordering::Relaxed),
            3,
            "of member {member}"
        );
    }
}
