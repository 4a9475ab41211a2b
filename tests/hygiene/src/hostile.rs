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

use ::core::future;
use ::core::marker::Sized as Known;
use ::core::result::Result as Answer;
use ::std::time::SystemTime;

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
const success: u8 = 0;
/// In the way.
static policy: u8 = 0;
/// In the way.
struct settle;
/// In the way.
struct Policy;
/// In the way.
struct Permit;
/// In the way.
mod time {}
/// In the way.
trait Sized {}
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
trait Everything: Known {
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
    /// In the way.
    fn rule(self) {}
    /// In the way.
    fn skip(self) {}
    /// In the way.
    fn cost(self) {}
    /// In the way.
    fn observe(self) {}
    /// In the way.
    fn at(self) {}
    /// In the way.
    fn settle(self) {}
    /// In the way.
    fn settled(self) {}
    /// In the way.
    fn permit(self) {}
    /// In the way.
    fn block(self) {}
    /// In the way.
    fn now(self) {}
    /// In the way.
    fn client(self) {}
    /// In the way.
    fn sliding_window() {}
    /// In the way.
    #[expect(clippy::wrong_self_convention, reason = "else it would not be in the way")]
    fn is_some(self) {}
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

/// Stacked, with every option, settled.
#[limit_per_time(9, "1h", key = id, cost = 2, block = "1h", skip_if = id == 0, refund_on_error, crate = limits)]
#[limit_per_time(algorithm = token_bucket, capacity = 1, refill = "1m", key = id, deny_if = id == 9, on_store_error = open)]
pub async fn stacked(id: String, _: u8) -> Result<u8> {
    Answer::Ok(id)
}

/// Settled, as it says, whatever came of it.
#[limit_per_time(1, "1h", key = id, refund_on_error, success = |_| true, crate = limits)]
pub async fn refunded(id: String, _: u8) -> Result<u8> {
    Answer::Ok(id)
}

/// With a permit, whose name is a static's in some other module.
#[limit_per_time(9, "1h", key = id, observe, crate = limits)]
#[limit_per_time(1, "1h", key = id, algorithm = fixed_window, permit = given, limiter = *by)]
pub async fn permit_of(by: &Limiter, id: String) -> Result<u8> {
    let _: limits::Permit = given;
    Answer::Ok(id)
}

/// By the ambient client.
#[limit_per_time(1, "1m", crate = limits)]
pub async fn ambient() -> Result<u8> {
    Answer::Ok(7)
}

/// By the time of the event.
#[limit_per_time(algorithm = token_bucket, capacity = 1, refill = "1m", key = id, at = when, crate = limits)]
pub async fn by_time(id: String, when: SystemTime) -> Result<u8> {
    Answer::Ok(id)
}

/// Returns a future.
#[limit_per_time(1, "1m", key = id, reset_on_success, success = |_| false, crate = limits)]
pub fn later(id: String) -> impl future::Future<Output = Result<u8>> + Send {
    async move { Answer::Ok(id) }
}

/// Has numbers for those who implement it.
#[limit_per_time(1, "1m", key = id, crate = limits)]
#[expect(async_fn_in_trait, reason = "what calls it here needs no `Send`")]
pub trait Api {
    /// Is written by each type.
    async fn required(&self, id: String) -> Result<u8>;

    /// Is written here.
    async fn provided(&self, id: String) -> Result<u8> {
        Answer::Ok(id)
    }
}

/// Implements it.
pub struct Portal;

#[limit_per_time(key = id, crate = limits)]
impl Api for Portal {
    async fn required(&self, id: String) -> Result<u8> {
        Answer::Ok(id)
    }
}

#[limit_per_time(1, "1m", key = id, crate = limits)]
impl Portal {
    /// In a block.
    pub async fn method(&self, id: String) -> Result<u8> {
        Answer::Ok(id)
    }
}
