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

use rate_limit::{Charge, Client, Key, Method, Policy, RedisStore, Store as _, StoreError, StoreErrorKind};

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

/// Reads from its input how many microseconds each task works.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "run by the tests here"]
async fn bursts_as_a_process() {
    let Ok(url) = std::env::var(URL) else { return };
    // A part of it is for what else the machine does.
    let store = store(&url, 4 * DEADLINE).await;
    let mut work = String::new();
    std::io::stdin().read_line(&mut work).expect("the parent writes text");
    let work = Duration::from_micros(work.trim().parse().expect("it is a number"));
    let answers = burst(&store, BURST, work).await;
    println!(
        "{ANSWER}{}",
        answers.iter().filter(|(answer, _)| answer.is_err()).count()
    );
}

fn undecided_of_processes(work: Duration) -> Vec<u32> {
    let _alone = alone();
    let server = RedisServer::start();
    let undecided: Vec<u32> = (0..PROCESSES)
        .map(|_| {
            let mut process = Process::start(&server, "bursts_as_a_process");
            process.order(&work.as_micros().to_string());
            process.answer()
        })
        .collect();
    println!("F-72 {BURST} calls at once as the first of a process, {work:?} of work each: undecided {undecided:?}");
    undecided
}

#[test]
fn f_72_the_first_calls_of_a_process_are_all_decided() {
    assert_eq!(undecided_of_processes(Duration::ZERO), [0; PROCESSES]);
}

/// A service reads a request before it calls, so each task keeps a thread for a while, and answers wait behind all new tasks.
#[test]
fn f_72_so_are_those_of_tasks_that_work_before_they_call() {
    assert_eq!(undecided_of_processes(Duration::from_micros(800)), [0; PROCESSES]);
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
