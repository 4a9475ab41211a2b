//! The databases, and what each of them is asked.

use std::future::Future;

use rate_limit::{SqlConnection, SqlStore, SqlStoreBuilder};
use sqlx::{MySql, Pool, Postgres, Sqlite};

/// Parameters are the member, and where there is a second one the month.
pub struct Statements {
    /// Begins a transaction that writes.
    pub begin: &'static str,
    /// In one transaction.
    pub create_tables: &'static [&'static str],
    pub raise_count: &'static str,
    pub give_points: &'static str,
    pub reading_count: &'static str,
    pub pet_points: &'static str,
    pub delete: [&'static str; 2],
}

const POSTGRES: Statements = Statements {
    begin: "BEGIN",
    create_tables: &[
        // Several processes that create a table at once get into each other's way.
        "SELECT pg_advisory_xact_lock(72616491)",
        "CREATE TABLE IF NOT EXISTS reading_counts (member TEXT, month TEXT, count BIGINT NOT NULL, PRIMARY KEY (member, month))",
        "CREATE TABLE IF NOT EXISTS pets (member TEXT PRIMARY KEY, points BIGINT NOT NULL)",
    ],
    raise_count: "INSERT INTO reading_counts VALUES ($1, $2, 1)
        ON CONFLICT (member, month) DO UPDATE SET count = reading_counts.count + 1",
    give_points: "INSERT INTO pets VALUES ($1, 10) ON CONFLICT (member) DO UPDATE SET points = pets.points + 10",
    reading_count: "SELECT count FROM reading_counts WHERE member = $1 AND month = $2",
    pet_points: "SELECT points FROM pets WHERE member = $1",
    delete: [
        "DELETE FROM reading_counts WHERE member = $1",
        "DELETE FROM pets WHERE member = $1",
    ],
};

const MARIADB: Statements = Statements {
    begin: "BEGIN",
    // Bytes, because texts are equal here that differ in case.
    create_tables: &[
        "CREATE TABLE IF NOT EXISTS reading_counts
            (member VARBINARY(64), month CHAR(7), count BIGINT NOT NULL, PRIMARY KEY (member, month))",
        "CREATE TABLE IF NOT EXISTS pets (member VARBINARY(64) PRIMARY KEY, points BIGINT NOT NULL)",
    ],
    raise_count: "INSERT INTO reading_counts VALUES (?, ?, 1) ON DUPLICATE KEY UPDATE count = count + 1",
    give_points: "INSERT INTO pets VALUES (?, 10) ON DUPLICATE KEY UPDATE points = points + 10",
    reading_count: "SELECT count FROM reading_counts WHERE member = ? AND month = ?",
    pet_points: "SELECT points FROM pets WHERE member = ?",
    delete: [
        "DELETE FROM reading_counts WHERE member = ?",
        "DELETE FROM pets WHERE member = ?",
    ],
};

const SQLITE: Statements = Statements {
    // A transaction that becomes one that writes only later fails where another one wrote meanwhile.
    begin: "BEGIN IMMEDIATE",
    create_tables: POSTGRES.create_tables.split_at(1).1,
    ..POSTGRES
};

/// A database that the service can run on.
pub trait Database: sqlx::Database<Connection: SqlConnection> {
    const SQL: Statements;

    fn store(pool: Pool<Self>) -> SqlStoreBuilder;

    fn execute(
        connection: &mut Self::Connection,
        statement: &'static str,
        parameters: &[&str],
    ) -> impl Future<Output = sqlx::Result<()>> + Send;

    /// The number that is asked for, if there is a row.
    fn number(
        connection: &mut Self::Connection,
        statement: &'static str,
        parameters: &[&str],
    ) -> impl Future<Output = sqlx::Result<Option<i64>>> + Send;
}

macro_rules! database {
    ($database:ident, $statements:ident, $store:ident) => {
        impl Database for $database {
            const SQL: Statements = $statements;

            fn store(pool: Pool<Self>) -> SqlStoreBuilder {
                SqlStore::$store(pool)
            }

            async fn execute(
                connection: &mut Self::Connection,
                statement: &'static str,
                parameters: &[&str],
            ) -> sqlx::Result<()> {
                let query = parameters
                    .iter()
                    .fold(sqlx::query(statement), |query, value| query.bind(*value));
                query.execute(connection).await.map(drop)
            }

            async fn number(
                connection: &mut Self::Connection,
                statement: &'static str,
                parameters: &[&str],
            ) -> sqlx::Result<Option<i64>> {
                let query = sqlx::query_scalar(statement);
                let query = parameters.iter().fold(query, |query, value| query.bind(*value));
                query.fetch_optional(connection).await
            }
        }
    };
}

database!(Postgres, POSTGRES, postgres);
database!(MySql, MARIADB, mysql);
database!(Sqlite, SQLITE, sqlite);
