//! What a decision costs the server, by its own count.

use std::time::Duration;

use rate_limit::{Client, Key, Limiter, Method, Policy, Rule};
use sqlx::{MySqlConnection, PgPool};

use crate::database::{Database, Kind, Pool};
use crate::support::PostgresServer;
use crate::within::limiter;

fn rule(client: u32) -> Rule {
    let key = Key::new(Method::named("cost"), Client::of(&client).expect("somebody"));
    Rule::new(Policy::token_bucket(3, Duration::from_secs(50)), key)
}

/// Three that are admitted and two that are not, on connections of the store.
async fn five_decisions(limiter: &Limiter, client: u32) {
    for n in 0..5 {
        assert_eq!(limiter.check(rule(client)).await.is_ok(), n < 3);
    }
}

#[tokio::test]
async fn a_decision_is_one_statement_of_postgres() {
    let server = PostgresServer::start();
    let database = Database::at(Kind::Postgres, server.fresh_database().await);
    let pool = database.pool(2).await;
    pool.store().build().create_table().await.expect("it is created");
    let Pool::Postgres(postgres) = &pool else {
        unreachable!()
    };
    let name: String = sqlx::query_scalar("SELECT current_database()")
        .fetch_one(postgres)
        .await
        .expect("it tells");
    let log = sqlx::AssertSqlSafe(format!("ALTER DATABASE {name} SET log_statement = 'all'"));
    sqlx::query(log).execute(postgres).await.expect("it is set");
    // For new connections.
    let pool = database.pool(2).await;
    let limiter = limiter(&pool);
    let Pool::Postgres(postgres) = &pool else {
        unreachable!()
    };
    let statements = || server.log().lines().filter(|line| is_statement(line)).count();
    five_decisions(&limiter, 1).await;
    let before = statements();
    five_decisions(&limiter, 2).await;
    assert_eq!(statements() - before, 5, "one each");

    let mut tx = postgres.begin().await.expect("it begins");
    let before = statements();
    for n in 0..5 {
        assert_eq!(limiter.check_within(rule(3), &mut tx).await.is_ok(), n < 3);
    }
    assert_eq!(statements() - before, 5, "one each, in the caller's transaction too");
    tx.commit().await.expect("it commits");
}

fn is_statement(line: &str) -> bool {
    line.contains("LOG:  execute") || line.contains("LOG:  statement:")
}

/// A row is changed where it lies, without a new entry of the index.
#[tokio::test]
async fn takes_of_postgres_leave_the_index_alone() {
    async fn counts(pool: &PgPool) -> (i64, i64) {
        sqlx::query("SELECT pg_stat_force_next_flush()")
            .execute(pool)
            .await
            .expect("it is told");
        sqlx::query_as("SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'rate_limit'")
            .fetch_one(pool)
            .await
            .expect("it counts")
    }
    let database = Database::with_table(Kind::Postgres).await;
    let pool = database.pool(1).await;
    let limiter = limiter(&pool);
    let Pool::Postgres(postgres) = &pool else {
        unreachable!()
    };
    let many = |client| {
        let key = Key::new(Method::named("cost"), Client::of(&client).expect("somebody"));
        Rule::new(Policy::token_bucket(1_000, Duration::from_secs(50)), key)
    };
    for n in 0..400_u32 {
        limiter.check(many(n % 4)).await.expect("of a thousand");
    }
    let (updated, in_place) = counts(postgres).await;
    assert_eq!((updated, in_place), (396, 396));
}

async fn questions(connection: &mut MySqlConnection) -> i64 {
    let (_, asked): (String, String) = sqlx::query_as("SHOW SESSION STATUS LIKE 'Questions'")
        .fetch_one(connection)
        .await
        .expect("it counts");
    asked.parse().expect("it is a number")
}

#[tokio::test]
async fn a_decision_is_two_statements_of_mariadb_in_one_round_trip_and_one_within() {
    let database = Database::with_table(Kind::MariaDb).await;
    let pool = database.pool(1).await;
    let limiter_on = limiter(&pool);
    let Pool::MariaDb(mariadb) = &pool else { unreachable!() };
    let asked = async || questions(&mut mariadb.acquire().await.expect("it is free")).await;
    five_decisions(&limiter_on, 1).await;
    let before = asked().await;
    five_decisions(&limiter_on, 2).await;
    // The count itself is one.
    assert_eq!(asked().await - before - 1, 10, "a take, and what it answers");

    let pool = database.pool(2).await;
    let limiter_on = limiter(&pool);
    let Pool::MariaDb(mariadb) = &pool else { unreachable!() };
    // A store that has taken no connection so far tests the first ones.
    five_decisions(&limiter_on, 4).await;
    let mut tx = mariadb.begin().await.expect("it begins");
    let mut other = mariadb.acquire().await.expect("it is free");
    let before = questions(&mut other).await;
    drop(other);
    limiter_on.check_within(rule(3), &mut tx).await.expect("of three");
    let mut other = mariadb.acquire().await.expect("it is free");
    assert_eq!(
        questions(&mut other).await - before - 1,
        1,
        "a new row is made beforehand"
    );
    let made = questions(&mut other).await;
    let before = questions(&mut tx).await;
    for n in 0..4 {
        assert_eq!(limiter_on.check_within(rule(3), &mut tx).await.is_ok(), n < 2);
    }
    assert_eq!(questions(&mut tx).await - before - 1, 4, "one each");
    assert_eq!(questions(&mut other).await - made - 1, 0, "and once is enough");
    tx.commit().await.expect("it commits");
}
