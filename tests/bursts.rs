//! Many calls at once, as the first of a process or for as long as they come.
//!
//! A burst waits in a line of the process, since few script calls are under way at a time. What waits there is decided in
//! time, or is refused at once because the line is full: it is not measured by a deadline that ends while nothing was sent,
//! and never opens the breaker.

#[path = "redis/process.rs"]
mod process;
mod support;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::Path;
use axum::response::IntoResponse;
use axum::routing::get;
use http::StatusCode;
use http_body_util::Full;
use rate_limit::{
    Charge, Client, Key, Limiter, Method, Policy, RedisStore, Store as _, StoreError, StoreErrorKind, limit_per_time,
};
use tokio::task::JoinHandle;
use tonic::Status;
use tonic::codegen::Bytes;
use tonic::server::Grpc;
use tonic_prost::ProstCodec;
use tower::{ServiceExt as _, service_fn};

use self::process::{ANSWER, Process, URL};
use self::support::{FaultProxy, RedisServer, Weather};

/// One of these tests runs at a time: what it finds is how this process copes, and not how many others there are.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// That of a store for which none was set.
const DEADLINE: Duration = ms(100);
const BURST: usize = 2_000;
const PROCESSES: usize = 2;
const TASKS: usize = 4_096;
/// What the store says of a call that was not sent since too many wait.
const FULL: &str = "full";

async fn store(url: &str, deadline: Duration) -> RedisStore {
    let store = RedisStore::builder(url).deadline(deadline).connect().await;
    store.expect("the server takes us")
}

async fn call(store: &RedisStore, client: usize) -> Result<(), StoreError> {
    let client = Client::of(&client).expect("it names somebody");
    let policy = Policy::sliding_window(1_000_000, Duration::from_secs(60));
    let charge = Charge::new(Key::new(Method::named("burst"), client), policy, 1);
    store.acquire(&[charge]).await.map(drop)
}

/// One call of so many tasks each, all at once, after each has worked for a while: how they ended, and after which time.
async fn burst(store: &RedisStore, calls: usize, work: Duration) -> Vec<(Result<(), StoreError>, Duration)> {
    let start = Instant::now();
    let calls: Vec<_> = (0..calls)
        .map(|client| {
            let store = store.clone();
            tokio::spawn(async move {
                let begin = Instant::now();
                while begin.elapsed() < work {
                    std::hint::spin_loop();
                }
                (call(&store, client).await, start.elapsed())
            })
        })
        .collect();
    let mut answers = Vec::new();
    for call in calls {
        answers.push(call.await.expect("no call panics"));
    }
    answers
}

/// Whether it was refused without being sent, since as many wait as may.
fn is_full(error: &StoreError) -> bool {
    error.kind() == StoreErrorKind::Unavailable && error.to_string().contains(FULL)
}

#[limit_per_time(1_000_000, "1m", key = id, on_store_error = closed)]
async fn over_axum(Path(id): Path<usize>) -> impl IntoResponse {
    id.to_string()
}

#[limit_per_time(1_000_000, "1m", key = request.get_ref(), on_store_error = closed)]
async fn over_tonic(request: tonic::Request<String>) -> Result<tonic::Response<String>, Status> {
    Ok(tonic::Response::new(request.into_inner()))
}

/// A request of each of so many tasks, all at once. Returns how many were undecided.
async fn undecided_requests(over: &str) -> usize {
    let app = Router::new().route("/{id}", get(over_axum));
    let requests: Vec<JoinHandle<bool>> = (0..BURST)
        .map(|id| match over {
            "axum" => {
                let request = app.clone().oneshot(request_of(id));
                tokio::spawn(async move { request.await.is_ok_and(|response| response.status() == StatusCode::OK) })
            }
            _ => tokio::spawn(async move {
                let mut server = Grpc::new(ProstCodec::<String, String>::default());
                let response = server.unary(service_fn(over_tonic), grpc_request_of(id)).await;
                !response.headers().contains_key("grpc-status")
            }),
        })
        .collect();
    let mut undecided = 0;
    for request in requests {
        undecided += usize::from(!request.await.expect("no call panics"));
    }
    undecided
}

fn request_of(id: usize) -> http::Request<axum::body::Body> {
    let request = http::Request::get(format!("/{id}")).body(axum::body::Body::empty());
    request.expect("it is a request")
}

/// A message: no compression, four bytes of length, then the field 1 with the text.
fn grpc_request_of(id: usize) -> http::Request<Full<Bytes>> {
    let text = id.to_string();
    let mut message = vec![0, 0, 0, 0, 2 + text.len() as u8, 0x0a, text.len() as u8];
    message.extend(text.as_bytes());
    let request = http::Request::post("/burst").header("content-type", "application/grpc");
    request.body(Full::new(message.into())).expect("it is a request")
}

/// Reads from its input over which framework its calls come, or how many microseconds each task works before it calls.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "run by the tests here"]
async fn bursts_as_a_process() {
    let Ok(url) = std::env::var(URL) else { return };
    // A part of it is for what else the machine does.
    let store = store(&url, 4 * DEADLINE).await;
    let mut order = String::new();
    std::io::stdin().read_line(&mut order).expect("the parent writes text");
    let undecided = match order.trim() {
        over @ ("axum" | "tonic") => {
            let limiter = Limiter::builder()
                .store(store)
                .build()
                .expect("nothing is wrong with it");
            rate_limit::install(limiter).expect("it is the first");
            undecided_requests(over).await
        }
        work => {
            let work = Duration::from_micros(work.parse().expect("it is a number"));
            let answers = burst(&store, BURST, work).await;
            let first = answers
                .iter()
                .find_map(|(answer, at)| Some((answer.as_ref().err()?, at)));
            eprintln!("F-72 the first that is undecided: {first:?}");
            answers.iter().filter(|(answer, _)| answer.is_err()).count()
        }
    };
    println!("{ANSWER}{undecided}");
}

fn undecided_of_processes(order: &str) -> Vec<u32> {
    let _alone = alone();
    let server = RedisServer::start();
    let undecided: Vec<u32> = (0..PROCESSES)
        .map(|_| {
            let mut process = Process::start(&server, "bursts_as_a_process");
            process.order(order);
            process.answer()
        })
        .collect();
    println!("F-72 {BURST} calls at once as the first of a process ({order}): undecided {undecided:?}");
    undecided
}

#[test]
fn f_72_the_first_calls_of_a_process_are_all_decided() {
    for order in ["0", "axum", "tonic"] {
        assert_eq!(undecided_of_processes(order), [0; PROCESSES], "{order}");
    }
}

/// As those of a service, which reads a request before it calls: no task goes on before all others have.
#[test]
fn f_72_so_are_those_of_tasks_that_work_before_they_call() {
    assert_eq!(undecided_of_processes("400"), [0; PROCESSES]);
}

/// More than the process and the server decide within the deadline.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[allow(clippy::await_holding_lock, reason = "no other task of its runtime waits for it")]
async fn f_72_calls_without_end_are_decided_or_refused_at_once() {
    let _alone = alone();
    let server = RedisServer::start();
    let store = store(&server.url(), DEADLINE).await;
    let (full, late) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let end = Instant::now() + ms(3_000);
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let (store, full, late) = (store.clone(), Arc::clone(&full), Arc::clone(&late));
            tokio::spawn(async move {
                let mut took = Vec::new();
                while Instant::now() < end {
                    let start = Instant::now();
                    match call(&store, task).await {
                        Ok(()) => took.push(start.elapsed()),
                        Err(error) => {
                            let count = if is_full(&error) { &full } else { &late };
                            count.fetch_add(1, Ordering::Relaxed);
                            // A client that is refused does not ask again at once.
                            tokio::time::sleep(ms(20)).await;
                        }
                    }
                }
                took
            })
        })
        .collect();
    let mut took = Vec::new();
    for task in tasks {
        took.extend(task.await.expect("no call panics"));
    }
    took.sort_unstable();
    let below = |thousandth: usize| took[took.len() * thousandth / 1_000];
    let (full, late) = (full.load(Ordering::Relaxed), late.load(Ordering::Relaxed));
    println!(
        "F-72 {TASKS} tasks: {} decided, {full} refused as the line is full, {late} undecided; p50 {:?}, p99 {:?}, p99.9 {:?}",
        took.len(),
        below(500),
        below(990),
        below(999)
    );
    assert_eq!(late, 0, "{late} undecided");
    assert!(
        took.len() > TASKS && below(500) < DEADLINE,
        "{} decided, p50 {:?}",
        took.len(),
        below(500)
    );
}

/// The server decides a part of a burst within the deadline, and goes on after it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[allow(clippy::await_holding_lock, reason = "no other task of its runtime waits for it")]
async fn f_72_a_deadline_spent_in_the_line_opens_no_breaker() {
    let _alone = alone();
    let deadline = ms(600);
    let server = RedisServer::start();
    let proxy = FaultProxy::start(server.port()).await;
    let store = store(&proxy.url(), deadline).await;
    proxy.turn(Weather::Delay(ms(100))).await;
    let answers = burst(&store, 2 * TASKS, Duration::ZERO).await;
    let decided = answers.iter().filter(|(answer, _)| answer.is_ok()).count();
    let refused = || {
        answers
            .iter()
            .filter_map(|(answer, took)| Some((answer.as_ref().err()?, took)))
    };
    let full = refused().filter(|(error, _)| is_full(error)).count();
    // A breaker that is open refuses at once.
    let early = refused()
        .filter(|(error, took)| !is_full(error) && **took < deadline - ms(50))
        .count();
    let mut after = 0;
    for client in 0..10 {
        after += usize::from(call(&store, client).await.is_err());
    }
    println!(
        "F-72 a server 100 ms away: {decided} of {} decided, {full} refused as the line is full, {early} undecided before the \
         deadline; of 10 calls after it {after} undecided",
        answers.len()
    );
    assert!(decided > 100 && decided < answers.len(), "{decided}");
    assert_eq!((early, after), (0, 0));
}
