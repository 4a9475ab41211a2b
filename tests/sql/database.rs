//! The three databases, each with an empty one of the test's own.

use std::str::FromStr as _;

use rate_limit::{SqlStore, SqlStoreBuilder};
use sqlx::mysql::MySqlPoolOptions;
use sqlx::postgres::PgPoolOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
use sqlx::{MySqlPool, PgPool, SqlitePool};
use tempfile::TempDir;

use crate::support::{FaultProxy, MariaDbServer, PostgresServer};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Postgres,
    MariaDb,
    Sqlite,
}

/// An empty database, and where it is.
pub struct Database {
    pub kind: Kind,
    pub url: String,
    _file: Option<TempDir>,
}

/// A pool on a database.
#[derive(Clone, Debug)]
pub enum Pool {
    Postgres(PgPool),
    MariaDb(MySqlPool),
    Sqlite(SqlitePool),
}

impl Database {
    pub async fn new(kind: Kind) -> Self {
        let file = TempDir::new().expect("a folder");
        let url = match kind {
            Kind::Postgres => PostgresServer::shared().fresh_database().await,
            Kind::MariaDb => MariaDbServer::shared().fresh_database().await,
            Kind::Sqlite => format!("sqlite:{}", file.path().join("database.sqlite").display()),
        };
        Self {
            kind,
            url,
            _file: Some(file),
        }
    }

    /// One that is somewhere.
    pub fn at(kind: Kind, url: String) -> Self {
        Self { kind, url, _file: None }
    }

    /// With the table.
    pub async fn with_table(kind: Kind) -> Self {
        let database = Self::new(kind).await;
        database.create_table().await;
        database
    }

    pub async fn create_table(&self) {
        let store = self.pool(1).await.store().build();
        store.create_table().await.expect("the table is created");
    }

    /// A pool as a user has it who sets nothing.
    pub async fn plain_pool(&self) -> Pool {
        match self.kind {
            Kind::Postgres => Pool::Postgres(PgPool::connect(&self.url).await.expect("it connects")),
            Kind::MariaDb => Pool::MariaDb(MySqlPool::connect(&self.url).await.expect("it connects")),
            Kind::Sqlite => Pool::Sqlite(SqlitePool::connect(&self.url).await.expect("it opens")),
        }
    }

    /// A pool of so many connections.
    pub async fn pool(&self, connections: u32) -> Pool {
        self.pool_that(connections, "").await
    }

    /// A pool whose connections begin with a statement.
    pub async fn pool_that(&self, connections: u32, first: &'static str) -> Pool {
        macro_rules! options {
            ($options:ty) => {
                <$options>::new()
                    .max_connections(connections)
                    .test_before_acquire(false)
                    .after_connect(move |connection, _| {
                        Box::pin(async move {
                            if !first.is_empty() {
                                sqlx::query(first).execute(connection).await?;
                            }
                            Ok(())
                        })
                    })
            };
        }
        match self.kind {
            Kind::Postgres => Pool::Postgres(options!(PgPoolOptions).connect(&self.url).await.expect("it connects")),
            Kind::MariaDb => Pool::MariaDb(
                options!(MySqlPoolOptions)
                    .connect(&self.url)
                    .await
                    .expect("it connects"),
            ),
            Kind::Sqlite => {
                let file = SqliteConnectOptions::from_str(&self.url).expect("it is a URL");
                let file = file.create_if_missing(true);
                Pool::Sqlite(options!(SqlitePoolOptions).connect_with(file).await.expect("it opens"))
            }
        }
    }
}

impl Database {
    /// An empty database of a shared server behind a proxy.
    pub async fn behind_proxy(kind: Kind) -> (FaultProxy, Self) {
        let (url, port) = match kind {
            Kind::Postgres => (
                PostgresServer::shared().fresh_database().await,
                PostgresServer::shared().port(),
            ),
            Kind::MariaDb => (
                MariaDbServer::shared().fresh_database().await,
                MariaDbServer::shared().port(),
            ),
            Kind::Sqlite => unreachable!("it has no server"),
        };
        let proxy = FaultProxy::start(port).await;
        let url = url.replace(&format!(":{port}/"), &format!(":{}/", proxy.port()));
        (proxy, Self::at(kind, url))
    }

    /// A pool of a server that has not been connected to yet.
    pub fn lazy_pool(&self, connections: u32) -> Pool {
        macro_rules! lazy {
            ($options:ty) => {
                <$options>::new()
                    .max_connections(connections)
                    .test_before_acquire(false)
                    .connect_lazy(&self.url)
                    .expect("it is a URL")
            };
        }
        match self.kind {
            Kind::Postgres => Pool::Postgres(lazy!(PgPoolOptions)),
            Kind::MariaDb => Pool::MariaDb(lazy!(MySqlPoolOptions)),
            Kind::Sqlite => Pool::Sqlite(lazy!(SqlitePoolOptions)),
        }
    }
}

/// The same code for whichever database a pool is of.
macro_rules! on_each {
    ($pool:expr, |$name:ident| $code:expr) => {
        match $pool {
            $crate::database::Pool::Postgres($name) => $code,
            $crate::database::Pool::MariaDb($name) => $code,
            $crate::database::Pool::Sqlite($name) => $code,
        }
    };
}
pub(crate) use on_each;

impl Pool {
    pub fn store(&self) -> SqlStoreBuilder {
        match self.clone() {
            Self::Postgres(pool) => SqlStore::postgres(pool),
            Self::MariaDb(pool) => SqlStore::mysql(pool),
            Self::Sqlite(pool) => SqlStore::sqlite(pool),
        }
    }
}
