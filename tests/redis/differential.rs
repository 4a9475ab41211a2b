//! The Redis store against the embedded one: the same history, the same answers, step by step.

mod counter;
mod history;
mod pair;
pub(crate) mod rules;
mod sliding_logs;

use self::counter::{Counter, buckets, fixed_windows, logs};
use self::history::History;
use crate::support::RedisServer;

const STEPS: usize = 10_000;

async fn same_answers(seed: u64, counters: Vec<Counter>, stacks: bool) {
    let server = RedisServer::start();
    let mut history = History::over(&server, seed, counters, stacks).await;
    for step in 0..STEPS {
        history.step(&format!("seed {seed}, step {step}")).await;
    }
    // A history in which nothing happens shows nothing.
    let told = history.told;
    println!("seed {seed}: {told:?}");
    assert!(told.admitted > 1_000 && told.refused > 1_000 && told.impossible > 50);
    assert!(told.resets > 100 && told.refunds > 500 && told.clears > 50);
    assert!(told.steps_back > 50 && told.stepped_back > 50);
    assert!(!stacks || (told.by_a_later > 1_000 && told.observed > 200));
}

/// Those of all algorithms.
fn mixed() -> Vec<Counter> {
    let mut counters = buckets();
    counters.extend(fixed_windows());
    counters.extend(logs());
    counters
}

#[tokio::test]
async fn alg_13_histories_of_token_buckets_are_one() {
    same_answers(101, buckets(), false).await;
}

#[tokio::test]
async fn alg_13_histories_of_fixed_windows_are_one() {
    same_answers(102, fixed_windows(), false).await;
}

#[tokio::test]
async fn alg_13_histories_of_sliding_windows_are_one() {
    same_answers(103, logs(), false).await;
}

#[tokio::test]
async fn alg_13_histories_of_stacks_are_one() {
    same_answers(104, mixed(), true).await;
}

#[tokio::test]
async fn alg_13_histories_of_stacked_buckets_and_fixed_windows_are_one() {
    let mut counters = buckets();
    counters.extend(fixed_windows());
    same_answers(105, counters, true).await;
}
