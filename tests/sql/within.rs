//! A token that is taken in the caller's transaction.

use std::time::{Duration, SystemTime};

use rate_limit::{DecidedBy, Limiter, Permit, Rejection, RejectionKind, SqlConnection, limit_per_time};
use rstest::rstest;
use sqlx::Connection as _;
use tokio::time::{Instant, sleep, timeout};

use crate::database::{Database, Kind, Pool, on_each};
use crate::support::PostgresServer;

#[limit_per_time(algorithm = token_bucket, capacity = 3, refill = "50s", key = member, within = tx, limiter = limiter)]
pub async fn count<C: SqlConnection>(tx: &mut C, limiter: &Limiter, member: u32) -> Result<(), Rejection> {
    Ok(())
}

#[limit_per_time(
    algorithm = token_bucket, capacity = 3, refill = "50s", key = member, name = "count_at", at = at, within = tx,
    limiter = limiter, permit = permit
)]
pub async fn count_at<C: SqlConnection>(
    tx: &mut C,
    limiter: &Limiter,
    member: u32,
    at: SystemTime,
) -> Result<u32, Rejection> {
    Ok(permit.decision().expect("it was decided").remaining)
}

#[limit_per_time(algorithm = token_bucket, capacity = 3, refill = "50s", key = member, within = tx, limiter = limiter)]
async fn count_on_any<DB: sqlx::Database<Connection: SqlConnection>>(
    tx: &mut sqlx::Transaction<'_, DB>,
    limiter: &Limiter,
    member: u32,
) -> Result<(), Rejection> {
    Ok(())
}

struct Ledger<'a> {
    tx: sqlx::Transaction<'a, sqlx::Sqlite>,
    limiter: Limiter,
}

#[async_trait::async_trait]
trait Book {
    async fn book(&mut self, member: u32) -> Result<(), Rejection>;
}

#[async_trait::async_trait]
impl Book for Ledger<'_> {
    #[limit_per_time(
        algorithm = token_bucket, capacity = 3, refill = "50s", key = member, within = self.tx,
        limiter = self.limiter.clone()
    )]
    async fn book(&mut self, member: u32) -> Result<(), Rejection> {
        Ok(())
    }
}

#[tokio::test]
async fn f_43_a_method_below_async_trait_has_its_transaction_in_self() {
    let database = Database::with_table(Kind::Sqlite).await;
    let pool = database.pool(2).await;
    let limiter = limiter(&pool);
    let Pool::Sqlite(connections) = &pool else {
        unreachable!("SQLite was asked for");
    };
    let mut ledger = Ledger {
        tx: connections.begin().await.expect("it begins"),
        limiter: limiter.clone(),
    };
    for _ in 0..3 {
        ledger.book(1).await.expect("one of three");
    }
    ledger.book(1).await.expect_err("the fourth");
}

pub fn limiter(pool: &Pool) -> Limiter {
    let store = pool.store().deadline(Duration::from_secs(5)).build();
    Limiter::builder().store(store).build().expect("it is built")
}

/// How many of 3 tokens are left for a member.
pub async fn left(limiter: &Limiter, pool: &Pool, member: u32) -> u32 {
    let mut left = 0;
    on_each!(pool, |pool| {
        let mut tx = pool.begin().await.expect("it begins");
        while count(&mut tx, limiter, member).await.is_ok() {
            left += 1;
        }
        tx.rollback().await.expect("it rolls back");
    });
    left
}

#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
#[tokio::test]
async fn a_token_is_kept_with_what_is_committed_and_given_back_with_what_is_not(#[case] kind: Kind) {
    let database = Database::with_table(kind).await;
    let pool = database.pool(2).await;
    let limiter = limiter(&pool);
    on_each!(&pool, |pool| {
        let mut tx = pool.begin().await.expect("it begins");
        count(&mut tx, &limiter, 1).await.expect("the first of three");
        tx.commit().await.expect("it commits");
        let mut tx = pool.begin().await.expect("it begins");
        count(&mut tx, &limiter, 1).await.expect("the second");
        drop(tx);
        let mut connection = pool.acquire().await.expect("it is free");
        count(&mut connection, &limiter, 2)
            .await
            .expect("on a connection that no transaction is open on, for good");
        let mut tx = connection.begin().await.expect("it begins");
        count(&mut *tx, &limiter, 2)
            .await
            .expect("on the connection of a transaction");
        tx.rollback().await.expect("it rolls back");
    });
    assert_eq!(left(&limiter, &pool, 1).await, 2, "what was rolled back took none");
    assert_eq!(left(&limiter, &pool, 2).await, 2);
    assert_eq!(left(&limiter, &pool, 3).await, 3);
}

#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
#[tokio::test]
async fn a_refusal_tells_the_wait_and_leaves_the_transaction_open(#[case] kind: Kind) {
    let database = Database::with_table(kind).await;
    let pool = database.pool(2).await;
    let limiter = limiter(&pool);
    on_each!(&pool, |pool| {
        let mut tx = pool.begin().await.expect("it begins");
        for _ in 0..3 {
            count(&mut tx, &limiter, 1).await.expect("one of three");
        }
        let refused = count(&mut tx, &limiter, 1).await.expect_err("the fourth");
        assert_eq!(refused.kind(), RejectionKind::Limited);
        let wait = refused.retry_after().expect("a wait");
        assert!(
            wait <= Duration::from_secs(50) && wait > Duration::from_secs(45),
            "{wait:?}"
        );
        let decided_by = refused.decision().map(|decision| decision.decided_by);
        assert_eq!(
            decided_by,
            Some(DecidedBy::Store),
            "f_27: the database did, in the transaction"
        );
        let whole = refused.decision().expect("it was decided").reset_after;
        assert_eq!(
            (whole - wait).as_secs(),
            100,
            "150 s to a whole bucket, 50 to the next token"
        );
        sqlx::query("CREATE TABLE kept (n INT)")
            .execute(&mut *tx)
            .await
            .expect("the transaction goes on");
        tx.commit().await.expect("it commits");
    });
    assert_eq!(left(&limiter, &pool, 1).await, 0);
}

/// Reads of a member, in seconds, through the attribute: which count.
async fn reads(kind: Kind, times: &[u64]) -> Vec<bool> {
    let database = Database::with_table(kind).await;
    let pool = database.pool(1).await;
    let limiter = limiter(&pool);
    let start = SystemTime::now() - Duration::from_secs(7_200);
    let mut counted = Vec::new();
    on_each!(&pool, |pool| {
        for time in times {
            let mut tx = pool.begin().await.expect("it begins");
            let read = count_at(&mut tx, &limiter, 1, start + Duration::from_secs(*time)).await;
            tx.commit().await.expect("it commits");
            counted.push(read.is_ok());
        }
    });
    counted
}

#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
#[tokio::test]
async fn of_39_reads_in_a_minute_3_count_or_4_if_one_comes_50_seconds_after_the_first(#[case] kind: Kind) {
    let count = |counted: Vec<bool>| counted.into_iter().filter(|counted| *counted).count();
    let each: Vec<u64> = (0..39).map(|n| n * 60 / 39).collect();
    assert!(each.iter().any(|time| *time >= 50));
    assert_eq!(count(reads(kind, &each).await), 4);
    let early: Vec<u64> = (0..39).map(|n| n * 49 / 38).collect();
    assert_eq!(early.last(), Some(&49));
    assert_eq!(count(reads(kind, &early).await), 3);
    let hour: Vec<u64> = (0..72).map(|n| n * 50).collect();
    assert_eq!(count(reads(kind, &hour).await), 72, "a read every 50 s counts");
}

#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
#[tokio::test]
async fn events_count_in_any_order_and_none_from_the_future_blocks_later_ones(#[case] kind: Kind) {
    let database = Database::with_table(kind).await;
    let pool = database.pool(1).await;
    let limiter = limiter(&pool);
    let now = SystemTime::now();
    on_each!(&pool, |pool| {
        let mut tx = pool.begin().await.expect("it begins");
        let future = now + Duration::from_secs(365 * 86_400);
        for remaining in [2, 1, 0] {
            assert_eq!(count_at(&mut tx, &limiter, 1, future).await, Ok(remaining));
        }
        let refused = count_at(&mut tx, &limiter, 1, future)
            .await
            .expect_err("three were taken");
        assert!(refused.retry_after().expect("a wait") <= Duration::from_secs(50));
        let ago = |seconds| now - Duration::from_secs(seconds);
        // By the time of the events there are 3 at 1,000 s ago, one at 950, and one at 900.
        for (seconds, admitted) in [
            (1_000, true),
            (1_000, true),
            (950, true),
            (900, true),
            (900, true),
            (900, false),
            (1_000, false),
        ] {
            assert_eq!(
                count_at(&mut tx, &limiter, 2, ago(seconds)).await.is_ok(),
                admitted,
                "{seconds}"
            );
        }
        tx.rollback().await.expect("it rolls back");
    });
}

/// A transaction waits for the row until that one ends which holds it.
#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
#[tokio::test]
async fn a_second_request_waits_for_the_commit_of_the_first_and_is_then_right(
    #[case] kind: Kind,
    #[values(true, false)] commit: bool,
) {
    let database = Database::with_table(kind).await;
    let pool = database.pool(4).await;
    let limiter = limiter(&pool);
    on_each!(&pool, |pool| {
        for n in 0..2 {
            let mut tx = pool.begin().await.expect("it begins");
            count(&mut tx, &limiter, 1).await.expect("of three");
            tx.commit().await.unwrap_or_else(|error| panic!("{n}: {error}"));
        }
        let mut first = pool.begin().await.expect("it begins");
        count(&mut first, &limiter, 1).await.expect("the last of three");
        let second = tokio::spawn({
            let (pool, limiter) = (pool.clone(), limiter.clone());
            async move {
                let mut tx = pool.begin().await.expect("it begins");
                let counted = count(&mut tx, &limiter, 1).await;
                tx.commit().await.expect("it commits");
                counted
            }
        });
        sleep(Duration::from_millis(300)).await;
        assert!(!second.is_finished(), "it waits");
        match commit {
            true => first.commit().await.expect("it commits"),
            false => first.rollback().await.expect("it rolls back"),
        }
        let second = timeout(Duration::from_secs(20), second)
            .await
            .expect("it goes on")
            .expect("it ends");
        assert_eq!(second.is_ok(), !commit, "{second:?}");
        assert!(second.is_ok() || second.is_err_and(|refused| refused.is_limited()));
    });
}

#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
#[tokio::test]
async fn sql_07_a_row_that_is_held_ends_in_a_rejection_within_the_deadline(#[case] kind: Kind) {
    let database = Database::with_table(kind).await;
    let pool = database.pool(3).await;
    let store = pool.store().deadline(Duration::from_millis(100)).build();
    let limiter = Limiter::builder().store(store).build().expect("it is built");
    on_each!(&pool, |pool| {
        let mut holder = pool.begin().await.expect("it begins");
        count(&mut holder, &limiter, 1).await.expect("the first");
        let mut tx = pool.begin().await.expect("it begins");
        let start = Instant::now();
        let refused = count(&mut tx, &limiter, 1).await.expect_err("the row is held");
        let took = start.elapsed();
        assert_eq!(
            refused.kind(),
            RejectionKind::StoreUnavailable,
            "running it again is no use now"
        );
        assert!(
            took >= Duration::from_millis(80) && took < Duration::from_secs(5),
            "{took:?}"
        );
        drop(tx);
        drop(holder);
    });
    assert_eq!(left(&limiter, &pool, 1).await, 3, "nothing was taken");
}

#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
#[tokio::test]
async fn a_function_may_be_generic_over_the_database(#[case] kind: Kind) {
    let database = Database::with_table(kind).await;
    let pool = database.pool(2).await;
    let limiter = limiter(&pool);
    on_each!(&pool, |pool| {
        let mut tx = pool.begin().await.expect("it begins");
        for _ in 0..3 {
            count_on_any(&mut tx, &limiter, 1).await.expect("of three");
        }
        let refused = count_on_any(&mut tx, &limiter, 1).await.expect_err("the fourth");
        assert!(refused.is_limited());
        tx.rollback().await.expect("it rolls back");
        let mut tx = pool.begin().await.expect("it begins");
        count_on_any(&mut tx, &limiter, 1).await.expect("all was given back");
    });
}

/// What was set for the statement is put back.
#[tokio::test]
async fn a_take_leaves_the_settings_of_the_session_as_they_were() {
    let database = Database::with_table(Kind::Postgres).await;
    let pool = database.pool_that(1, "SET lock_timeout = '7s'").await;
    let limiter_on = limiter(&pool);
    let Pool::Postgres(postgres) = &pool else {
        unreachable!()
    };
    let mut tx = postgres.begin().await.expect("it begins");
    let setting = async |tx: &mut sqlx::PgConnection| -> String {
        sqlx::query_scalar("SHOW lock_timeout")
            .fetch_one(tx)
            .await
            .expect("it is shown")
    };
    sqlx::query("SET LOCAL lock_timeout = '8s'")
        .execute(&mut *tx)
        .await
        .expect("it is set");
    for _ in 0..4 {
        let _ = count(&mut tx, &limiter_on, 1).await;
        assert_eq!(setting(&mut tx).await, "8s");
    }
    tx.commit().await.expect("it commits");
    let mut connection = postgres.acquire().await.expect("it is free");
    assert_eq!(setting(&mut connection).await, "7s");

    let database = Database::with_table(Kind::Sqlite).await;
    let pool = database.pool_that(1, "PRAGMA busy_timeout = 7000").await;
    let limiter_on = Limiter::builder()
        .store(pool.store().build())
        .build()
        .expect("it is built");
    let Pool::Sqlite(sqlite) = &pool else { unreachable!() };
    let mut tx = sqlite.begin().await.expect("it begins");
    for _ in 0..4 {
        let _ = count(&mut tx, &limiter_on, 1).await;
        let timeout: i64 = sqlx::query_scalar("PRAGMA busy_timeout")
            .fetch_one(&mut *tx)
            .await
            .expect("it is shown");
        assert_eq!(timeout, 7_000);
    }

    let database = Database::with_table(Kind::MariaDb).await;
    let pool = database.pool_that(1, "SET max_statement_time = 7").await;
    let limiter_on = limiter(&pool);
    let Pool::MariaDb(mariadb) = &pool else { unreachable!() };
    let mut tx = mariadb.begin().await.expect("it begins");
    for _ in 0..4 {
        let _ = count(&mut tx, &limiter_on, 1).await;
        let time: f64 = sqlx::query_scalar("SELECT CAST(@@max_statement_time AS DOUBLE)")
            .fetch_one(&mut *tx)
            .await
            .expect("it is shown");
        assert!((time - 7.0).abs() < 0.001, "{time}");
    }
}

/// Neither a lock, nor a transaction id, nor a byte of the log.
#[tokio::test]
async fn a_refusal_on_postgres_locks_and_writes_nothing() {
    let server = PostgresServer::start();
    let url = server.fresh_database().await;
    let database = Database::at(Kind::Postgres, url);
    let pool = database.pool(2).await;
    pool.store().build().create_table().await.expect("it is created");
    let limiter = limiter(&pool);
    let Pool::Postgres(postgres) = &pool else {
        unreachable!()
    };
    let mut tx = postgres.begin().await.expect("it begins");
    for _ in 0..3 {
        count(&mut tx, &limiter, 1).await.expect("of three");
    }
    tx.commit().await.expect("it commits");
    // What is still to be written of what was done before.
    sqlx::query("CHECKPOINT")
        .execute(postgres)
        .await
        .expect("it is written");
    let log_end = "SELECT pg_current_wal_insert_lsn()::text";
    let before: String = sqlx::query_scalar(log_end).fetch_one(postgres).await.expect("it tells");
    let mut tx = postgres.begin().await.expect("it begins");
    for _ in 0..10 {
        assert!(
            count(&mut tx, &limiter, 1)
                .await
                .expect_err("none is left")
                .is_limited()
        );
    }
    let assigned: Option<String> = sqlx::query_scalar("SELECT pg_current_xact_id_if_assigned()::text")
        .fetch_one(&mut *tx)
        .await
        .expect("it tells");
    assert_eq!(assigned, None);
    let after: String = sqlx::query_scalar(log_end).fetch_one(&mut *tx).await.expect("it tells");
    assert_eq!(before, after, "not a byte");
    // As long as the transaction of the refusal is open, another one takes what is there at once.
    let permit = timeout(Duration::from_secs(1), async {
        sqlx::query("UPDATE rate_limit SET full_at = 0")
            .execute(postgres)
            .await
            .expect("nothing is locked");
        let mut other = postgres.begin().await.expect("it begins");
        count(&mut other, &limiter, 1).await
    });
    permit.await.expect("it waits for nobody").expect("the bucket is full");
}

#[tokio::test]
async fn what_cannot_be_taken_within_is_a_rejection_whatever_holds_while_the_store_fails() {
    #[limit_per_time(
        algorithm = token_bucket, capacity = 3, refill = "50s", key = member, within = tx, limiter = limiter,
        on_store_error = open, observe
    )]
    async fn open<C: SqlConnection>(tx: &mut C, limiter: &Limiter, member: u32) -> Result<(), Rejection> {
        panic!("the body never runs")
    }
    // There is no table.
    let database = Database::new(Kind::Postgres).await;
    let pool = database.pool(1).await;
    let Pool::Postgres(postgres) = &pool else {
        unreachable!()
    };
    let mut tx = postgres.begin().await.expect("it begins");
    let refused = open(&mut tx, &limiter(&pool), 1).await.expect_err("there is no table");
    assert_eq!(refused.kind(), RejectionKind::Misconfigured);
    drop(tx);
    // The store is none of SQL.
    let mut tx = postgres.begin().await.expect("it begins");
    let refused = open(&mut tx, &Limiter::embedded(), 1)
        .await
        .expect_err("it is in memory");
    assert_eq!(refused.kind(), RejectionKind::Misconfigured);
    // The store is in another database.
    let other = Database::with_table(Kind::Sqlite).await;
    let refused = open(&mut tx, &limiter(&other.pool(1).await), 1)
        .await
        .expect_err("it is another one");
    assert_eq!(refused.kind(), RejectionKind::Misconfigured);
    // The transaction has failed before.
    let database = Database::with_table(Kind::Postgres).await;
    let pool = database.pool(1).await;
    let Pool::Postgres(postgres) = &pool else {
        unreachable!()
    };
    let mut tx = postgres.begin().await.expect("it begins");
    sqlx::query("SELECT 1 / 0")
        .execute(&mut *tx)
        .await
        .expect_err("it fails");
    let refused = open(&mut tx, &limiter(&pool), 1)
        .await
        .expect_err("nothing more is done in it");
    assert_eq!(refused.kind(), RejectionKind::StoreUnavailable);
    drop(tx);
    // The connection is gone.
    let mut tx = postgres.begin().await.expect("it begins");
    sqlx::query("SELECT pg_terminate_backend(pg_backend_pid())")
        .execute(&mut *tx)
        .await
        .expect_err("it is cut");
    let refused = open(&mut tx, &limiter(&pool), 1).await.expect_err("nobody answers");
    assert_eq!(refused.kind(), RejectionKind::StoreUnavailable);
}

/// By hand, and what a permit then gives back: nothing.
#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
#[tokio::test]
async fn a_token_of_a_transaction_is_given_back_by_rolling_it_back_alone(#[case] kind: Kind) {
    use rate_limit::{Client, Key, Method, Policy, Rule};
    let database = Database::with_table(kind).await;
    let pool = database.pool(2).await;
    let limiter = limiter(&pool);
    let key = Key::new(Method::named("by hand"), Client::of(&1_u32).expect("somebody"));
    let rule = Rule::new(Policy::token_bucket(3, Duration::from_secs(50)), key).cost(2);
    on_each!(&pool, |pool| {
        let mut tx = pool.begin().await.expect("it begins");
        let permit: Permit = limiter.check_within(rule, &mut tx).await.expect("two of three");
        assert_eq!(permit.decision().map(|decision| decision.remaining), Some(1));
        permit.refund().await.expect_err("not so");
        let refused = limiter.check_within(rule, &mut tx).await.expect_err("one is left");
        assert!(refused.is_limited());
        let above = limiter.check_within(rule.cost(4), &mut tx).await.expect_err("never");
        assert_eq!(above.kind(), RejectionKind::Impossible);
        limiter
            .check_within(rule.cost(0), &mut tx)
            .await
            .expect("nothing always fits");
        limiter
            .check_within(rule.observe(), &mut tx)
            .await
            .expect("it only observes");
        tx.commit().await.expect("it commits");
    });
    assert_eq!(limiter.peek(rule.cost(1)).await.expect("it tells").remaining, 1);
}
