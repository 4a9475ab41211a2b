//! `refund_on_success` and `refund_on_error`, and calls that are settled within and beside others.

use std::cell::Cell;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::task::{Context, Waker};

use axum::http::StatusCode;
use axum::response::IntoResponse;
use rate_limit::{Charge, Limiter, MemoryStore, Reply, Settlement, Store, StoreError, Verdict, limit_per_time};

use crate::world::{Failure, World, admitted, wait};

#[limit_per_time(2, "1m", key = user, refund_on_success)]
async fn failures_only(user: u64, right: bool) -> Result<(), Failure> {
    if right { Ok(()) } else { Err(Failure::Own) }
}

#[test]
fn only_failures_stay_charged() {
    let world = World::new();
    assert_eq!(world.run(admitted(9, || failures_only(1, true))), 9);
    assert_eq!(world.run(failures_only(1, false)), Err(Failure::Own));
    assert_eq!(
        world.run(admitted(9, || failures_only(1, true))),
        9,
        "and a success clears no failure"
    );
    assert_eq!(world.run(failures_only(1, false)), Err(Failure::Own));
    assert_eq!(wait(&world.run(failures_only(1, true))), Some(60));
}

#[limit_per_time(2, "1m", key = user, refund_on_error)]
async fn successes_only(user: u64, right: bool) -> Result<(), Failure> {
    if right { Ok(()) } else { Err(Failure::Own) }
}

#[test]
fn only_successes_stay_charged() {
    let world = World::new();
    for _ in 0..9 {
        assert_eq!(world.run(successes_only(1, false)), Err(Failure::Own));
    }
    assert_eq!(world.run(admitted(9, || successes_only(1, true))), 2);
}

#[limit_per_time(
    algorithm = token_bucket, capacity = 2, refill = "1m", key = user, refund_on_success, success = |out| matches!(out, Err(Failure::Own))
)]
async fn judged_by_itself(user: u64, right: bool) -> Result<(), Failure> {
    if right { Ok(()) } else { Err(Failure::Own) }
}

#[test]
fn the_function_says_what_a_success_is() {
    let world = World::new();
    for _ in 0..9 {
        assert_eq!(world.run(judged_by_itself(1, false)), Err(Failure::Own));
    }
    assert_eq!(world.run(admitted(9, || judged_by_itself(1, true))), 2);
}

#[limit_per_time(2, "1m", key = user, refund_on_success)]
async fn breaks(user: u64) -> Result<(), Failure> {
    panic!("{user} breaks");
}

/// Polls a call that panics, and catches that, before it ends itself.
#[limit_per_time(2, "1m", key = user, refund_on_success)]
async fn around_a_panic(user: u64) -> Result<(), Failure> {
    let mut inner = Box::pin(breaks(user));
    let mut context = Context::from_waker(Waker::noop());
    let polled = std::panic::catch_unwind(AssertUnwindSafe(|| inner.as_mut().poll(&mut context)));
    polled.map_or(Ok(()), |_| Err(Failure::Own))
}

#[test]
fn a_call_is_settled_though_one_within_it_panicked() {
    let world = World::new();
    assert_eq!(
        [world.run(around_a_panic(1)), world.run(around_a_panic(1))],
        [Ok(()), Ok(())]
    );
    // Each charge of its own was taken back, and those of the panics were not.
    assert_eq!(wait(&world.run(breaks(1))), Some(60));
    assert_eq!(world.run(around_a_panic(1)), Err(Failure::Own));
}

/// Waits once between the check and its end, so that others run meanwhile.
#[limit_per_time(2, "1m", key = user, refund_on_success)]
async fn in_turns(user: u64, right: bool) -> Result<(), Failure> {
    tokio::task::yield_now().await;
    if right { Ok(()) } else { Err(Failure::Own) }
}

#[test]
fn calls_that_are_polled_in_turns_are_settled_each_by_its_own_value() {
    let world = World::new();
    let both = world.run(async { tokio::join!(in_turns(1, true), in_turns(1, false), in_turns(2, true)) });
    assert_eq!(both, (Ok(()), Err(Failure::Own), Ok(())));
    assert_eq!(world.run(in_turns(1, false)), Err(Failure::Own), "one is left");
    assert_eq!(wait(&world.run(in_turns(1, true))), Some(60));
    assert_eq!(world.run(in_turns(2, false)), Err(Failure::Own));
    assert_eq!(
        world.run(in_turns(2, false)),
        Err(Failure::Own),
        "nothing of 2 was left"
    );
}

/// A response in which another call is refused and settled.
#[limit_per_time(2, "1m", key = user, refund_on_success)]
async fn responds(user: u64, right: bool) -> impl IntoResponse {
    match in_turns(user, right).await {
        Ok(()) => StatusCode::OK,
        Err(_) => StatusCode::BAD_REQUEST,
    }
}

#[test]
fn a_refusal_within_a_response_is_not_that_of_the_response() {
    let world = World::new();
    let status = |right| world.run(responds(1, right)).into_response().status();
    assert_eq!(status(false), StatusCode::BAD_REQUEST);
    assert_eq!(status(true), StatusCode::OK);
    assert_eq!(status(false), StatusCode::BAD_REQUEST);
    assert_eq!(status(true), StatusCode::TOO_MANY_REQUESTS);
}

/// Is `Send`, though its argument is not `Sync`.
#[limit_per_time(1, "1m", key = cell.get(), refund_on_success)]
fn sent(cell: Cell<u64>) -> impl Future<Output = Result<u64, Failure>> + Send {
    async move {
        cell.set(cell.get() + 1);
        tokio::task::yield_now().await;
        Ok(cell.get())
    }
}

#[test]
fn a_settled_future_is_sent_where_the_plain_one_is() {
    let world = World::new();
    assert_eq!(world.run(sent(Cell::new(1))), Ok(2));
}

/// Makes a call that is settled too before it decides one.
#[derive(Debug)]
struct Asks {
    decides: MemoryStore,
    /// Of the calls that it makes.
    limiter: Limiter,
}

impl Store for Asks {
    fn acquire(&self, charges: &[Charge]) -> Reply<Result<Verdict, StoreError>> {
        let (verdict, limiter) = (self.decides.acquire(charges), self.limiter.clone());
        Reply::pending(async move {
            tokio::task::yield_now().await;
            assert_eq!(limiter.scope(failures_only(1, true)).await, Ok(()));
            verdict.await
        })
    }

    fn peek(&self, charge: Charge) -> Reply<Result<Verdict, StoreError>> {
        self.decides.peek(charge)
    }

    fn settle(&self, settlements: &[Settlement]) -> Reply<Result<(), StoreError>> {
        self.decides.settle(settlements)
    }
}

#[test]
fn a_store_may_make_calls_that_are_settled() {
    let world = World::new();
    let asks = Asks {
        decides: MemoryStore::new(),
        limiter: world.limiter.clone(),
    };
    let limiter = Limiter::builder().store(asks).build().expect("no secret is set");
    for _ in 0..3 {
        assert_eq!(world.run(limiter.scope(failures_only(1, true))), Ok(()));
    }
    assert_eq!(world.run(limiter.scope(failures_only(1, false))), Err(Failure::Own));
}
