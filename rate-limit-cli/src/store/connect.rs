//! To a store by its URL. No message shows more of that than a host.

use std::str::FromStr as _;
use std::time::Duration;

use rate_limit::{RedisStore, SqlStore};
use sqlx::mysql::{MySqlConnectOptions, MySqlConnection, MySqlPoolOptions};
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqlitePoolOptions};
use sqlx::{Connection, Pool};
use tokio::time::timeout;
use url::Url;

use super::{Store, StoreArgs, chain};
use crate::failure::{Code, Failure};

/// How long a server has to answer.
const PATIENCE: Duration = Duration::from_secs(3);

impl StoreArgs {
    /// The store, once it has let us in. It is never created.
    pub(super) async fn connect(&self) -> Result<Store, Failure> {
        let url = self.store.trim();
        let (scheme, rest) = url.split_once(':').unwrap_or(("", url));
        let failed = |why: String| Failure::new(Code::Store, why);
        let sql = match scheme {
            "postgres" | "postgresql" => postgres(url).await,
            "mysql" | "mariadb" => mysql(url).await,
            "sqlite" => sqlite(url).await,
            _ if scheme.starts_with("redis") && rest.starts_with("//") => {
                let store = RedisStore::builder(url).prefix(&self.prefix).deadline(PATIENCE);
                let store = store.connect().await.map_err(|error| failed(chain(&error)))?;
                return Ok(Store::Redis(store));
            }
            _ => {
                return Err(Failure::new(
                    Code::Store,
                    "the URL of the store names none: write `redis://host:6379/0`, `rediss://`, `redis+unix://`, `redis-sentinel://`, \
                     `redis-cluster://`, `postgres://user@host/database`, `mysql://` or `sqlite:/path/to/file`",
                ));
            }
        };
        sql.map(Store::Sql).map_err(|error| failed(told(&error)))
    }

    /// What of the URL is no secret.
    pub(super) fn place(&self) -> Option<String> {
        shown(self.store.trim())
    }
}

async fn postgres(url: &str) -> Result<SqlStore, sqlx::Error> {
    let options = PgConnectOptions::from_str(url)?;
    try_out::<PgConnection>(&options).await?;
    let pool: Pool<_> = PgPoolOptions::new().max_connections(2).connect_lazy_with(options);
    Ok(SqlStore::postgres(pool).deadline(PATIENCE).build())
}

async fn mysql(url: &str) -> Result<SqlStore, sqlx::Error> {
    let options = MySqlConnectOptions::from_str(url)?;
    try_out::<MySqlConnection>(&options).await?;
    let pool: Pool<_> = MySqlPoolOptions::new().max_connections(2).connect_lazy_with(options);
    Ok(SqlStore::mysql(pool).deadline(PATIENCE).build())
}

async fn sqlite(url: &str) -> Result<SqlStore, sqlx::Error> {
    let options = SqliteConnectOptions::from_str(url)?.create_if_missing(false);
    try_out::<SqliteConnection>(&options).await?;
    let pool: Pool<_> = SqlitePoolOptions::new().max_connections(2).connect_lazy_with(options);
    Ok(SqlStore::sqlite(pool).deadline(PATIENCE).build())
}

/// Connects once: a pool would go on trying, and tell that it got no connection, but not why.
async fn try_out<C: Connection>(options: &C::Options) -> Result<(), sqlx::Error> {
    let connection = timeout(PATIENCE, C::connect_with(options)).await;
    let timed_out = |_| sqlx::Error::Io(std::io::Error::other("it did not answer in time"));
    connection.map_err(timed_out)??.close().await
}

fn told(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Configuration(_) => {
            "its URL cannot be read: see whether what is special in it is written as `%..`".to_owned()
        }
        error => chain(error),
    }
}

/// A host and its port, or a file. `None` for several hosts, and for what is no URL.
fn shown(url: &str) -> Option<String> {
    if let Some(path) = url.strip_prefix("sqlite:") {
        return path.split('?').next().map(str::to_owned);
    }
    let url = Url::parse(url).ok()?;
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    Some(format!("{}://{}{port}", url.scheme(), url.host_str()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_secret_is_shown() {
        let known = |place: &str| Some(place.to_owned());
        assert_eq!(shown("redis://user:secret@one:6380/0"), known("redis://one:6380"));
        assert_eq!(
            shown("sqlite:/var/lib/app.sqlite?mode=ro"),
            known("/var/lib/app.sqlite")
        );
        for url in [
            "secret",
            "secret:secret",
            "redis://:sec/ret@one:6379/0",
            "redis://:sec?ret@one:6379/0",
            "redis-cluster://:secret@one:7000,two:7000",
            "postgres://one/app?password=secret&user=a@b",
            "postgres://a:sec ret@[::1/app",
        ] {
            let shown = shown(url).unwrap_or_default();
            assert!(!shown.contains("sec") && !shown.contains("ret"), "{shown}");
        }
    }
}
