//! What depends on the edition, in the one before: when arguments and temporaries drop, and lifetimes.

use std::cell::RefCell;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use limits::{limit_per_time, Limiter, Rejection};

thread_local! {
    static LOG: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
}

/// Says when it is dropped.
struct D(&'static str);

impl Drop for D {
    fn drop(&mut self) {
        LOG.with_borrow_mut(|log| log.push(self.0));
    }
}

impl D {
    fn end(&self) -> Result<(), Rejection> {
        LOG.with_borrow_mut(|log| log.push("end"));
        Ok(())
    }
}

/// What was logged when the call went to its end, and when it was dropped at its first wait.
fn trail<F: Future>(call: impl Fn() -> F) -> [Vec<&'static str>; 2] {
    let limiter = Limiter::embedded();
    let mut context = Context::from_waker(Waker::noop());
    {
        let mut future = pin!(limiter.scope(call()));
        while future.as_mut().poll(&mut context).is_pending() {}
    }
    let finished = LOG.take();
    {
        let mut future = pin!(limiter.scope(call()));
        assert!(future.as_mut().poll(&mut context).is_pending());
    }
    [finished, LOG.take()]
}

/// Waits once.
async fn wait() {
    let mut waited = false;
    std::future::poll_fn(|_| {
        if std::mem::replace(&mut waited, true) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
}

macro_rules! forms {
    ($name:ident($($params:tt)*) $body:block) => {
        mod $name {
            use super::*;
            use axum::response::IntoResponse;

            pub(super) async fn plain($($params)*) -> Result<(), Rejection> $body

            #[limit_per_time(9, "1m", key = "k", crate = limits)]
            pub(super) async fn checked($($params)*) -> Result<(), Rejection> $body

            #[limit_per_time(9, "1m", key = "k", reset_on_success, crate = limits)]
            pub(super) async fn settled($($params)*) -> Result<(), Rejection> $body

            #[limit_per_time(9, "1m", key = "k", crate = limits)]
            pub(super) async fn response($($params)*) -> impl IntoResponse $body

            #[limit_per_time(9, "1m", key = "k", reset_on_success, crate = limits)]
            pub(super) async fn settled_response($($params)*) -> impl IntoResponse $body
        }
    };
}

macro_rules! same {
    ($name:ident($($arg:expr),*)) => {{
        let plain = trail(|| $name::plain($($arg),*));
        assert_eq!(trail(|| $name::checked($($arg),*)), plain, "checked");
        assert_eq!(trail(|| $name::settled($($arg),*)), plain, "settled");
        assert_eq!(trail(|| $name::response($($arg),*)), plain, "response");
        assert_eq!(trail(|| $name::settled_response($($arg),*)), plain, "settled response");
        plain
    }};
}

forms!(arguments(_a: D, _: D, (x, _y): (D, D), _b: D) {
    wait().await;
    x.end()
});

forms!(temporaries(a: D, _: D, _b: D) {
    let local = D("local");
    wait().await;
    let _ = (&a, &local);
    { D("temporary") }.end()
});

#[test]
fn mac_01_arguments_drop_as_they_would_without_the_attribute() {
    let [finished, abandoned] = same!(arguments(D("a"), D("ignored"), (D("x"), D("y")), D("b")));
    assert_eq!(finished, ["end", "b", "y", "x", "ignored", "a"]);
    assert_eq!(abandoned, ["b", "y", "x", "ignored", "a"]);
}

#[test]
fn mac_01_temporaries_drop_as_they_would_without_the_attribute() {
    let [finished, _] = same!(temporaries(D("a"), D("ignored"), D("b")));
    assert_eq!(
        finished,
        ["end", "local", "temporary", "b", "ignored", "a"],
        "locals first, in this edition"
    );
}

struct View<'a>(&'a str);

#[limit_per_time(1, "1m", key = (a, b), crate = limits)]
async fn two_references(a: &str, b: &str, c: &'static str) -> Result<usize, Rejection> {
    Ok(a.len() + b.len() + c.len())
}

#[limit_per_time(1, "1m", key = (a, b.0), reset_on_success, success = |_| false, crate = limits)]
async fn elided(a: &str, b: View<'_>, c: &mut View<'_>) -> Result<usize, Rejection> {
    c.0 = "changed";
    Ok(a.len() + b.0.len() + c.0.len())
}

#[limit_per_time(1, "1m", key = (a, b), reset_on_success, success = |_| false, crate = limits)]
async fn borrowed<'a>(a: &'a str, b: &str) -> Result<View<'a>, Rejection> {
    Ok(View(&a[b.len()..]))
}

#[tokio::test]
async fn mac_33_several_lifetimes_stay() {
    let limiter = Limiter::embedded();
    limiter
        .scope(async {
            let (a, b) = ("a".to_owned(), "bb".to_owned());
            let mut view = View("c");
            assert_eq!(two_references(&a, &b, "ccc").await, Ok(6));
            assert!(two_references(&a, &b, "ccc").await.is_err());
            assert_eq!(elided(&a, View(&b), &mut view).await, Ok(10));
            assert!(elided(&a, View(&b), &mut view).await.is_err());
            assert_eq!(borrowed("abc", &a).await.map(|view| view.0), Ok("bc"));
            assert!(borrowed("abc", &a).await.is_err());
        })
        .await;
}

#[limit_per_time(1, "1m", key = "k", reset_on_success, success = |_| false, crate = limits)]
async unsafe fn not_safe(byte: &u8) -> Result<u8, Rejection> {
    Ok(*std::ptr::from_ref(byte))
}

#[limit_per_time(1, "1m", key = "k", crate = limits)]
async unsafe fn checked_not_safe(byte: &u8) -> Result<u8, Rejection> {
    Ok(*std::ptr::from_ref(byte))
}

#[tokio::test]
async fn an_unsafe_function_stays_one() {
    let limiter = Limiter::embedded();
    // SAFETY: the pointers come from references.
    let answers = limiter
        .scope(async { unsafe { [not_safe(&1).await, checked_not_safe(&2).await] } })
        .await;
    assert_eq!(answers, [Ok(1), Ok(2)]);
    // SAFETY: as above.
    let refused = limiter
        .scope(async { unsafe { [not_safe(&1).await, checked_not_safe(&2).await] } })
        .await;
    assert!(refused.iter().all(Result::is_err));
}
