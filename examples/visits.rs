//! A visit counter: one visit a minute for each address, bots aside, and nobody is refused.
//!
//! `cargo run --example visits --features axum`. `ADDR` is where it listens, `127.0.0.1:3000` by default. Behind proxies,
//! `TRUSTED_PROXIES` lists their networks, such as `10.0.0.0/8,192.168.0.0/16`. With `REDIS_URL` set, all instances share the limit; while
//! Redis cannot be reached, every visit counts: statistics are worth less than a page load. `DATABASE_URL` is where visits are
//! counted, an SQLite file in the folder for temporary files by default.

use std::env;
use std::error::Error;
use std::net::SocketAddr;

use axum::extract::State;
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use rate_limit::axum::Bot;
use rate_limit::{ClientIp, ClientIpSource, Limiter, install, limit_per_time};
use serde::Serialize;
use sqlx::SqlitePool;
use sqlx::sqlite::SqliteConnectOptions;
use tokio::net::TcpListener;

/// A bot uses up nobody's minute, and being over the limit changes the value, not the status.
#[limit_per_time(1, "1m", key = ip, deny_if = bot, on_store_error = open, on_limit = |_| Visit::counted(false))]
async fn visit(State(stats): State<Stats>, ip: ClientIp, Bot(bot): Bot) -> Json<Visit> {
    let added = stats
        .add()
        .await
        .inspect_err(|error| tracing::error!(%error, "a visit was not counted"));
    Visit::counted(added.is_ok())
}

async fn stats(State(stats): State<Stats>) -> Result<Json<Total>, String> {
    let visits = stats.visits().await.map_err(|error| {
        tracing::error!(%error, "visits cannot be told");
        "visits cannot be told now".to_owned()
    })?;
    Ok(Json(Total { visits }))
}

#[derive(Serialize)]
struct Visit {
    ok: bool,
    counted: bool,
}

impl Visit {
    fn counted(counted: bool) -> Json<Self> {
        Json(Self { ok: true, counted })
    }
}

#[derive(Serialize)]
struct Total {
    visits: i64,
}

#[derive(Clone)]
struct Stats(SqlitePool);

impl Stats {
    async fn open(url: &str) -> Result<Self, sqlx::Error> {
        let pool = SqlitePool::connect_with(url.parse::<SqliteConnectOptions>()?.create_if_missing(true)).await?;
        sqlx::query(
            "CREATE TABLE IF NOT EXISTS stats (id INTEGER PRIMARY KEY CHECK (id = 1), visits INTEGER NOT NULL)",
        )
        .execute(&pool)
        .await?;
        Ok(Self(pool))
    }

    async fn add(&self) -> Result<(), sqlx::Error> {
        let add = "INSERT INTO stats VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET visits = visits + 1";
        sqlx::query(add).execute(&self.0).await.map(|_| ())
    }

    async fn visits(&self) -> Result<i64, sqlx::Error> {
        let visits = sqlx::query_scalar("SELECT visits FROM stats")
            .fetch_optional(&self.0)
            .await?;
        Ok(visits.unwrap_or(0))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    install(match env::var("REDIS_URL") {
        Ok(url) => Limiter::redis(&url).await?,
        Err(_) => Limiter::embedded(),
    })?;
    let database = env::var("DATABASE_URL").unwrap_or_else(|_| {
        let file = env::temp_dir().join("rate-limit-visits.sqlite");
        format!("sqlite:{}", file.display())
    });
    let stats = Stats::open(&database).await?;

    let app = Router::new()
        .route("/api/stats/visit", post(visit))
        .route("/api/stats", get(self::stats))
        .layer(Extension(client_ip_source()?))
        .with_state(stats);
    let address = env::var("ADDR").unwrap_or_else(|_| "127.0.0.1:3000".to_owned());
    let listener = TcpListener::bind(&address)
        .await
        .map_err(|error| format!("cannot listen on {address}: {error}"))?;
    let address = listener.local_addr()?;
    println!("listening on http://{address}; a visit, a second within the minute, and a bot:\n");
    println!("  curl -s -X POST http://{address}/api/stats/visit; curl -s -X POST http://{address}/api/stats/visit");
    println!("  curl -s -X POST -A Googlebot http://{address}/api/stats/visit; curl -s http://{address}/api/stats");
    axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>())
        .with_graceful_shutdown(interrupted())
        .await?;
    Ok(())
}

/// The peer, or whom trusted proxies name in `X-Forwarded-For`.
fn client_ip_source() -> Result<ClientIpSource, String> {
    let Ok(proxies) = env::var("TRUSTED_PROXIES") else {
        return Ok(ClientIpSource::peer());
    };
    let network = |text: &str| {
        text.trim()
            .parse()
            .map_err(|_| format!("TRUSTED_PROXIES: `{text}` is no network such as `10.0.0.0/8`"))
    };
    let networks: Vec<_> = proxies.split(',').map(network).collect::<Result<_, _>>()?;
    Ok(ClientIpSource::x_forwarded_for(networks))
}

async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
