//! The login of a student portal: five wrong passwords in ten minutes for each student number that is tried, and a
//! right one clears the record.
//!
//! `cargo run --example login --features axum`. With `REDIS_URL` set, such as `redis://127.0.0.1/`, all instances
//! share the limit; without, it holds within the process. `ADDR` is where it listens, `127.0.0.1:3000` by default.

use std::collections::HashMap;
use std::env;
use std::error::Error;
use std::sync::Arc;

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{self, PasswordHasher as _, PasswordVerifier as _};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use rate_limit::{KeyHasher, Limiter, Rejection, ToKey, install, limit_per_time};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use tokio::task::spawn_blocking;
use uuid::Uuid;

/// The limit is on the student number that is tried and not on the address: a campus shares one.
#[limit_per_time(count = 5, window = "10m", key = form.student_id, reset_on_success)]
async fn login(State(accounts): State<Accounts>, Json(form): Json<LoginForm>) -> Result<Json<Token>, LoginError> {
    accounts.verify(form).await?;
    let token = Uuid::new_v4().simple().to_string();
    Ok(Json(Token { token }))
}

#[derive(Deserialize)]
struct LoginForm {
    student_id: StudentId,
    password: String,
}

/// A student number: up to 16 digits. What is none does not get as far as the limit.
#[derive(Clone, Deserialize, PartialEq, Eq, Hash)]
#[serde(try_from = "String")]
struct StudentId(String);

impl TryFrom<String> for StudentId {
    type Error = &'static str;

    fn try_from(id: String) -> Result<Self, Self::Error> {
        if (1..=16).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_digit()) {
            Ok(Self(id))
        } else {
            Err("a student number is 1 to 16 digits")
        }
    }
}

impl ToKey for StudentId {
    fn to_key(&self, hasher: &mut KeyHasher) {
        self.0.to_key(hasher);
    }
}

#[derive(Serialize)]
struct Token {
    token: String,
}

enum LoginError {
    WrongPassword,
    TooMany(Rejection),
    /// The password could not be checked.
    Unchecked(password_hash::Error),
}

impl From<Rejection> for LoginError {
    fn from(rejection: Rejection) -> Self {
        Self::TooMany(rejection)
    }
}

impl From<password_hash::Error> for LoginError {
    fn from(error: password_hash::Error) -> Self {
        match error {
            password_hash::Error::PasswordInvalid => Self::WrongPassword,
            error => Self::Unchecked(error),
        }
    }
}

impl IntoResponse for LoginError {
    fn into_response(self) -> Response {
        match self {
            Self::WrongPassword => (StatusCode::UNAUTHORIZED, "wrong student number or password\n").into_response(),
            Self::TooMany(rejection) => rejection.into_response(),
            Self::Unchecked(error) => {
                tracing::error!(%error, "a password could not be checked");
                StatusCode::INTERNAL_SERVER_ERROR.into_response()
            }
        }
    }
}

/// Student numbers and hashed passwords.
#[derive(Clone)]
struct Accounts(Arc<HashMap<StudentId, String>>);

impl Accounts {
    const PASSWORD: &str = "correct-horse";

    /// 20230001 to 20230009.
    fn new() -> Result<Self, password_hash::Error> {
        let account = |n| {
            let hash = Argon2::default().hash_password(Self::PASSWORD.as_bytes())?.to_string();
            Ok((StudentId(format!("2023000{n}")), hash))
        };
        (1..=9)
            .map(account)
            .collect::<Result<_, _>>()
            .map(|accounts| Self(Arc::new(accounts)))
    }

    /// Takes as long for a number that does not exist, so that the time tells nobody which do.
    async fn verify(self, form: LoginForm) -> Result<(), password_hash::Error> {
        let checked = spawn_blocking(move || {
            let known = self.0.get(&form.student_id);
            let hash = known
                .or_else(|| self.0.values().next())
                .ok_or(password_hash::Error::Internal)?;
            Argon2::default().verify_password(form.password.as_bytes(), &PasswordHash::new(hash)?)?;
            known.map(|_| ()).ok_or(password_hash::Error::PasswordInvalid)
        });
        checked.await.unwrap_or(Err(password_hash::Error::Internal))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let limiter = match env::var("REDIS_URL") {
        Ok(url) => Limiter::redis(&url).await?,
        Err(_) => Limiter::embedded(),
    };
    install(limiter)?;

    let app = Router::new().route("/login", post(login)).with_state(Accounts::new()?);
    let address = env::var("ADDR").unwrap_or_else(|_| "127.0.0.1:3000".to_owned());
    let listener = TcpListener::bind(&address)
        .await
        .map_err(|error| format!("cannot listen on {address}: {error}"))?;
    greet(&listener.local_addr()?.to_string());
    axum::serve(listener, app).with_graceful_shutdown(interrupted()).await?;
    Ok(())
}

fn greet(address: &str) {
    println!("listening on http://{address}; six wrong passwords, then another student, who is not refused:\n");
    let curl = |student: &str, password: &str| {
        format!(
            "curl -si http://{address}/login -H 'content-type: application/json' \
             -d '{{\"student_id\":\"{student}\",\"password\":\"{password}\"}}'"
        )
    };
    println!("  for i in 1 2 3 4 5 6; do {}; echo; done", curl("20230001", "guess"));
    println!("  {}", curl("20230002", Accounts::PASSWORD));
}

async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
