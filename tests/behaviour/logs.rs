//! What a call can cause in the log: a line a function a minute, however many calls.

use std::time::Duration;

use rate_limit::{
    Charge, Client, Key, Limiter, MemoryStore, Method, Policy, Rejection, RejectionKind, Reply, Rule, Settlement,
    Store, StoreError, StoreErrorKind, Verdict, client, limit_per_time,
};

use crate::log;
use crate::remote_store::RemoteStore;
use crate::support::World;

/// How many calls are made of each function.
const MANY: u64 = 1_000;

#[limit_per_time(5, "1m", key = user)]
async fn blank(user: &str) -> Result<(), Rejection> {
    Ok(())
}

#[limit_per_time(5, "1m", key = (1, user))]
async fn blank_too(user: &str) -> Result<(), Rejection> {
    Ok(())
}

#[limit_per_time(5, "1m", key = user)]
async fn answered(user: &str) -> Result<(), Rejection> {
    Ok(())
}

#[limit_per_time(5, "1m")]
async fn answered_to_nobody() -> Result<(), Rejection> {
    Ok(())
}

#[limit_per_time(5, "1m")]
async fn of_nobody() -> Result<(), Rejection> {
    Ok(())
}

#[limit_per_time(1, "1h", key = "k", observe)]
async fn observed() -> Result<(), Rejection> {
    Ok(())
}

#[limit_per_time(MANY_CALLS, "1h", key = "k", reset_on_success)]
async fn reset() -> Result<(), Rejection> {
    Ok(())
}

#[limit_per_time(MANY_CALLS, "1h", key = "k", refund_on_success)]
async fn refunded() -> Result<(), Rejection> {
    Ok(())
}

#[limit_per_time(MANY_CALLS, "1h", key = "a", reset_on_success)]
#[limit_per_time(MANY_CALLS, "1h", key = "b", refund_on_success)]
async fn reset_and_refunded() -> Result<(), Rejection> {
    Ok(())
}

#[limit_per_time(5, "1h", key = "k")]
async fn unkept() -> Result<(), Rejection> {
    Ok(())
}

const MANY_CALLS: u32 = 10_000;

/// Charges well, and neither settles nor keeps windows of five.
#[derive(Debug)]
struct Stubborn(MemoryStore);

impl Store for Stubborn {
    fn acquire(&self, charges: &[Charge]) -> Reply<Result<Verdict, StoreError>> {
        self.0.acquire(charges)
    }

    fn peek(&self, charge: Charge) -> Reply<Result<Verdict, StoreError>> {
        self.0.peek(charge)
    }

    fn accepts(&self, policy: Policy) -> Result<(), StoreError> {
        match policy.count() {
            5 => Err(StoreError::new(StoreErrorKind::Misconfigured, "no windows of five")),
            _ => Ok(()),
        }
    }

    fn settle(&self, _: &[Settlement]) -> Reply<Result<(), StoreError>> {
        Reply::ready(Err(StoreError::new(StoreErrorKind::Unavailable, "no answer")))
    }
}

fn over(store: impl Store) -> Limiter {
    log::install();
    Limiter::builder().store(store).build().expect("no secret is set")
}

/// What many calls log.
macro_rules! logged_by {
    ($limiter:expr, $call:expr) => {{
        log::take();
        for _ in 0..MANY {
            let _ = $limiter.scope($call).await;
        }
        log::take()
    }};
}

/// The one line among these.
fn only(lines: &[String]) -> &str {
    let [line] = lines else {
        panic!("one line: {} of them, the first {:?}", lines.len(), lines.first())
    };
    line
}

#[tokio::test]
async fn f_10_a_key_that_a_client_left_blank_is_told_once_for_each_function() {
    let world = World::new();
    let line = logged_by!(world.limiter, blank(" "));
    let line = only(&line);
    assert!(line.contains("WARN") && line.contains("logs::blank"), "{line}");
    let line = logged_by!(world.limiter, blank_too(""));
    assert!(only(&line).contains("logs::blank_too"), "{line:?}");
}

#[tokio::test]
async fn f_10_a_fault_of_the_service_is_told_once_for_each_function() {
    let world = World::new();
    let line = logged_by!(world.limiter, of_nobody());
    assert!(only(&line).contains("ERROR"), "{line:?}");
    let line = logged_by!(over(Stubborn(MemoryStore::new())), unkept());
    assert!(only(&line).contains("no windows of five"), "{line:?}");

    let client = Client::of("k").expect("it names somebody");
    let rule = Rule::new(
        Policy::sliding_window(1, Duration::from_secs(60)),
        Key::new(Method::named("shares its counter"), client),
    );
    log::take();
    for _ in 0..MANY {
        assert!(world.limiter.check_all(&[rule, rule]).await.is_err());
    }
    assert!(only(&log::take()).contains("shares its counter"));
}

#[tokio::test]
async fn f_10_a_rule_that_observes_reports_once_a_minute() {
    let world = World::new();
    let line = logged_by!(world.limiter, observed());
    assert!(only(&line).contains("would have refused"), "{line:?}");
}

#[tokio::test]
async fn f_64_what_could_not_be_settled_is_told_once_and_by_its_name() {
    let limiter = over(Stubborn(MemoryStore::new()));
    let line = logged_by!(limiter, reset());
    let line = only(&line);
    assert!(line.contains("the record of a client could not be cleared"), "{line}");
    assert!(!line.contains("refunded"), "{line}");
    let line = logged_by!(limiter, refunded());
    let line = only(&line);
    assert!(line.contains("a charge could not be refunded"), "{line}");
    assert!(!line.contains("cleared"), "{line}");
    let line = logged_by!(limiter, reset_and_refunded());
    let line = only(&line);
    assert!(
        line.contains("could not be cleared") && line.contains("refunded"),
        "{line}"
    );
    assert_eq!(limiter.unsettled(), 3 * MANY);
}

#[tokio::test]
async fn f_10_a_store_that_fails_for_every_second_call_is_told_once() {
    let store = RemoteStore::new(MemoryStore::new(), StoreErrorKind::Unexpected);
    let limiter = over(store.clone());
    log::take();
    for call in 0..MANY {
        store.fails(call % 2 == 0);
        assert_eq!(limiter.scope(refunded()).await, Ok(()));
    }
    let lines = log::take();
    assert_eq!(
        lines.len(),
        2,
        "once that it fails, once that it does not: {:?}",
        &lines[..3]
    );
}

#[tokio::test]
async fn f_10_a_blank_key_is_the_clients_fault_and_no_client_the_services() {
    let world = World::new();
    let told = |answer: Result<(), Rejection>| answer.map_err(|refused| (refused.kind(), refused.status().as_u16()));
    let blank_key = Err((RejectionKind::MissingClient, 400));
    assert_eq!(told(world.run(answered(" ")).await), blank_key);
    assert_eq!(
        told(world.run(client::scope("", answered_to_nobody())).await),
        blank_key
    );
    assert_eq!(
        told(world.run(answered_to_nobody()).await),
        Err((RejectionKind::Misconfigured, 500))
    );

    let refused = world.run(answered("")).await.expect_err("it names nobody");
    let problem: serde_json::Value = serde_json::from_str(refused.to_response().body()).expect("it is JSON");
    assert_eq!(problem["status"], 400);
    assert_eq!(problem["title"], "Bad Request");
    assert_eq!(problem["detail"], "a part of the key of `answered` is empty or blank");
}

/// Waits for its deadline, by the clock of Tokio.
#[derive(Debug)]
struct Waiting;

impl Waiting {
    fn wait<T: Send + 'static>() -> Reply<Result<T, StoreError>> {
        Reply::pending(async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            Err(StoreError::new(StoreErrorKind::Timeout, "no answer in time"))
        })
    }
}

impl Store for Waiting {
    fn acquire(&self, _: &[Charge]) -> Reply<Result<Verdict, StoreError>> {
        Self::wait()
    }

    fn peek(&self, _: Charge) -> Reply<Result<Verdict, StoreError>> {
        Self::wait()
    }

    fn settle(&self, _: &[Settlement]) -> Reply<Result<(), StoreError>> {
        Self::wait()
    }
}

#[test]
fn f_41_a_deadline_by_a_paused_clock_is_told_once() {
    let limiter = over(Waiting);
    let paused = |start_paused| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(start_paused)
            .build()
            .expect("nothing hinders it");
        log::take();
        runtime.block_on(async {
            for _ in 0..3 {
                assert_eq!(limiter.scope(refunded()).await, Ok(()));
            }
        });
        log::take().iter().filter(|line| line.contains("paused")).count()
    };
    assert_eq!([false, true, true].map(paused), [0, 1, 0]);
}
