//! The table, and what is deleted from it.

use std::time::Duration;

use rate_limit::{
    Client, Key, Limiter, Method, Policies, Policy, Rejection, RejectionKind, Rule, Store as _, StoreErrorKind,
    limit_per_time,
};
use rstest::rstest;
use sqlx::Executor as _;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::database::{Database, Kind, Pool, on_each};
use crate::within::limiter;

const DAY: Duration = Duration::from_secs(86_400);

fn client(number: u32) -> Client {
    Client::of(&number).expect("somebody")
}

fn rule(number: u32, method: &'static str) -> Rule {
    Rule::new(
        Policy::token_bucket(3, Duration::from_secs(50)),
        Key::new(Method::named(method), client(number)),
    )
}

async fn rows(pool: &Pool) -> i64 {
    on_each!(pool, |pool| sqlx::query_scalar("SELECT count(*) FROM rate_limit")
        .fetch_one(pool)
        .await
        .expect("it is counted"))
}

async fn run(pool: &Pool, statement: &'static str) {
    on_each!(pool, |pool| drop(pool.execute(statement).await.expect("it runs")));
}

#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_number_of_processes_create_the_table_at_once(#[case] kind: Kind) {
    for _ in 0..5 {
        let database = Database::new(kind).await;
        let mut tasks = JoinSet::new();
        for _ in 0..8 {
            let pool = database.pool(1).await;
            tasks.spawn(async move { pool.store().build().create_table().await });
        }
        for created in tasks.join_all().await {
            created.expect("one creates it, and the others find it");
        }
        assert_eq!(rows(&database.pool(1).await).await, 0);
    }
}

#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
#[tokio::test]
async fn the_schema_is_printed_and_a_missing_table_told(#[case] kind: Kind) {
    let database = Database::new(kind).await;
    let pool = database.pool(2).await;
    let store = pool.store().build();
    let limiter = Limiter::builder()
        .store(store.clone())
        .build()
        .expect("it connects to nothing yet");
    let error = limiter.peek(rule(1, "a")).await.expect_err("there is no table");
    assert_eq!(error.kind(), StoreErrorKind::Misconfigured);
    assert!(error.to_string().contains("create_table"), "{error}");
    run(&pool, store.schema()).await;
    assert_eq!(limiter.peek(rule(1, "a")).await.expect("there is one").remaining, 3);
    store.create_table().await.expect("it is there");
    // No key but the first, which an update in place leaves alone.
    if let Pool::Postgres(pool) = &pool {
        let indexes: i64 = sqlx::query_scalar("SELECT count(*) FROM pg_indexes WHERE tablename = 'rate_limit'")
            .fetch_one(pool)
            .await
            .expect("it is counted");
        assert_eq!(indexes, 1);
    }
}

#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
#[tokio::test]
async fn a_client_is_forgotten_whole_also_in_a_transaction(#[case] kind: Kind) {
    let database = Database::with_table(kind).await;
    let pool = database.pool(2).await;
    let store = pool.store().deadline(Duration::from_secs(5)).build();
    let limiter = limiter(&pool);
    for method in ["a", "b", "c"] {
        for number in [1, 2] {
            limiter.check(rule(number, method)).await.expect("of three");
        }
    }
    on_each!(&pool, |pool| {
        let mut tx = pool.begin().await.expect("it begins");
        assert_eq!(store.forget_within(&mut tx, client(1)).await.expect("it is deleted"), 3);
        tx.rollback().await.expect("it rolls back");
    });
    assert_eq!(
        limiter.peek(rule(1, "a")).await.expect("it tells").remaining,
        2,
        "he was not deleted"
    );
    on_each!(&pool, |pool| {
        let mut tx = pool.begin().await.expect("it begins");
        assert_eq!(store.forget_within(&mut tx, client(1)).await.expect("it is deleted"), 3);
        tx.commit().await.expect("it commits");
    });
    assert_eq!(limiter.peek(rule(1, "a")).await.expect("it tells").remaining, 3);
    assert_eq!(
        limiter.peek(rule(2, "a")).await.expect("it tells").remaining,
        2,
        "another one"
    );
    assert_eq!(store.forget(client(2)).await.expect("it is deleted"), 3);
    assert_eq!(
        (
            rows(&pool).await,
            store.forget(client(2)).await.expect("nothing is left")
        ),
        (0, 0)
    );
    // One function of one client.
    limiter.check(rule(1, "a")).await.expect("of three");
    limiter.check(rule(1, "b")).await.expect("of three");
    limiter
        .reset(Key::new(Method::named("a"), client(1)))
        .await
        .expect("it is reset");
    assert_eq!(rows(&pool).await, 1);
}

/// Full buckets go after the time in which events may come late, in batches, and no take waits for more than one.
#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
#[tokio::test]
async fn sql_09_rows_of_full_buckets_are_purged_and_no_take_is_held_up(#[case] kind: Kind) {
    let database = Database::with_table(kind).await;
    let pool = database.pool(4).await;
    let store = pool.store().deadline(Duration::from_secs(5)).build();
    let limiter = limiter(&pool);
    let take = async |number| limiter.check(rule(number, "purged")).await.map(drop);
    // Full since 1970, for two days, for half a day, in a while, and one that is held.
    for number in 0..5 {
        take(number).await.expect("of three");
    }
    let now = "SELECT full_at FROM rate_limit LIMIT 1";
    let full_at: i64 = on_each!(&pool, |pool| sqlx::query_scalar(now)
        .fetch_one(pool)
        .await
        .expect("there is one"));
    let set = async |number: u32, ago: Duration| {
        let (client, full_at) = (client(number).to_bytes(), full_at - ago.as_micros() as i64);
        match &pool {
            Pool::Postgres(pool) => drop(
                sqlx::query("UPDATE rate_limit SET full_at = $1, changed_at = $1 WHERE client = $2")
                    .bind(full_at)
                    .bind(client)
                    .execute(pool)
                    .await
                    .expect("it is set"),
            ),
            Pool::MariaDb(pool) => drop(
                sqlx::query("UPDATE rate_limit SET full_at = ?, changed_at = full_at WHERE client = ?")
                    .bind(full_at)
                    .bind(&client[..])
                    .execute(pool)
                    .await
                    .expect("it is set"),
            ),
            Pool::Sqlite(pool) => drop(
                sqlx::query("UPDATE rate_limit SET full_at = ?1, changed_at = ?1 WHERE client = ?2")
                    .bind(full_at)
                    .bind(&client[..])
                    .execute(pool)
                    .await
                    .expect("it is set"),
            ),
        }
    };
    set(0, 10 * DAY).await;
    set(1, 2 * DAY).await;
    set(2, DAY / 2).await;
    set(4, 2 * DAY).await;
    // Many more than go in a batch.
    let many = match kind {
        Kind::Postgres => {
            "INSERT INTO rate_limit SELECT decode(md5(n::text), 'hex'), n, 1, 1, 1 FROM generate_series(1, 1700) n"
        }
        Kind::MariaDb => "INSERT INTO rate_limit SELECT UNHEX(MD5(seq)), seq, 1, 1, 1 FROM seq_1_to_1700",
        Kind::Sqlite => {
            "WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 1700)
             INSERT INTO rate_limit SELECT randomblob(16), n, 1, 1, 1 FROM s"
        }
    };
    run(&pool, many).await;
    if kind == Kind::Sqlite {
        // It has one lock, so nobody can hold a row.
        assert_eq!(store.purge().await.expect("it is purged"), 1_703);
        assert_eq!(rows(&pool).await, 2);
        return;
    }
    on_each!(&pool, |pool| {
        let mut holder = pool.begin().await.expect("it begins");
        limiter
            .check_within(rule(4, "purged"), &mut holder)
            .await
            .expect("the bucket is full");
        // Not before the holder ends, if it waited for the row.
        let purged = timeout(Duration::from_secs(20), store.purge())
            .await
            .expect("it waits for nobody for long");
        assert_eq!(purged.expect("it is purged"), 1_702);
        holder.commit().await.expect("the row is there");
    });
    assert_eq!(rows(&pool).await, 3);
    assert_eq!(limiter.peek(rule(4, "purged")).await.expect("it tells").remaining, 2);
    assert_eq!(
        limiter.peek(rule(3, "purged")).await.expect("it tells").remaining,
        2,
        "it is still refilling"
    );
    // An event that comes late finds it as it was.
    set(2, DAY + DAY / 2).await;
    assert_eq!(store.purge().await.expect("it is purged"), 1);
}

#[limit_per_time(5, "10m", key = user, limiter = limiter)]
async fn login(limiter: &Limiter, user: u32) -> Result<(), Rejection> {
    Ok(())
}

#[tokio::test]
async fn windows_are_refused_with_the_store_to_take() {
    let database = Database::with_table(Kind::Sqlite).await;
    let store = database.pool(1).await.store().build();
    for policy in [
        Policy::sliding_window(5, Duration::from_secs(600)),
        Policy::fixed_window(5, Duration::from_secs(600)),
        Policy::token_bucket(5, Duration::from_secs(600)).block(Duration::from_secs(1)),
    ] {
        let policies = Policies::new().with("login", policy);
        let error = Limiter::builder()
            .store(store.clone())
            .policies(policies)
            .build()
            .expect_err("it is refused");
        let message = error.to_string();
        assert!(
            message.contains("`login`") && message.contains("RedisStore"),
            "{message}"
        );
    }
    // Whatever `on_store_error` says, since nothing failed.
    let limiter = Limiter::builder().store(store).build().expect("it is built");
    let refused = login(&limiter, 1).await.expect_err("it cannot be decided");
    assert_eq!(refused.kind(), RejectionKind::Misconfigured);
}

#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
#[tokio::test]
async fn f_18_the_longest_of_all_lengths_of_time(#[case] kind: Kind) {
    let database = Database::with_table(kind).await;
    let pool = database.pool(2).await;
    for lateness in [Duration::MAX, Duration::from_micros(i64::MAX as u64)] {
        let store = pool.store().deadline(Duration::MAX).lateness(lateness).build();
        let limiter = Limiter::builder()
            .store(store.clone())
            .build()
            .expect("no secret is set");
        let late = rule(1, "late").at(std::time::SystemTime::now() + Duration::from_secs(1 << 40));
        assert!(limiter.check(late).await.is_ok());
        limiter
            .check(rule(1, "late"))
            .await
            .expect("of three")
            .refund()
            .await
            .expect("it answers");
        assert_eq!(store.purge().await.expect("nothing overflows"), 0);
        limiter.forget(client(1)).await.expect("it answers");
    }
}
