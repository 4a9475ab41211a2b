//! Registration and log-in.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use rate_limit::{Policy, limit_per_time};
use serde::{Deserialize, Serialize};

use crate::App;
use crate::accounts::StudentId;
use crate::error::ApiError;

/// Five failed attempts in ten minutes.
pub const LOGIN: Policy = Policy::sliding_window(5, Duration::from_secs(600));
/// The name of the limit, by which recent attempts are looked up too.
pub const NAME: &str = "login";

#[derive(Deserialize)]
pub struct Credentials {
    student_id: StudentId,
    password: String,
}

#[derive(Serialize)]
pub struct Token {
    token: String,
}

/// The limit is on the student number that is tried and not on the address: a campus shares one.
#[limit_per_time(count = LOGIN.count(), window = LOGIN.window(), key = form.student_id, reset_on_success, name = "login")]
pub async fn login(State(app): State<App>, Json(form): Json<Credentials>) -> Result<Json<Token>, ApiError> {
    let token = app.accounts.log_in(form.student_id, form.password).await?;
    Ok(Json(Token { token }))
}

/// Hashing a password is dear: ten a minute is plenty for everybody together.
#[limit_per_time(10, "1m", key = "everybody")]
pub async fn register(State(app): State<App>, Json(form): Json<Credentials>) -> Result<StatusCode, ApiError> {
    match app.accounts.register(form.student_id, form.password).await? {
        true => Ok(StatusCode::CREATED),
        false => Err(ApiError::Taken),
    }
}
