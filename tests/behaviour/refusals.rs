//! How a refusal becomes a value of the return type.

use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::io;

use rate_limit::{FromRejection, Rejection, RejectionKind, limit_per_time};

use crate::support::World;

#[limit_per_time(1, "1m", key = "k")]
async fn boxed() -> Result<u8, Box<dyn Error>> {
    Ok(1)
}

#[limit_per_time(1, "1m", key = "k", reset_on_success, success = |_| false)]
async fn boxed_send() -> Result<u8, Box<dyn Error + Send + Sync>> {
    Ok(1)
}

#[derive(Debug)]
enum AppError {
    Limited(Rejection),
    Io(io::Error),
}

impl fmt::Display for AppError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limited(rejection) => rejection.fmt(f),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl Error for AppError {}

impl From<Rejection> for AppError {
    fn from(rejection: Rejection) -> Self {
        Self::Limited(rejection)
    }
}

impl From<io::Error> for AppError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

#[limit_per_time(1, "1m", key = "k")]
async fn custom() -> Result<u8, AppError> {
    let error = || -> io::Result<u8> { Err(io::ErrorKind::NotFound.into()) };
    Ok(error()?)
}

#[limit_per_time(1, "1m", key = "k", reset_on_success, on_limit = |rejection| Ok(Err(rejection)))]
async fn infallible() -> Result<Result<u8, Rejection>, Infallible> {
    Ok(Ok(1))
}

#[derive(Debug, PartialEq)]
enum Page {
    Content(&'static str),
    TryLater(u64),
}

impl FromRejection for Page {
    fn from_rejection(rejection: Rejection) -> Self {
        Self::TryLater(rejection.retry_after().map_or(1, |wait| wait.as_secs()))
    }
}

#[limit_per_time(1, "1m", key = "k")]
async fn page() -> Page {
    Page::Content("page")
}

#[limit_per_time(1, "1m", key = "k", on_limit = |_| ())]
async fn nothing(ran: &mut u8) {
    *ran += 1;
}

#[limit_per_time(1, "1m", key = "k", on_limit = Option::<Rejection>::Some)]
async fn by_a_path() -> Option<Rejection> {
    None
}

/// A path with type arguments, as MAC-38 has it.
#[limit_per_time(1, "1m", key = "k", on_limit = crate::refusals::answers::with::<u8, 7>)]
async fn by_a_function() -> u8 {
    1
}

mod answers {
    pub(super) fn with<T: From<u8>, const N: u8>(_: rate_limit::Rejection) -> T {
        T::from(N)
    }
}

#[tokio::test]
async fn mac_29_an_error_type_holds_the_refusal() {
    World::new()
        .run(async {
            assert_eq!(boxed().await.ok(), Some(1));
            let refused = boxed().await.expect_err("one over the limit");
            assert_eq!(
                refused.downcast_ref::<Rejection>().map(Rejection::kind),
                Some(RejectionKind::Limited)
            );

            assert_eq!(boxed_send().await.ok(), Some(1));
            let refused = boxed_send().await.expect_err("one over the limit");
            assert_eq!(
                refused.to_string(),
                "too many calls of `boxed_send` (1 in 1m): try again in 1m"
            );

            let own = custom().await.expect_err("its own error");
            assert!(matches!(own, AppError::Io(error) if error.kind() == io::ErrorKind::NotFound));
            let refused = custom().await.expect_err("one over the limit");
            assert!(matches!(refused, AppError::Limited(rejection) if rejection.method() == "custom"));
        })
        .await;
}

#[tokio::test]
async fn a_type_of_the_users_own_holds_the_refusal() {
    World::new()
        .run(async {
            assert_eq!(page().await, Page::Content("page"));
            assert_eq!(page().await, Page::TryLater(60));
        })
        .await;
}

#[tokio::test]
async fn on_limit_answers_where_no_refusal_fits() {
    World::new()
        .run(async {
            assert_eq!(infallible().await, Ok(Ok(1)));
            assert_eq!(infallible().await, Ok(Ok(1)), "the success cleared the record");

            let mut ran = 0;
            nothing(&mut ran).await;
            nothing(&mut ran).await;
            assert_eq!(ran, 1);

            assert_eq!(by_a_path().await, None);
            assert!(by_a_path().await.is_some_and(|rejection| rejection.is_limited()));
        })
        .await;
}

#[tokio::test]
async fn mac_38_on_limit_may_be_a_path_with_type_arguments() {
    World::new()
        .run(async {
            assert_eq!(by_a_function().await, 1);
            assert_eq!(by_a_function().await, 7);
        })
        .await;
}
