//! When the expressions of the attribute are evaluated, and what they may do with the arguments.

use std::cell::RefCell;

use axum::response::IntoResponse;
use rate_limit::{Limiter, Rejection, limit_per_time};
use tokio::task::yield_now;

use crate::support::{World, abandon};

type Log = RefCell<Vec<&'static str>>;

fn noted<T>(log: &Log, what: &'static str, value: T) -> T {
    log.borrow_mut().push(what);
    value
}

fn given(log: &Log) -> Limiter {
    noted(log, "limiter", Limiter::embedded())
}

#[limit_per_time(2, "1m", key = (noted(log, "key", 1), noted(log, "part", 2)), limiter = given(log), on_limit = |_| noted(log, "refused", ()))]
async fn checked(log: &Log) {
    noted(log, "body", ());
}

#[limit_per_time(
    limiter = given(log),
    on_limit = |_| noted(log, "refused", ()),
    success = |_| noted(log, "success", false),
    reset_on_success,
    key = (noted(log, "key", 1), noted(log, "part", 2)),
    count = 2,
    window = "1m"
)]
async fn settled(log: &Log) {
    noted(log, "body", ());
}

#[limit_per_time(2, "1m", key = (noted(log, "key", 1), noted(log, "part", 2)), limiter = given(log))]
async fn response(log: &Log) -> impl IntoResponse {
    noted(log, "body", ());
}

#[tokio::test]
async fn expressions_are_evaluated_once_and_before_the_body() {
    let world = World::new();
    let log = Log::default();
    world
        .run(async {
            for _ in 0..2 {
                checked(&log).await;
                assert_eq!(log.take(), ["key", "part", "limiter", "body"]);
                settled(&log).await;
                assert_eq!(log.take(), ["key", "part", "limiter", "body", "success"]);
                let _ = response(&log).await;
                assert_eq!(log.take(), ["key", "part", "limiter", "body"]);
            }
            checked(&log).await;
            assert_eq!(log.take(), ["key", "part", "limiter", "refused"]);
            settled(&log).await;
            assert_eq!(log.take(), ["key", "part", "limiter", "refused"]);
            let _ = response(&log).await;
            assert_eq!(log.take(), ["key", "part", "limiter"]);
        })
        .await;
}

#[tokio::test]
async fn nothing_is_evaluated_before_the_first_poll() {
    let world = World::new();
    let log = Log::default();
    drop((checked(&log), settled(&log), response(&log)));
    assert_eq!(log.take(), [""; 0]);
    assert_eq!(world.charges(), 0);
}

#[limit_per_time(2, "1m", key = noted(log, "key", "k"), reset_on_success)]
async fn waits(log: &Log) -> Result<(), Rejection> {
    noted(log, "body", ());
    yield_now().await;
    yield_now().await;
    noted(log, "end", Ok(()))
}

#[tokio::test]
async fn polling_again_evaluates_nothing_again() {
    let world = World::new();
    let log = Log::default();
    world
        .run(async {
            assert_eq!(waits(&log).await, Ok(()));
            assert_eq!(log.take(), ["key", "body", "end"]);
            abandon(waits(&log));
            assert_eq!(log.take(), ["key", "body"]);
        })
        .await;
    assert_eq!((world.charges(), world.resets()), (2, 1));
}

fn digits(error: std::num::ParseIntError) -> Rejected {
    Rejected::Form(error.to_string())
}

#[derive(Debug, PartialEq)]
enum Rejected {
    Form(String),
    Limited,
}

impl From<Rejection> for Rejected {
    fn from(_: Rejection) -> Self {
        Self::Limited
    }
}

/// `?` and `return` in the key leave the function: the caller is told so, and charged nothing.
#[limit_per_time(1, "1m", key = id.parse::<u32>().map_err(digits)?, reset_on_success, success = |_| false)]
async fn leaving_early(id: &str) -> Result<u8, Rejected> {
    Ok(1)
}

#[limit_per_time(1, "1m", key = match id { Some(id) => id, None => return Ok(0) })]
async fn leaving_by_return(id: Option<&str>) -> Result<u8, Rejected> {
    Ok(1)
}

#[tokio::test]
async fn a_key_may_leave_the_function_early() {
    let world = World::new();
    world
        .run(async {
            assert_eq!(
                leaving_early("x").await,
                Err(Rejected::Form("invalid digit found in string".to_owned()))
            );
            assert_eq!(leaving_by_return(None).await, Ok(0));
            assert_eq!(world.charges(), 0);
            assert_eq!(leaving_early("7").await, Ok(1));
            assert_eq!(leaving_early("7").await, Err(Rejected::Limited));
            assert_eq!(leaving_by_return(Some("7")).await, Ok(1));
            assert_eq!(leaving_by_return(Some("7")).await, Err(Rejected::Limited));
        })
        .await;
}

async fn account_of(name: &str) -> Result<u64, Rejected> {
    yield_now().await;
    match name {
        "alice" | "al" => Ok(1),
        "bob" => Ok(2),
        _ => Err(Rejected::Form("nobody".to_owned())),
    }
}

#[limit_per_time(1, "1m", key = account_of(&name).await?)]
async fn by_an_account(name: String) -> Result<String, Rejected> {
    Ok(name)
}

#[limit_per_time(1, "1m", key = account_of(&name).await?, reset_on_success, success = |_| false)]
async fn settled_by_an_account(name: String) -> Result<String, Rejected> {
    Ok(name)
}

#[tokio::test]
async fn a_key_may_be_waited_for() {
    let world = World::new();
    world
        .run(async {
            let name = |name: &str| name.to_owned();
            assert_eq!(by_an_account(name("alice")).await.as_deref(), Ok("alice"));
            assert_eq!(by_an_account(name("al")).await, Err(Rejected::Limited));
            assert_eq!(by_an_account(name("bob")).await.as_deref(), Ok("bob"));
            assert_eq!(settled_by_an_account(name("alice")).await.as_deref(), Ok("alice"));
            assert_eq!(settled_by_an_account(name("al")).await, Err(Rejected::Limited));
            assert_eq!(
                settled_by_an_account(name("x")).await,
                Err(Rejected::Form(name("nobody")))
            );
        })
        .await;
    assert_eq!((world.charges(), world.refusals()), (3, 2));
}
