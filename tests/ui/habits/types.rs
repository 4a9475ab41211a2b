//! Keys and return types of other limiters, as the compiler tells of them.
use std::collections::HashMap;
use std::num::NonZeroU64;
use std::time::Instant;

use rate_limit::{Rejection, limit_per_time};

struct Form {
    user: Option<String>,
    id: Option<NonZeroU64>,
}

#[limit_per_time(5, "1m", key = form.user)]
async fn option(form: Form) -> Result<usize, Rejection> {
    Ok(form.user.map_or(0, |user| user.len()))
}

#[limit_per_time(5, "1m", key = form.id)]
async fn option_of_a_number(form: Form) -> Result<bool, Rejection> {
    Ok(form.id.is_some())
}

#[limit_per_time(5, "1m", key = (7, form.user.as_deref()))]
async fn option_of_borrowed_text(form: Form) -> Result<usize, Rejection> {
    Ok(form.user.map_or(0, |user| user.len()))
}

#[limit_per_time(5, "1m", key = form)]
async fn structure(form: Form) -> Result<usize, Rejection> {
    Ok(form.user.map_or(0, |user| user.len()))
}

#[limit_per_time(5, "1m", key = &form)]
async fn borrowed_structure(form: Form) -> Result<usize, Rejection> {
    Ok(form.user.map_or(0, |user| user.len()))
}

#[limit_per_time(5, "1m", key = weight)]
async fn float(weight: f32) -> Result<f32, Rejection> {
    Ok(weight)
}

#[limit_per_time(5, "1m", key = headers.get("authorization"))]
async fn header(headers: HashMap<String, String>) -> Result<usize, Rejection> {
    Ok(headers.len())
}

#[limit_per_time(5, "1m", key = session.parse::<u64>())]
async fn result(session: String) -> Result<usize, Rejection> {
    Ok(session.len())
}

#[limit_per_time(5, "1m", key = Instant::now())]
async fn time() -> Result<u64, Rejection> {
    Ok(7)
}

#[limit_per_time(5, "1m", key = roles)]
async fn list(roles: Vec<String>) -> Result<usize, Rejection> {
    Ok(roles.len())
}

#[limit_per_time(5, "1m", key = user)]
async fn returns_an_option(user: u64) -> Option<u64> {
    Some(user)
}

#[limit_per_time(5, "1m", key = user)]
async fn returns_a_bool(user: u64) -> bool {
    user > 0
}

#[limit_per_time(5, "1m", key = user)]
async fn returns_text(user: u64) -> String {
    user.to_string()
}

#[limit_per_time(5, "1m", key = user)]
async fn returns_an_error_of_text(user: u64) -> Result<u64, String> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user)]
async fn returns_an_error_of_borrowed_text(user: u64) -> Result<u64, &'static str> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user)]
async fn returns_an_error_of_a_status(user: u64) -> Result<u64, axum::http::StatusCode> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, reset_on_success)]
async fn returns_an_error_of_units(user: u64) -> Result<u64, ()> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user)]
async fn returns_a_pair(user: u64) -> (u64, String) {
    (user, String::new())
}

#[limit_per_time(5, "1m", key = user, on_limit = axum::http::StatusCode::TOO_MANY_REQUESTS)]
async fn answers_with_a_value(user: u64) -> axum::http::StatusCode {
    axum::http::StatusCode::from_u16(user as u16).unwrap_or_default()
}

#[limit_per_time(5, "1m", key = user, on_limit = busy)]
async fn answers_with_a_function_of_another_type(user: u64) -> u64 {
    user
}

fn busy(_: Rejection) -> String {
    String::new()
}

fn main() {}
