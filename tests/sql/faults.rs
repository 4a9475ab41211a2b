//! What holds the database up, cuts it off or ends its client.

use std::process::{Command, Stdio};
use std::time::Duration;

use rate_limit::{
    Charge, Client, Key, Limiter, Method, OnStoreError, Policy, Rejection, RejectionKind, Rule, SqlConnection,
    Store as _, StoreErrorKind, Verdict, limit_per_time,
};
use rstest::rstest;
use rustix::process::{Signal, getpid, kill_process};
use tokio::time::{Instant, sleep};

use crate::database::{Database, Kind, Pool, on_each};
use crate::support::{MariaDbServer, PostgresServer};
use crate::within::{count, left, limiter};

const CHILD: &str = "RATE_LIMIT_TEST_DIES";
const DEADLINE: Duration = Duration::from_millis(100);
/// More than a busy machine adds. What holds these calls up would hold them up for ever.
const LATE: Duration = Duration::from_secs(5);

fn key(client: u32) -> Key {
    Key::new(Method::named("faults"), Client::of(&client).expect("somebody"))
}

pub fn rule(client: u32) -> Rule {
    Rule::new(Policy::token_bucket(3, Duration::from_secs(50)), key(client))
}

/// As [`rule`], for the store itself.
pub fn charge(client: u32) -> Charge {
    Charge::new(key(client), Policy::token_bucket(3, Duration::from_secs(50)), 1)
}

fn closed(pool: &Pool) -> Limiter {
    closed_within(pool, DEADLINE)
}

/// Refuses what its store does not decide within the deadline.
pub fn closed_within(pool: &Pool, deadline: Duration) -> Limiter {
    let store = pool.store().deadline(deadline).build();
    let limiter = Limiter::builder().store(store).on_store_error(OnStoreError::Closed);
    limiter.build().expect("it is built")
}

/// Refused in time, because the store did not decide.
async fn is_held_up(limiter: &Limiter, rule: Rule) {
    let start = Instant::now();
    let refused = limiter.check(rule).await.expect_err("it cannot be decided");
    let took = start.elapsed();
    assert_eq!(refused.kind(), RejectionKind::StoreUnavailable);
    assert!(took < DEADLINE + LATE, "{took:?}");
}

/// Skipping a row that is locked would find a full bucket.
#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
#[tokio::test]
async fn sql_03_sql_07_a_held_row_is_no_full_bucket_and_holds_nobody_up(#[case] kind: Kind) {
    let database = Database::with_table(kind).await;
    let pool = database.pool(4).await;
    let patient = pool.store().deadline(Duration::from_secs(20)).build();
    let key = Key::new(Method::named("held"), Client::of(&1_u32).expect("somebody"));
    let charge = Charge::new(key, Policy::token_bucket(3, Duration::from_secs(50)), 1);
    for _ in 0..2 {
        patient.acquire(&[charge]).await.expect("of three");
    }
    let store = pool.store().deadline(DEADLINE).build();
    let mut held = Vec::new();
    on_each!(&pool, |pool| {
        let mut holder = pool.begin().await.expect("it begins");
        let hold = sqlx::query("UPDATE rate_limit SET refill = refill + 0")
            .execute(&mut *holder)
            .await;
        hold.expect("it is held");
        if kind == Kind::MariaDb {
            // An update that changes nothing locks nothing there.
            let hold = sqlx::query("SELECT full_at FROM rate_limit FOR UPDATE")
                .execute(&mut *holder)
                .await;
            hold.expect("it is held");
        }
        for _ in 0..2 {
            let start = Instant::now();
            let error = store.acquire(&[charge]).await.expect_err("the row is held");
            assert!(start.elapsed() < DEADLINE + LATE, "{:?}", start.elapsed());
            held.push(error.kind());
        }
        holder.rollback().await.expect("it rolls back");
    });
    // What is no more waited for was ended as well, if the database said so, and may else have been on its way.
    let unknown = held.iter().filter(|kind| **kind == StoreErrorKind::Timeout).count();
    assert!(
        held.iter()
            .all(|kind| kind == &StoreErrorKind::Unavailable || kind == &StoreErrorKind::Timeout)
    );
    sleep(2 * DEADLINE).await;
    let left = match patient.peek(charge).await.expect("it tells") {
        Verdict::Allowed { remaining, .. } => remaining,
        _ => 0,
    };
    assert!(
        (1_u32.saturating_sub(unknown as u32)..=1).contains(&left),
        "{left} are left after {held:?}"
    );
}

#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
#[tokio::test]
async fn sql_07_a_pool_that_is_used_up_counts_as_an_outage(#[case] kind: Kind) {
    let database = Database::with_table(kind).await;
    let pool = database.pool(1).await;
    let limiter = closed(&pool);
    on_each!(&pool, |pool| {
        let taken = pool.acquire().await.expect("it is free");
        is_held_up(&limiter, rule(1)).await;
        drop(taken);
    });
    let store = pool.store().deadline(Duration::from_secs(5)).build();
    let limiter = Limiter::builder().store(store).build().expect("it is built");
    assert_eq!(
        limiter
            .check(rule(1))
            .await
            .expect("one is free")
            .decision()
            .expect("decided")
            .remaining,
        2
    );
}

/// A server that is stopped, not closed: connections stay open and nothing answers.
#[tokio::test]
async fn a_stopped_server_holds_nobody_up_and_decides_again_when_it_goes_on() {
    async fn is_left_alone(database: Database, pause: impl Fn(), resume: impl Fn()) {
        let pool = database.pool(20).await;
        pool.store().build().create_table().await.expect("it is created");
        let limiter = closed(&pool);
        limiter.check(rule(1)).await.expect("the first");
        pause();
        for _ in 0..3 {
            is_held_up(&limiter, rule(1)).await;
        }
        let store = pool.store().deadline(DEADLINE).build();
        let local = Limiter::builder().store(store).build().expect("it is built");
        local.check(rule(1)).await.expect("the same limit in this process");
        resume();
        let end = Instant::now() + Duration::from_secs(10);
        while limiter.peek(rule(1)).await.is_err() {
            assert!(Instant::now() < end, "it decides again");
            sleep(Duration::from_millis(10)).await;
        }
    }
    let postgres = PostgresServer::start();
    let database = Database::at(Kind::Postgres, postgres.fresh_database().await);
    is_left_alone(database, || postgres.pause(), || postgres.resume()).await;
    let mariadb = MariaDbServer::start();
    let database = Database::at(Kind::MariaDb, mariadb.fresh_database().await);
    is_left_alone(database, || mariadb.pause(), || mariadb.resume()).await;
}

#[limit_per_time(algorithm = token_bucket, capacity = 1, refill = "1s", key = member, within = tx, limiter = limiter)]
async fn once_a_second<C: SqlConnection>(tx: &mut C, limiter: &Limiter, member: u32) -> Result<(), Rejection> {
    Ok(())
}

/// The clock of a transaction stands still; that of a statement does, while it waits for the row.
#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
#[tokio::test]
async fn sql_04_time_goes_on_in_a_long_transaction_and_while_a_statement_waits(#[case] kind: Kind) {
    let database = Database::with_table(kind).await;
    let pool = database.pool(4).await;
    let limiter = limiter(&pool);
    on_each!(&pool, |pool| {
        let mut tx = pool.begin().await.expect("it begins");
        once_a_second(&mut tx, &limiter, 1).await.expect("the bucket is full");
        let waiting = tokio::spawn({
            let (pool, limiter) = (pool.clone(), limiter.clone());
            async move {
                let mut tx = pool.begin().await.expect("it begins");
                let counted = once_a_second(&mut tx, &limiter, 1).await;
                tx.commit().await.expect("it commits");
                counted
            }
        });
        sleep(Duration::from_millis(1_100)).await;
        once_a_second(&mut tx, &limiter, 1).await.expect("a second has gone by");
        sleep(Duration::from_millis(1_100)).await;
        assert!(!waiting.is_finished(), "it waits for the row");
        tx.commit().await.expect("it commits");
        waiting
            .await
            .expect("it ends")
            .expect("a second had gone by since the last");
    });
}

/// Between the take and the commit its process is gone.
#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
#[tokio::test]
async fn a_kill_between_take_and_commit_gives_the_token_back(#[case] kind: Kind) {
    let database = Database::with_table(kind).await;
    let mut child = Command::new(std::env::current_exe().expect("it has a path"));
    child.args(["--ignored", "--exact", "faults::dies_between_take_and_commit"]);
    child
        .env(CHILD, &database.url)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let status = tokio::task::spawn_blocking(move || child.status())
        .await
        .expect("it ends");
    let status = status.expect("it ran a moment ago");
    assert_eq!(
        status.code(),
        None,
        "it is killed, after it has taken a token: {status}"
    );
    let pool = database.pool(2).await;
    assert_eq!(left(&limiter(&pool), &pool, 1).await, 3);
}

#[tokio::test]
#[ignore = "another test runs it, and kills nobody else"]
async fn dies_between_take_and_commit() {
    let Ok(url) = std::env::var(CHILD) else { return };
    let kind = match url.split(':').next() {
        Some("postgres") => Kind::Postgres,
        Some("mysql") => Kind::MariaDb,
        _ => Kind::Sqlite,
    };
    let pool = Database::at(kind, url).pool(2).await;
    let limiter = limiter(&pool);
    on_each!(&pool, |pool| {
        let mut tx = pool.begin().await.expect("it begins");
        for _ in 0..2 {
            count(&mut tx, &limiter, 1).await.expect("of three");
        }
        kill_process(getpid(), Signal::KILL).expect("it is this one");
        tx.commit().await.expect("nobody gets here");
    });
}

/// PostgreSQL ends a transaction above READ COMMITTED that meets another: it is to be run again from its start, and the body did not run.
#[tokio::test]
async fn a_transaction_that_meets_another_is_to_be_run_again() {
    let database = Database::with_table(Kind::Postgres).await;
    let pool = database
        .pool_that(3, "SET default_transaction_isolation = 'repeatable read'")
        .await;
    let limiter = limiter(&pool);
    let Pool::Postgres(postgres) = &pool else {
        unreachable!()
    };
    let mut first = postgres.begin().await.expect("it begins");
    sqlx::query("SELECT 1 FROM rate_limit")
        .execute(&mut *first)
        .await
        .expect("its snapshot is taken");
    let mut second = postgres.begin().await.expect("it begins");
    count(&mut second, &limiter, 1).await.expect("the first of three");
    second.commit().await.expect("it commits");
    let refused = count(&mut first, &limiter, 1)
        .await
        .expect_err("its snapshot is too old");
    assert_eq!(refused.kind(), RejectionKind::Aborted);
    assert_eq!(refused.status(), 503);
    assert!(refused.to_string().contains("run it again"), "{refused}");
    drop(first);
    let mut again = postgres.begin().await.expect("it begins");
    count(&mut again, &limiter, 1).await.expect("the second of three");
}

/// A deadlock of the caller's own, on MariaDB, ends his transaction.
#[tokio::test]
async fn a_deadlock_is_to_be_run_again() {
    let database = Database::with_table(Kind::MariaDb).await;
    let pool = database.pool(4).await;
    let limiter = limiter(&pool);
    let Pool::MariaDb(mariadb) = &pool else { unreachable!() };
    for member in [1, 2] {
        let mut tx = mariadb.begin().await.expect("it begins");
        count(&mut tx, &limiter, member).await.expect("the first of three");
        tx.commit().await.expect("it commits");
    }
    let mut tasks = tokio::task::JoinSet::new();
    for members in [[1, 2], [2, 1]] {
        let (pool, limiter) = (mariadb.clone(), limiter.clone());
        tasks.spawn(async move {
            let mut tx = pool.begin().await.expect("it begins");
            count(&mut tx, &limiter, members[0]).await.expect("nobody else has it");
            sleep(Duration::from_millis(200)).await;
            let counted = count(&mut tx, &limiter, members[1]).await;
            if counted.is_ok() {
                tx.commit().await.expect("it commits");
            }
            counted.map_err(|refused| refused.kind())
        });
    }
    let mut outcomes = tasks.join_all().await;
    outcomes.sort_by_key(Result::is_err);
    assert_eq!(outcomes, [Ok(()), Err(RejectionKind::Aborted)]);
    assert_eq!(left(&limiter, &pool, 1).await, 1, "the one that was ended took nothing");
    assert_eq!(left(&limiter, &pool, 2).await, 1);
}

/// A transaction of SQLite that read before another one wrote cannot write any more.
#[tokio::test]
async fn a_snapshot_that_is_too_old_is_to_be_run_again() {
    let database = Database::with_table(Kind::Sqlite).await;
    let pool = database.pool_that(3, "PRAGMA journal_mode = WAL").await;
    let limiter = limiter(&pool);
    let Pool::Sqlite(sqlite) = &pool else { unreachable!() };
    let mut first = sqlite.begin().await.expect("it begins");
    sqlx::query("SELECT 1 FROM rate_limit")
        .fetch_optional(&mut *first)
        .await
        .expect("its snapshot is taken");
    let mut second = sqlite.begin().await.expect("it begins");
    count(&mut second, &limiter, 1).await.expect("the first of three");
    second.commit().await.expect("it commits");
    let refused = count(&mut first, &limiter, 1)
        .await
        .expect_err("its snapshot is too old");
    assert_eq!(refused.kind(), RejectionKind::Aborted);
    drop(first);
    let mut again = sqlite.begin_with("BEGIN IMMEDIATE").await.expect("it begins");
    count(&mut again, &limiter, 1).await.expect("the second of three");
}

/// In its default journal a file with a reader cannot commit, and SQLite says so when the statement has been run to its end.
#[tokio::test]
async fn f_66_what_is_admitted_is_kept_also_while_another_connection_reads() {
    let database = Database::with_table(Kind::Sqlite).await;
    let pool = database.pool(2).await;
    let Pool::Sqlite(readers) = database.pool(1).await else {
        unreachable!()
    };
    let store = pool.store().deadline(DEADLINE).build();
    let limiter = Limiter::builder().store(store).on_store_error(OnStoreError::Closed);
    let limiter = limiter.build().expect("it is built");
    let key = Key::new(Method::named("faults"), Client::of("f_66").expect("somebody"));
    let rule = Rule::new(Policy::token_bucket(5, Duration::from_secs(3_600)), key);
    let mut admitted = 0;
    for read in [true, false] {
        let mut reader = readers.begin().await.expect("it begins");
        if read {
            let rows = sqlx::query("SELECT count(*) FROM rate_limit")
                .execute(&mut *reader)
                .await;
            rows.expect("it reads");
        }
        for _ in 0..10 {
            match limiter.check(rule).await {
                Ok(_) => admitted += 1,
                Err(refused) if read => assert_eq!(refused.kind(), RejectionKind::StoreUnavailable),
                Err(refused) => assert!(refused.is_limited(), "{refused}"),
            }
        }
        // One that was not answered in time has ended by then.
        sleep(2 * DEADLINE).await;
        reader.rollback().await.expect("it ends");
    }
    assert_eq!(admitted, 5);
}

/// A relative: a commit that fails on PostgreSQL, as one may that is serializable, fails after the row was sent.
#[tokio::test]
async fn f_66_what_is_admitted_on_postgres_is_committed() {
    let database = Database::with_table(Kind::Postgres).await;
    let pool = database.pool(2).await;
    let Pool::Postgres(postgres) = &pool else {
        unreachable!()
    };
    let fails = "CREATE FUNCTION fails() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '53100'; END $$;
        CREATE CONSTRAINT TRIGGER fails AFTER INSERT OR UPDATE ON rate_limit DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION fails()";
    sqlx::raw_sql(fails).execute(postgres).await.expect("it is created");
    is_held_up(&closed(&pool), rule(67)).await;
}

/// Two rules of each call, whose rows many calls have the other way round.
#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f_71_rules_with_crosswise_keys_meet_no_deadlock(#[case] kind: Kind) {
    // MariaDB counts those of the whole server.
    let server = (kind == Kind::MariaDb).then(MariaDbServer::start);
    let database = match &server {
        Some(server) => Database::at(kind, server.fresh_database().await),
        None => Database::new(kind).await,
    };
    let pool = database.pool(8).await;
    let store = pool.store().deadline(Duration::from_secs(5)).build();
    store.create_table().await.expect("it is created");
    let before = deadlocks(&pool).await;
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..8_u32 {
        let store = store.clone();
        tasks.spawn(async move {
            for call in 0..100_u32 {
                // Keys of now and of the first time, crosswise.
                let (one, other) = (call % 5, 1_000 + call / 3);
                let (one, other) = if task % 2 == 0 { (one, other) } else { (other, one) };
                let policy = Policy::token_bucket(3, Duration::from_secs(50));
                let charge = |method, client: u32| {
                    let client = Client::of(&client).expect("somebody");
                    Charge::new(Key::new(Method::named(method), client), policy, 1)
                };
                let answer = store.acquire(&[charge("f_71", one), charge("f_71 b", other)]).await;
                answer.expect("it decides");
            }
        });
    }
    while let Some(task) = tasks.join_next().await {
        task.expect("all were decided");
    }
    assert_eq!(deadlocks(&pool).await - before, 0);
}

async fn deadlocks(pool: &Pool) -> i64 {
    match pool {
        Pool::Postgres(pool) => {
            sqlx::query_scalar("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
                .fetch_one(pool)
                .await
                .expect("it counts")
        }
        Pool::MariaDb(pool) => {
            let (_, deadlocks): (String, String) = sqlx::query_as("SHOW GLOBAL STATUS LIKE 'Innodb_deadlocks'")
                .fetch_one(pool)
                .await
                .expect("it counts");
            deadlocks.parse().expect("a number")
        }
        Pool::Sqlite(_) => 0,
    }
}
