//! One of the processes.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rate_limit::{Limiter, OnStoreError, Policy, RedisStore, RejectionKind, Rule};
use tokio::time::{Instant, sleep};

use super::witness::Witness;
use crate::common::key;
use crate::support::Random;
use crate::support::history::{Answer, DecidedBy, Recorder, Window};

const URL: &str = "RATE_LIMIT_TEST_UNDER_FIRE";
const PLAN: &str = "RATE_LIMIT_TEST_UNDER_FIRE_PLAN";
const KEYS: u32 = 200;
const TASKS: u32 = 32;

/// What each process does.
pub(super) struct Plan {
    pub(super) url: String,
    pub(super) mode: OnStoreError,
    pub(super) window: Window,
    pub(super) calls: u32,
    /// How long they take at least.
    pub(super) duration: Duration,
}

impl Plan {
    /// As variables of the environment.
    pub(super) fn written(&self, process: u32, folder: &Path) -> [(&'static str, String); 2] {
        let history = Self::history(process, folder);
        let (mode, calls, duration) = (self.mode == OnStoreError::Local, self.calls, self.duration.as_millis());
        let Window { count, length } = self.window;
        let plan = format!(
            "{process} {mode} {count} {length} {calls} {duration} {}",
            history.display()
        );
        [(URL, self.url.clone()), (PLAN, plan)]
    }

    /// Where a process writes what it saw.
    pub(super) fn history(process: u32, folder: &Path) -> PathBuf {
        folder.join(process.to_string())
    }
}

struct Caller {
    limiter: Limiter,
    recorder: Recorder,
    process: u32,
    window: Window,
    calls: u32,
    pause: Duration,
}

impl Caller {
    /// Calls for keys that all call for, and for one that no other task has: for that one it waits when it is told to.
    async fn calls(self: Arc<Self>, task: u32) {
        let own = self.process * TASKS + task;
        let shared = super::PROCESSES * TASKS;
        let mut due = Instant::now();
        let mut random = Random(u64::from(own + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        for _ in 0..self.calls.div_ceil(TASKS) {
            if Instant::now() >= due && random.one_in(2) {
                due = Instant::now() + self.call(own).await;
            } else {
                self.call(shared + random.below(u64::from(KEYS - shared)) as u32).await;
            }
            sleep(self.pause * random.below(2_000) as u32 / 1_000).await;
        }
    }

    /// For how long to wait.
    async fn call(&self, of: u32) -> Duration {
        let name = format!("key-{of}");
        let Window { count, length } = self.window;
        let policy = Policy::sliding_window(count, Duration::from_micros(length));
        let rule = Rule::new(policy, key(&name));
        let sent = self.recorder.sent(name, self.window, 1);
        let (answer, unanswered) = Witness::sees(self.limiter.check(rule)).await;
        let (answer, wait) = match answer {
            Ok(_) => (Answer::Admitted, Duration::ZERO),
            Err(refusal) if refusal.is_limited() => {
                let wait = refusal.retry_after().expect("it will fit");
                let retry_after = wait.as_micros() as u64;
                (Answer::Refused { retry_after }, wait)
            }
            Err(refusal) => {
                assert_eq!(refusal.kind(), RejectionKind::StoreUnavailable, "{refusal}");
                (Answer::Unknown, Duration::ZERO)
            }
        };
        let by = match unanswered && answer != Answer::Unknown {
            true => DecidedBy::Fallback,
            false => DecidedBy::Store,
        };
        self.recorder.replied(sent, answer, by);
        wait
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "run by the tests of `under_fire`"]
async fn calls() {
    let (Ok(url), Ok(plan)) = (std::env::var(URL), std::env::var(PLAN)) else {
        return;
    };
    let plan: Vec<&str> = plan.splitn(7, ' ').collect();
    let number = |place: usize| plan[place].parse::<u32>().expect("it is a number");
    let mode = match plan[1] {
        "true" => OnStoreError::Local,
        _ => OnStoreError::Closed,
    };
    let store = RedisStore::builder(&url).connect().await.expect("the server takes us");
    let limiter = Limiter::builder().store(Witness(store)).on_store_error(mode);
    let caller = Arc::new(Caller {
        limiter: limiter.build().expect("nothing is wrong with it"),
        recorder: Recorder::new(number(0)),
        process: number(0),
        window: Window {
            count: number(2),
            length: number(3).into(),
        },
        calls: number(4),
        pause: Duration::from_millis(number(5).into()) * TASKS / number(4),
    });
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| tokio::spawn(Arc::clone(&caller).calls(task)))
        .collect();
    for task in tasks {
        task.await.expect("no call panics");
    }
    let caller = Arc::into_inner(caller).expect("all tasks have ended");
    let mut history = String::new();
    for call in caller.recorder.into_calls() {
        writeln!(history, "{call}").expect("memory");
    }
    std::fs::write(plan[6], history).expect("it can be written");
}
