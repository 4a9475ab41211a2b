//! One store in several Tokio runtimes, some of which end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{fresh_key, pause};
use crate::policy::Policy;
use crate::store::{Charge, Store};

/// Calls that each runtime makes at once: more than a store may have under way, so that some wait
/// for their turn.
const TOGETHER: usize = 8;
/// Of those of a runtime that ends, so many are waited for; the others are under way when it ends.
const AWAITED: usize = 4;
/// How often a runtime is built.
const PERIOD: Duration = Duration::from_millis(50);

/// How many calls [`check_runtimes`] has made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Runtimes {
    /// Calls of the runtime that goes on.
    pub long: u64,
    /// Calls of the runtimes that end, of those that were waited for.
    pub short: u64,
    /// Runtimes that were built and ended.
    pub ended: u64,
}

/// Uses the store from the runtime that this is called in, for `time`, beside other runtimes of
/// which 20 a second are built, call the store, and end while calls of theirs are under way: every
/// call is decided, but for those that were under way in a runtime that ended.
///
/// # Panics
///
/// If a call is not decided; the message says how many were not, and why the first.
pub async fn check_runtimes(store: Arc<dyn Store>, time: Duration) -> Runtimes {
    let end = Instant::now() + time;
    let long: Vec<_> = (0..TOGETHER)
        .map(|_| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                let mut calls = Calls::default();
                while Instant::now() < end {
                    calls.make(&*store).await;
                    pause(Duration::from_millis(1)).await;
                }
                calls
            })
        })
        .collect();
    let short = std::thread::spawn(move || {
        let (mut calls, mut ended) = (Calls::default(), 0);
        while Instant::now() < end {
            let next = Instant::now() + PERIOD;
            calls.add(in_a_runtime(&store));
            ended += 1;
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
        }
        (calls, ended)
    });
    let mut calls = Calls::default();
    for task in long {
        calls.add(task.await.expect("no call panics"));
    }
    let short = tokio::task::spawn_blocking(|| short.join())
        .await
        .expect("it is waited for");
    let (short, ended) = short.expect("no call panics");
    calls.assert_decided("a runtime that goes on beside others", ended);
    short.assert_decided("runtimes that end, which were waited for", ended);
    Runtimes {
        long: calls.made,
        short: short.made,
        ended,
    }
}

/// Builds a runtime, makes calls in it, and drops it when some of them are answered.
fn in_a_runtime(store: &Arc<dyn Store>) -> Calls {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("the system has what a runtime needs");
    runtime.block_on(async {
        let tasks: Vec<_> = (0..TOGETHER)
            .map(|_| {
                let store = Arc::clone(store);
                tokio::spawn(async move {
                    let mut calls = Calls::default();
                    calls.make(&*store).await;
                    calls
                })
            })
            .collect();
        let mut calls = Calls::default();
        for task in tasks.into_iter().take(AWAITED) {
            calls.add(task.await.expect("no call panics"));
        }
        calls
    })
}

/// Calls that were made.
#[derive(Debug, Default)]
struct Calls {
    made: u64,
    undecided: u64,
    first: Option<String>,
}

impl Calls {
    async fn make(&mut self, store: &dyn Store) {
        let policy = Policy::token_bucket(3, Duration::from_secs(60));
        self.made += 1;
        if let Err(error) = store.acquire(&[Charge::new(fresh_key(), policy, 1)]).await {
            self.undecided += 1;
            let source = std::error::Error::source(&error).map(ToString::to_string);
            self.first.get_or_insert_with(|| format!("{error} ({source:?})"));
        }
    }

    fn add(&mut self, others: Self) {
        self.made += others.made;
        self.undecided += others.undecided;
        self.first = self.first.take().or(others.first);
    }

    fn assert_decided(&self, whose: &str, ended: u64) {
        let Self { made, undecided, .. } = self;
        assert!(
            *undecided == 0,
            "{undecided} of {made} calls of {whose} are not decided, while {ended} runtimes end; the first: {}",
            self.first.as_deref().unwrap_or_default()
        );
    }
}
