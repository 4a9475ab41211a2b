//! A PostgreSQL server of the test's own.

use std::io::{Read as _, Write as _};
use std::ops::Deref;
use std::sync::OnceLock;

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use super::guarded_server::{GuardedServer, Recipe};

const RECIPE: Recipe = Recipe {
    name: "PostgreSQL",
    user: "postgres",
    // Debian keeps the server off the PATH, each version in a folder of its own.
    init: r#"newest=$(ls -d /usr/lib/postgresql/*/bin/postgres | sort -V | tail -n 1)
        PATH=${newest:+${newest%/*}:}$PATH
        $as initdb -A trust -N -E UTF8 --locale=C -U postgres -D data"#,
    serve: r#"$as postgres -D data -h 127.0.0.1 -p $port -k "$PWD" -c max_connections=300 \
        -c fsync=off -c synchronous_commit=off -c full_page_writes=off"#,
    socket: |port| format!(".s.PGSQL.{port}"),
    // Until the server handles signals the shell has it ignore `QUIT`, but not `TERM`.
    stop: r#"kill -QUIT $server; kill -TERM $server
        kill -CONT $server $(cat /proc/$server/task/$server/children)"#,
    answers: |stream| {
        // The start of a session, in version 3.0 of the protocol.
        let startup = b"\0\0\0\x29\0\x03\0\0user\0postgres\0database\0postgres\0\0";
        stream.write_all(startup)?;
        let mut kind = [0];
        stream.read_exact(&mut kind)?;
        // As long as it starts, it answers with an error.
        Ok(kind == *b"R")
    },
};

/// A running server. Dropping it stops it, and so does the end of the test process, also by `kill -9`.
pub struct PostgresServer(GuardedServer);

impl PostgresServer {
    /// Starts a server of the test's own: [`shared`](Self::shared) is for tests that leave the server as it is.
    pub fn start() -> Self {
        Self(GuardedServer::start(&RECIPE))
    }

    /// The server of this test binary. Each test has a [`fresh_database`](Self::fresh_database).
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<PostgresServer> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }

    /// `postgres://postgres@127.0.0.1:PORT/DATABASE`.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port())
    }

    /// Makes an empty database, and gives its URL.
    pub async fn fresh_database(&self) -> String {
        let database = format!("test_{}", uuid::Uuid::new_v4().simple());
        let mut connection = PgConnection::connect(&self.url("postgres"))
            .await
            .expect("the server runs");
        sqlx::query(AssertSqlSafe(format!("CREATE DATABASE {database}")))
            .execute(&mut connection)
            .await
            .expect("the name is new");
        connection.close().await.expect("the server runs");
        self.url(&database)
    }
}

impl Deref for PostgresServer {
    type Target = GuardedServer;

    fn deref(&self) -> &GuardedServer {
        &self.0
    }
}
