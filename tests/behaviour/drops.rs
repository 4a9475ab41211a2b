//! Arguments drop when they would have, had the function no attribute.

use std::cell::RefCell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rate_limit::{
    Charge, Limiter, MemoryStore, Rejection, Reply, Settlement, Store, StoreError, Verdict, limit_per_time,
};
use tokio::task::yield_now;

use crate::support::{Failure, World, abandon, refused};

thread_local! {
    static LOG: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
}

fn log(what: &'static str) {
    LOG.with_borrow_mut(|log| log.push(what));
}

/// Says when it is dropped.
struct D(&'static str);

impl Drop for D {
    fn drop(&mut self) {
        log(self.0);
    }
}

impl D {
    fn end(&self) -> Result<(), Rejection> {
        log("end");
        done()
    }
}

/// Where `impl IntoResponse` leaves the error open.
fn done() -> Result<(), Rejection> {
    Ok(())
}

struct Pair {
    x: D,
    y: D,
}

/// Says when it is told to reset.
#[derive(Debug)]
struct Told(MemoryStore);

impl Store for Told {
    fn acquire(&self, charges: &[Charge]) -> Reply<Result<Verdict, StoreError>> {
        self.0.acquire(charges)
    }

    fn peek(&self, charge: Charge) -> Reply<Result<Verdict, StoreError>> {
        self.0.peek(charge)
    }

    fn settle(&self, settlements: &[Settlement]) -> Reply<Result<(), StoreError>> {
        log("reset");
        self.0.settle(settlements)
    }
}

/// What was logged when the call went to its end, when it was never polled, and when it was dropped at its first wait.
#[derive(Clone, Debug, PartialEq)]
struct Trail {
    finished: Vec<&'static str>,
    unpolled: Vec<&'static str>,
    abandoned: Vec<&'static str>,
}

async fn trail<F: Future>(call: impl Fn() -> F) -> Trail {
    let limiter = Limiter::builder()
        .store(Told(MemoryStore::new()))
        .build()
        .expect("no secret is set");
    limiter.scope(call()).await;
    let finished = LOG.take();
    drop(call());
    let unpolled = LOG.take();
    limiter.scope(async { abandon(call()) }).await;
    let abandoned = LOG.take();
    Trail {
        finished,
        unpolled,
        abandoned,
    }
}

/// One function without the attribute, and one for each form of expansion.
macro_rules! forms {
    ($name:ident($($params:tt)*) $body:block) => {
        mod $name {
            use super::*;
            use axum::response::IntoResponse;

            pub(super) async fn plain($($params)*) -> Result<(), Rejection> $body

            #[limit_per_time(9, "1m", key = "k")]
            pub(super) async fn checked($($params)*) -> Result<(), Rejection> $body

            #[limit_per_time(9, "1m", key = "k", reset_on_success)]
            pub(super) async fn settled($($params)*) -> Result<(), Rejection> $body

            #[limit_per_time(9, "1m", key = "k")]
            pub(super) async fn response($($params)*) -> impl IntoResponse $body

            #[limit_per_time(9, "1m", key = "k", reset_on_success)]
            pub(super) async fn settled_response($($params)*) -> impl IntoResponse $body
        }
    };
}

/// Calls all forms, compares what they log, and is what the plain one logs.
macro_rules! same {
    ($name:ident($($arg:expr),*)) => {{
        let plain = trail(|| $name::plain($($arg),*)).await;
        let mut settled = plain.clone();
        settled.finished.push("reset");
        assert_eq!(trail(|| $name::checked($($arg),*)).await, plain, "checked");
        assert_eq!(trail(|| $name::settled($($arg),*)).await, settled, "settled");
        assert_eq!(trail(|| $name::response($($arg),*)).await, plain, "response");
        assert_eq!(trail(|| $name::settled_response($($arg),*)).await, settled, "settled response");
        plain
    }};
}

forms!(ignored(_a: D, _: D, _b: D) {
    log("body");
    yield_now().await;
    done()
});

forms!(destructured(a: D, (x, y): (D, D), Pair { x: u, y: v }: Pair, [p, q]: [D; 2]) {
    yield_now().await;
    let _: [&D; 7] = [&q, &a, &x, &v, &p, &u, &y];
    log("body");
    done()
});

forms!(moved(a: D, mut b: D, c: D, _: D) {
    let kept = b;
    yield_now().await;
    b = D("b again");
    drop(a);
    log(b.0);
    log(kept.0);
    c.end()
});

forms!(temporaries(a: D, _: D, b: D) {
    let local = D("local");
    yield_now().await;
    let _ = (&a, &local);
    { D("temporary") }.end().and(b.end())
});

forms!(early(a: D, _: D) {
    let _local = D("local");
    yield_now().await;
    if a.0 == "a" {
        return D("temporary").end();
    }
    done()
});

#[tokio::test]
async fn mac_01_ignored_arguments_drop_in_their_turn() {
    let plain = same!(ignored(D("a"), D("ignored"), D("b")));
    assert_eq!(plain.finished, ["body", "b", "ignored", "a"]);
    assert_eq!(plain.abandoned, ["body", "b", "ignored", "a"]);
    assert_eq!(plain.unpolled.len(), 3);
}

#[tokio::test]
async fn mac_01_destructured_arguments_drop_in_their_turn() {
    let plain = same!(destructured(
        D("a"),
        (D("x"), D("y")),
        Pair { x: D("u"), y: D("v") },
        [D("p"), D("q")]
    ));
    assert_eq!(plain.finished, ["body", "q", "p", "v", "u", "y", "x", "a"]);
}

#[tokio::test]
async fn mac_01_arguments_that_the_body_moves_drop_where_it_says() {
    let plain = same!(moved(D("a"), D("b"), D("c"), D("ignored")));
    assert_eq!(
        plain.finished,
        ["a", "b again", "b", "end", "b", "ignored", "c", "b again"]
    );
}

#[tokio::test]
async fn mac_01_locals_and_temporaries_drop_before_arguments() {
    let plain = same!(temporaries(D("a"), D("ignored"), D("b")));
    assert_eq!(
        plain.finished,
        ["end", "end", "temporary", "local", "b", "ignored", "a"]
    );
    let plain = same!(early(D("a"), D("ignored")));
    assert_eq!(plain.finished, ["end", "temporary", "local", "ignored", "a"]);
}

#[limit_per_time(1, "1m", key = "k", reset_on_success)]
async fn once(_a: D, _: D, _b: D) -> Result<(), Failure> {
    log("body");
    Err(Failure::Own("no success"))
}

#[tokio::test]
async fn mac_01_arguments_of_a_refused_call_drop_in_the_same_order() {
    let world = World::new();
    let call = || once(D("a"), D("ignored"), D("b"));
    assert_eq!(world.run(call()).await, Err(Failure::Own("no success")));
    assert_eq!(LOG.take(), ["body", "b", "ignored", "a"]);
    assert!(refused(&world.run(call()).await));
    assert_eq!(LOG.take(), ["b", "ignored", "a"]);
}

forms!(panicking(a: D, _: D, b: D) {
    let _local = D("local");
    if a.0 != b.0 {
        panic!("the body's own");
    }
    done()
});

#[test]
fn mac_01_arguments_drop_in_the_same_order_when_the_body_panics() {
    fn trail<F: Future>(call: F) -> Vec<&'static str> {
        assert!(catch_unwind(AssertUnwindSafe(|| abandon(Limiter::embedded().scope(call)))).is_err());
        LOG.take()
    }
    let expected = ["local", "b", "ignored", "a"];
    assert_eq!(trail(panicking::plain(D("a"), D("ignored"), D("b"))), expected);
    assert_eq!(trail(panicking::checked(D("a"), D("ignored"), D("b"))), expected);
    assert_eq!(trail(panicking::settled(D("a"), D("ignored"), D("b"))), expected);
    assert_eq!(trail(panicking::response(D("a"), D("ignored"), D("b"))), expected);
    assert_eq!(
        trail(panicking::settled_response(D("a"), D("ignored"), D("b"))),
        expected
    );
}
