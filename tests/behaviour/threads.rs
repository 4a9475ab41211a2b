//! The future is `Send` and `'static` where the plain function's is.

use std::cell::RefCell;
use std::fmt::Display;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use axum::response::IntoResponse;
use rate_limit::{Rejection, ToKey, limit_per_time};
use tokio::task::yield_now;

use crate::support::World;

struct State {
    name: Mutex<String>,
}

impl State {
    fn name(&self) -> std::sync::MutexGuard<'_, String> {
        self.name.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[limit_per_time(1, "1m", key = (a, b))]
async fn checked(a: String, b: u8, c: Vec<u8>) -> Result<String, Rejection> {
    yield_now().await;
    Ok(format!("{a}{b}{c:?}"))
}

#[limit_per_time(1, "1m", key = (a, b), reset_on_success, success = |_| false)]
async fn settled(a: String, b: u8, c: Vec<u8>) -> Result<String, Rejection> {
    yield_now().await;
    Ok(format!("{a}{b}{c:?}"))
}

#[limit_per_time(1, "1m", key = (a, b), reset_on_success)]
async fn response(a: String, b: u8, c: Vec<u8>) -> impl IntoResponse {
    yield_now().await;
    format!("{a}{b}{c:?}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mac_04_a_call_may_be_spawned() {
    let world = World::new();
    let own = || ("a".to_owned(), 1, vec![2]);
    let call = |(a, b, c)| world.spawned(checked(a, b, c));
    assert_eq!(call(own()).await.expect("it ends").as_deref(), Ok("a1[2]"));
    assert!(call(own()).await.expect("it ends").is_err());
    let call = |(a, b, c)| world.spawned(settled(a, b, c));
    assert_eq!(call(own()).await.expect("it ends").as_deref(), Ok("a1[2]"));
    assert!(call(own()).await.expect("it ends").is_err());
    let call = |(a, b, c)| world.spawned(async move { response(a, b, c).await.into_response().status() });
    assert_eq!(call(own()).await.expect("it ends"), 200);
}

#[limit_per_time(1, "1m", key = state.name().as_str())]
async fn by_a_guard(state: Arc<State>) -> Result<bool, Rejection> {
    let free = state.name.try_lock().is_ok();
    yield_now().await;
    Ok(free)
}

#[limit_per_time(1, "1m", key = (state.name().as_str(), Rc::new(7_u8)), reset_on_success, success = |_| false)]
async fn settled_by_a_guard(state: Arc<State>) -> Result<bool, Rejection> {
    let free = state.name.try_lock().is_ok();
    yield_now().await;
    Ok(free)
}

#[limit_per_time(1, "1m", key = { let cell = RefCell::new(Rc::new(id)); **cell.borrow() })]
async fn by_a_cell(id: u8) -> Result<u8, Rejection> {
    yield_now().await;
    Ok(id)
}

#[limit_per_time(1, "1m", key = (&id as &dyn Display).to_string(), reset_on_success, success = |_| false)]
async fn by_a_display(id: u8) -> Result<u8, Rejection> {
    yield_now().await;
    Ok(id)
}

#[limit_per_time(1, "1m", key = &id as &dyn ToKey)]
async fn by_a_trait_object(id: u8) -> Result<u8, Rejection> {
    yield_now().await;
    Ok(id)
}

#[limit_per_time(1, "1m", key = state.name().as_str(), reset_on_success)]
async fn response_by_a_guard(state: Arc<State>) -> impl IntoResponse {
    yield_now().await;
    state.name().clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mac_31_what_the_key_borrows_is_gone_before_the_call_waits() {
    let world = World::new();
    let state = Arc::new(State {
        name: Mutex::new("alice".to_owned()),
    });
    macro_rules! once {
        ($call:expr, $answer:expr) => {
            assert_eq!(world.spawned($call).await.expect("it ends"), Ok($answer));
            assert!(world.spawned($call).await.expect("it ends").is_err());
        };
    }
    once!(by_a_guard(Arc::clone(&state)), true);
    once!(settled_by_a_guard(Arc::clone(&state)), true);
    once!(by_a_cell(1), 1);
    once!(by_a_display(1), 1);
    once!(by_a_trait_object(1), 1);
    let call = response_by_a_guard(Arc::clone(&state));
    let status = world.spawned(async { call.await.into_response().status() }).await;
    assert_eq!(status.expect("it ends"), 200);
}

#[limit_per_time(1, "1m", key = id, reset_on_success)]
async fn error_that_stays(id: u8) -> Result<u8, Box<dyn std::error::Error>> {
    yield_now().await;
    Ok(id)
}

#[limit_per_time(9, "1m", key = *id, reset_on_success)]
async fn arguments_that_stay(id: Rc<u8>) -> Result<Rc<u8>, Rejection> {
    yield_now().await;
    Ok(id)
}

/// Tells at run time whether the type of a value is `Send`, by which of two traits a method call reaches first.
struct Probe<T>(std::marker::PhantomData<T>);

fn probe<T>(_: &T) -> Probe<T> {
    Probe(std::marker::PhantomData)
}

trait IsSend {
    fn is_send(&self) -> bool {
        true
    }
}

trait MayStay {
    fn is_send(&self) -> bool {
        false
    }
}

impl<T: Send> IsSend for &Probe<T> {}
impl<T> MayStay for Probe<T> {}

#[tokio::test]
#[allow(clippy::needless_borrow)]
async fn mac_31_an_error_that_is_not_send_costs_the_future_nothing() {
    let world = World::new();
    assert!(
        (&&probe(&settled(String::new(), 1, Vec::new()))).is_send(),
        "the probe tells the difference"
    );
    let call = error_that_stays(1);
    assert!((&&probe(&call)).is_send());
    assert_eq!(world.run(call).await.ok(), Some(1));
    let call = arguments_that_stay(Rc::new(2));
    assert!(!(&&probe(&call)).is_send(), "the probe tells the difference");
    assert_eq!(world.run(call).await, Ok(Rc::new(2)));
    assert_eq!(world.resets(), 2);
}
