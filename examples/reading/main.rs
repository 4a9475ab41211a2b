//! A reading counter: what a member reads raises his count of the month, three articles at once and one more each 50 seconds, and feeds his
//! pet. The token is taken in the transaction that raises the count.
//!
//! `cargo run --example reading --features axum,serde,sql-postgres,sql-mysql,sql-sqlite`. `ADDR` is where it listens, `127.0.0.1:3000` by
//! default. `DATABASE_URL` is a database of PostgreSQL (`postgres://..`), MariaDB (`mysql://..`) or SQLite (`sqlite:..`), by default a file
//! in the folder for temporary files; all instances on one share the limit. `CONFIG` is the file of policies, by default
//! `examples/reading/policies.yaml`: what is changed there holds at once.

mod api;
mod configuration;
mod database;
mod error;
mod member;
mod reads;

use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rate_limit::{Limiter, SqlStore, install};
use sqlx::pool::PoolOptions;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{MySql, Pool, Postgres, Sqlite};
use tokio::net::TcpListener;

use crate::database::Database;
use crate::reads::Members;

/// How long a request waits for the database, or for another request.
const PATIENCE: Duration = Duration::from_secs(2);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let url = env::var("DATABASE_URL").unwrap_or_else(|_| {
        let file = env::temp_dir().join("rate-limit-reading.sqlite");
        format!("sqlite:{}", file.display())
    });
    match url.split(':').next() {
        Some("postgres" | "postgresql") => serve(pool::<Postgres>().connect(&url).await?).await,
        Some("mysql" | "mariadb") => serve(pool::<MySql>().connect(&url).await?).await,
        _ => {
            let file = url.parse::<SqliteConnectOptions>()?.create_if_missing(true);
            // There is one writer: waiting for the connection in turn is fairer than asking for the file again and again.
            let pool = pool::<Sqlite>().max_connections(1);
            serve(pool.connect_with(file.busy_timeout(PATIENCE)).await?).await
        }
    }
}

fn pool<DB: sqlx::Database>() -> PoolOptions<DB> {
    PoolOptions::new().acquire_timeout(PATIENCE)
}

async fn serve<DB: Database>(pool: Pool<DB>) -> Result<(), Box<dyn Error>> {
    // Reads of one member at once wait for each other.
    let store = DB::store(pool.clone()).deadline(PATIENCE).build();
    let config = env::var_os("CONFIG").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/reading/policies.yaml"),
        PathBuf::from,
    );
    let policies = configuration::read(&config).map_err(|error| format!("{}: {error}", config.display()))?;
    let limiter = Limiter::builder().store(store.clone()).policies(policies).build()?;
    limiter.verify()?;
    install(limiter.clone())?;
    let members = Members::open(pool, store.clone()).await;
    let members = members.map_err(|error| format!("the tables cannot be made: {error:?}"))?;
    tokio::spawn(housekeeping(store.clone()));
    let _watcher = configuration::watch(config.clone(), limiter, store)?;

    let address = env::var("ADDR").unwrap_or_else(|_| "127.0.0.1:3000".to_owned());
    let listener = TcpListener::bind(&address)
        .await
        .map_err(|error| format!("cannot listen on {address}: {error}"))?;
    greet(&listener.local_addr()?.to_string(), &config);
    axum::serve(listener, api::router(members))
        .with_graceful_shutdown(interrupted())
        .await?;
    Ok(())
}

fn greet(address: &str, config: &Path) {
    println!(
        "listening on http://{address}; five reads, of which three count, what came of them, and the end of a member:\n"
    );
    println!(
        "  for i in 1 2 3 4 5; do curl -s -X PATCH http://{address}/articles/$i/read -H 'X-Member-Id: alice'; echo; done"
    );
    println!("  curl -s http://{address}/members/alice");
    println!("  curl -si -X DELETE http://{address}/members/alice\n");
    println!(
        "more of them count once there is a larger capacity in {}",
        config.display()
    );
}

/// Deletes buckets each hour that have long been full.
async fn housekeeping(store: SqlStore) {
    loop {
        match store.purge().await {
            Ok(purged) => tracing::info!(purged, "buckets that had long been full"),
            Err(error) => tracing::warn!(%error, "buckets that have long been full stay for now"),
        }
        tokio::time::sleep(Duration::from_secs(3600)).await;
    }
}

async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
