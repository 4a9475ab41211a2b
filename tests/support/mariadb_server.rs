//! A MariaDB server of the test's own.

use std::io::Read as _;
use std::ops::Deref;
use std::sync::OnceLock;

use sqlx::{AssertSqlSafe, Connection as _, MySqlConnection};

use super::guarded_server::{GuardedServer, Recipe};

const RECIPE: Recipe = Recipe {
    name: "MariaDB",
    user: "mysql",
    // A log of 8 MiB in place of 96 halves the time. A server that starts deletes the temporary tables of others, so each has a place of its own.
    init: r#"$as mariadb-install-db --no-defaults --auth-root-authentication-method=normal --skip-test-db \
        --skip-name-resolve --innodb-log-file-size=8M --tmpdir="$PWD" --datadir="$PWD/data""#,
    serve: r#"$as mariadbd --no-defaults --datadir="$PWD/data" --tmpdir="$PWD" --socket="$PWD/socket" --pid-file="$PWD/data/pid" \
        --bind-address=127.0.0.1 --port=$port --skip-name-resolve --max-connections=300 --skip-log-bin \
        --innodb-flush-log-at-trx-commit=0 --innodb-log-file-size=8M --innodb-buffer-pool-size=32M"#,
    socket: |_| "socket".into(),
    stop: "kill -KILL $server",
    answers: |stream| {
        // Its greeting: a length, a number, and the version of the protocol, or 255 and an error.
        let mut greeting = [0; 5];
        stream.read_exact(&mut greeting)?;
        Ok(greeting[4] == 10)
    },
};

/// A running server. Dropping it stops it, and so does the end of the test process, also by `kill -9`.
pub struct MariaDbServer(GuardedServer);

impl MariaDbServer {
    /// Starts a server of the test's own: [`shared`](Self::shared) is for tests that leave the server as it is.
    pub fn start() -> Self {
        Self(GuardedServer::start(&RECIPE))
    }

    /// The server of this test binary. Each test has a [`fresh_database`](Self::fresh_database).
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<MariaDbServer> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }

    /// `mysql://root@127.0.0.1:PORT/DATABASE`.
    pub fn url(&self, database: &str) -> String {
        format!("mysql://root@127.0.0.1:{}/{database}", self.port())
    }

    /// Makes an empty database, and gives its URL.
    pub async fn fresh_database(&self) -> String {
        let database = format!("test_{}", uuid::Uuid::new_v4().simple());
        let mut connection = MySqlConnection::connect(&self.url("mysql"))
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

impl Deref for MariaDbServer {
    type Target = GuardedServer;

    fn deref(&self) -> &GuardedServer {
        &self.0
    }
}
