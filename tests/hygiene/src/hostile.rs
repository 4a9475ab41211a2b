//! Where names of the prelude and of the standard library mean something else.
#![expect(
    dead_code,
    unused_macros,
    non_camel_case_types,
    non_upper_case_globals,
    reason = "the names are there to be in the way"
)]
#![allow(
    unknown_lints,
    clippy::inline_modules,
    reason = "so are the modules; older compilers do not know the lint"
)]

use ::core::result::Result as Answer;

use axum::http::StatusCode;
use axum::response::IntoResponse;
use limits::{limit_per_time, Limiter, Rejection};

/// In the way.
mod core {}
/// In the way.
mod std {}
/// In the way.
mod rate_limit {}
/// In the way.
enum Ok {}
/// In the way.
enum Err {}
/// In the way.
struct Some;
/// In the way.
struct None;
/// In the way.
enum Option {}
/// In the way.
type Result<T> = Answer<T, Rejection>;
/// In the way.
type String = u8;
/// In the way.
struct Box;
/// In the way.
struct call;
/// In the way.
struct rejection;
/// In the way.
static client: u8 = 0;
/// In the way.
static limiter: u8 = 0;
/// In the way.
const permit: u8 = 0;
/// In the way.
const out: u8 = 0;
/// In the way.
const kept: u8 = 0;
/// In the way.
const types: u8 = 0;
/// In the way.
struct admitted;
/// In the way.
struct body;
/// In the way.
trait Future {}
/// In the way.
trait FromRejection {}

/// In the way.
macro_rules! format {
    () => {};
}
/// In the way.
macro_rules! matches {
    () => {};
}
/// In the way.
macro_rules! vec {
    () => {};
}

/// Has a method of each name for each type.
trait Everything: Sized {
    /// In the way.
    fn split(self) {}
    /// In the way.
    fn subject(self) {}
    /// In the way.
    fn part(self) {}
    /// In the way.
    fn finish(self) {}
    /// In the way.
    fn admit(self) {}
    /// In the way.
    fn limiter(self) {}
    /// In the way.
    fn restore(self) {}
    /// In the way.
    fn reset_on_success(self) {}
    /// In the way.
    fn on_store_error(self) {}
}

impl<T> Everything for T {}

/// Checked.
#[limit_per_time(1, "1m", key = id, on_store_error = closed, crate = limits)]
pub async fn checked(id: String) -> Result<u8> {
    Answer::Ok(id)
}

/// Settled.
#[limit_per_time(1, "1m", key = id, reset_on_success, success = |_| false, crate = limits)]
pub async fn settled(id: String, _: u8) -> Result<u8> {
    Answer::Ok(id)
}

/// Settled, by the type of the value.
#[limit_per_time(1, "1m", key = id, reset_on_success, limiter = *given, crate = limits)]
pub async fn settled_by_type(given: &Limiter, id: String) -> Result<StatusCode> {
    let _: u8 = id;
    Answer::Ok(StatusCode::UNAUTHORIZED)
}

/// A response.
#[limit_per_time(1, "1m", key = id, crate = limits)]
pub async fn opaque(id: String, _: u8) -> impl IntoResponse {
    [id]
}

/// A response, settled.
#[limit_per_time(1, "1m", key = id, reset_on_success, success = |_| false, crate = limits)]
pub async fn settled_opaque(id: String, _: u8) -> impl IntoResponse {
    [id]
}
