//! RST-04: which answers are a success.

use std::future::Future;

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use rate_limit::{FromRejection, Rejection, limit_per_time};

use crate::support::{Failure, World};

/// Whether a call reset its record.
async fn resets<F: Future>(call: F) -> bool {
    let world = World::new();
    world.run(call).await;
    assert_eq!(world.charges(), 1);
    world.resets() == 1
}

#[limit_per_time(2, "1m", key = "k", reset_on_success)]
async fn ok_status(status: u16) -> Result<StatusCode, Rejection> {
    Ok(code(status))
}

#[limit_per_time(2, "1m", key = "k", reset_on_success, on_limit = |rejection| rejection.status())]
async fn status(status: u16) -> StatusCode {
    code(status)
}

#[limit_per_time(2, "1m", key = "k", reset_on_success)]
async fn response(status: u16) -> Response {
    code(status).into_response()
}

#[limit_per_time(2, "1m", key = "k", reset_on_success)]
async fn ok_response(status: u16) -> Result<Response, Rejection> {
    Ok(code(status).into_response())
}

#[limit_per_time(2, "1m", key = "k", reset_on_success)]
async fn ok_tuple(status: u16) -> Result<(StatusCode, HeaderMap, &'static str), Rejection> {
    Ok((code(status), HeaderMap::new(), "body"))
}

#[limit_per_time(2, "1m", key = "k", reset_on_success, on_limit = |rejection| (rejection.status(), String::new()))]
async fn tuple(status: u16) -> (StatusCode, String) {
    (code(status), "body".to_owned())
}

#[limit_per_time(2, "1m", key = "k", reset_on_success)]
async fn opaque(status: u16) -> impl IntoResponse {
    (code(status), "body")
}

#[limit_per_time(2, "1m", key = "k", reset_on_success)]
async fn opaque_result(status: u16) -> impl IntoResponse {
    if status < 400 { Ok("body") } else { Err(code(status)) }
}

fn code(status: u16) -> StatusCode {
    StatusCode::from_u16(status).expect("a status")
}

macro_rules! by_status {
    ($($function:ident)*) => {$(
        for success in [100, 200, 204, 302, 303, 399] {
            assert!(resets($function(success)).await, "{} {success}", stringify!($function));
        }
        for failure in [400, 401, 404, 429, 500, 503] {
            assert!(!resets($function(failure)).await, "{} {failure}", stringify!($function));
        }
    )*};
}

#[tokio::test]
async fn rst_04_an_answer_with_a_status_is_a_success_below_400() {
    by_status!(ok_status status response ok_response ok_tuple tuple opaque opaque_result);
}

#[limit_per_time(2, "1m", key = "k", reset_on_success)]
async fn redirect() -> impl IntoResponse {
    Redirect::to("/login")
}

#[limit_per_time(2, "1m", key = "k", reset_on_success)]
async fn error_response() -> Result<&'static str, Response> {
    Err((StatusCode::FOUND, [(header::LOCATION, "/login")]).into_response())
}

#[limit_per_time(2, "1m", key = "k", reset_on_success, on_limit = |_| 0)]
async fn number(number: u8) -> u8 {
    number
}

#[limit_per_time(2, "1m", key = "k", reset_on_success, on_limit = |_| None)]
async fn option(some: Option<u8>) -> Option<u8> {
    some
}

#[limit_per_time(2, "1m", key = "k", reset_on_success, on_limit = |_| ())]
async fn nothing() {}

#[tokio::test]
async fn rst_04_a_redirect_and_plain_values_are_successes_and_an_err_is_none() {
    assert!(resets(redirect()).await);
    assert!(resets(number(0)).await);
    assert!(resets(option(None)).await);
    assert!(resets(nothing()).await);
    assert!(!resets(error_response()).await, "an `Err`, whatever it is mapped to");
}

#[limit_per_time(2, "1m", key = "k", reset_on_success, success = |out| *out == StatusCode::UNAUTHORIZED)]
async fn only_401(status: u16) -> Answer {
    Answer(code(status))
}

#[derive(Clone, Copy)]
struct Answer(StatusCode);

impl PartialEq<StatusCode> for Answer {
    fn eq(&self, other: &StatusCode) -> bool {
        self.0 == *other
    }
}

impl FromRejection for Answer {
    fn from_rejection(rejection: Rejection) -> Self {
        Self(rejection.status())
    }
}

#[limit_per_time(2, "1m", key = "k", reset_on_success)]
async fn own_answer(status: u16) -> Answer {
    Answer(code(status))
}

#[limit_per_time(2, "1m", key = "k", reset_on_success)]
async fn generic<T>(out: T) -> Result<T, Rejection> {
    Ok(out)
}

#[tokio::test]
async fn rst_04_a_type_parameter_and_a_type_of_the_users_count_as_any_value() {
    assert!(resets(own_answer(401)).await);
    assert!(resets(generic(StatusCode::UNAUTHORIZED)).await);
    assert!(resets(only_401(401)).await);
    assert!(!resets(only_401(200)).await);
}

#[limit_per_time(2, "1m", key = "k", reset_on_success, success = |out| out.is_err())]
async fn upside_down(out: Result<StatusCode, Failure>) -> Result<StatusCode, Failure> {
    out
}

#[limit_per_time(2, "1m", key = "k", reset_on_success, success = |response| response.headers().contains_key("x-token"))]
async fn with_token(token: bool) -> impl IntoResponse {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::UNAUTHORIZED;
    if token {
        response
            .headers_mut()
            .insert("x-token", header::HeaderValue::from_static("t"));
    }
    response
}

fn accepted(answer: &Result<(u8, &str), Failure>) -> bool {
    answer.as_ref().is_ok_and(|(level, _)| *level > 3)
}

#[limit_per_time(2, "1m", key = "k", reset_on_success, success = accepted)]
async fn by_a_function(level: u8) -> Result<(u8, &'static str), Failure> {
    Ok((level, "level"))
}

#[tokio::test]
async fn rst_04_success_decides_where_it_is_given() {
    assert!(!resets(upside_down(Ok(StatusCode::OK))).await);
    assert!(resets(upside_down(Err(Failure::Own("as wanted")))).await);
    assert!(resets(with_token(true)).await);
    assert!(!resets(with_token(false)).await);
    assert!(resets(by_a_function(4)).await);
    assert!(!resets(by_a_function(3)).await);
}
