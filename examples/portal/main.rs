//! A student portal: registration and log-in, an API for who is logged in, and a page to use them from.
//!
//! `cargo run --example portal --features admin`, then open the address it prints. `ADDR` is where it listens, `127.0.0.1:3000` by default.
//! With `REDIS_URL` set, all instances share the limits.
//!
//! With `ADMIN_TOKEN` set, `/admin/` shows who is limited and releases a student: the user is `admin`, the password the token. Serve it over
//! TLS, and set `RATE_LIMIT_SECRET` too (`openssl rand -hex 16`), since student numbers are easily guessed from their hashes.

mod accounts;
mod admin;
mod api;
mod error;
mod login;

use std::env;
use std::error::Error;
use std::net::SocketAddr;

use axum::Router;
use axum::response::Html;
use axum::routing::{get, post};
use rate_limit::axum::{AmbientClient, RateHeaders};
use rate_limit::{HeaderDialect, Limiter, install};
use tokio::net::TcpListener;

use crate::accounts::Accounts;

#[derive(Clone)]
struct App {
    accounts: Accounts,
    limiter: Limiter,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let limiter = match env::var("REDIS_URL") {
        Ok(url) => Limiter::redis(&url).await?,
        Err(_) => Limiter::embedded(),
    };
    install(limiter.clone())?;
    let app = App {
        accounts: Accounts::default(),
        limiter,
    };

    let (accounts, limiter) = (app.accounts.clone(), app.limiter.clone());
    let mut router = Router::new()
        .route("/", get(|| async { Html(include_str!("page.html")) }))
        .route("/api/register", post(login::register))
        .route("/api/login", post(login::login))
        .route("/api/profile", get(api::profile))
        .route("/api/courses", get(api::courses))
        .route("/api/transcript", get(api::transcript))
        .route("/api/attempts", get(api::attempts))
        // Who is logged in is the client of every limited function that names none.
        .layer(AmbientClient::new(move |parts| accounts.logged_in(&parts.headers)))
        .layer(RateHeaders::new(HeaderDialect::Draft11))
        .with_state(app);
    if let Ok(token) = env::var("ADMIN_TOKEN") {
        router = router.nest_service("/admin", admin::page(limiter, &token)?.router::<()>());
    }
    let address = env::var("ADDR").unwrap_or_else(|_| "127.0.0.1:3000".to_owned());
    let listener = TcpListener::bind(&address)
        .await
        .map_err(|error| format!("cannot listen on {address}: {error}"))?;
    println!("listening on http://{}; open it in a browser", listener.local_addr()?);
    axum::serve(listener, router.into_make_service_with_connect_info::<SocketAddr>())
        .with_graceful_shutdown(interrupted())
        .await?;
    Ok(())
}

async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
