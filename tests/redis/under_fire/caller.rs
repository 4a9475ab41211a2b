//! One of the processes.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rate_limit::{Limiter, OnStoreError, Policy, RedisStore, RejectionKind, Rule};
use tokio::runtime::Runtime;
use tokio::time::{Instant, sleep};

use super::battle::MOST_PROCESSES;
use super::witness::Witness;
use crate::common::key;
use crate::support::Random;
use crate::support::history::{Answer, DecidedBy, Recorder, Sent, Window, monotonic};

const URL: &str = "RATE_LIMIT_TEST_UNDER_FIRE";
const PLAN: &str = "RATE_LIMIT_TEST_UNDER_FIRE_PLAN";
const TASKS: u32 = 32;
/// Keys that all call for, behind those that one task has alone.
const SHARED: u32 = 104;
/// Added to the number of a process, for the calls of its runtimes that end.
pub(super) const ENDING: u32 = 100;
/// How long a runtime goes on that ends.
const ENDS_AFTER: Duration = Duration::from_secs(1);

/// What each process does.
pub(super) struct Plan {
    pub(super) url: String,
    pub(super) mode: OnStoreError,
    pub(super) window: Window,
    pub(super) calls: u32,
    /// How long they take at least.
    pub(super) duration: Duration,
    pub(super) deadline: Duration,
    /// Whether other runtimes call beside, each of which ends after a second.
    pub(super) runtimes: bool,
}

impl Plan {
    /// As variables of the environment.
    pub(super) fn written(&self, process: u32, folder: &Path) -> [(&'static str, String); 2] {
        let history = Self::history(process, folder);
        let (mode, runtimes, calls) = (self.mode == OnStoreError::Local, self.runtimes, self.calls);
        let (duration, deadline) = (self.duration.as_millis(), self.deadline.as_millis());
        let Window { count, length } = self.window;
        let plan = format!(
            "{process} {mode} {count} {length} {calls} {duration} {deadline} {runtimes} {}",
            history.display()
        );
        [(URL, self.url.clone()), (PLAN, plan)]
    }

    /// At the same rate, for so many times as long.
    pub(super) fn prolonged(self, times: u32) -> Self {
        Self {
            calls: self.calls * times,
            duration: self.duration * times,
            ..self
        }
    }

    /// What is left of it after so much time.
    pub(super) fn after(&self, time: Duration) -> Self {
        let duration = self.duration.saturating_sub(time).max(Duration::from_millis(500));
        let calls = u128::from(self.calls) * duration.as_millis() / self.duration.as_millis();
        Self {
            url: self.url.clone(),
            calls: calls as u32,
            duration,
            ..*self
        }
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
    /// Whether they are told to end before they have made all calls.
    ended: Arc<AtomicBool>,
}

impl Caller {
    /// Calls for keys that all call for, and for one that no other task has: for that one it waits when it is told to.
    async fn calls(self: Arc<Self>, task: u32) {
        let own = self.process * TASKS + task;
        let mut due = Instant::now();
        let mut random = Random(u64::from(own + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        for _ in 0..self.calls.div_ceil(TASKS) {
            if self.ended.load(Ordering::Relaxed) {
                break;
            }
            if Instant::now() >= due && random.one_in(2) {
                due = Instant::now() + self.call(own).await;
            } else {
                self.call(shared(&mut random)).await;
            }
            self.rest(&mut random).await;
        }
    }

    /// As often as before, from runtimes of which each ends while its calls are under way.
    fn calls_from_runtimes(self: &Arc<Self>) {
        while !self.ended.load(Ordering::Relaxed) {
            let runtime = Runtime::new().expect("there are threads");
            for task in 0..TASKS {
                let caller = Arc::clone(self);
                runtime.spawn(async move {
                    let mut random = Random(monotonic() + u64::from(task));
                    loop {
                        caller.call(shared(&mut random)).await;
                        caller.rest(&mut random).await;
                    }
                });
            }
            std::thread::sleep(ENDS_AFTER);
        }
    }

    async fn rest(&self, random: &mut Random) {
        sleep(self.pause * random.below(2_000) as u32 / 1_000).await;
    }

    /// For how long to wait.
    async fn call(&self, of: u32) -> Duration {
        let name = format!("key-{of}");
        let Window { count, length } = self.window;
        let policy = Policy::sliding_window(count, Duration::from_micros(length));
        let rule = Rule::new(policy, key(&name));
        let sent = UnderWay {
            recorder: &self.recorder,
            sent: Some(self.recorder.sent(name, self.window, 1)),
        };
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
        sent.replied(answer, by);
        wait
    }
}

/// A key that all call for.
fn shared(random: &mut Random) -> u32 {
    MOST_PROCESSES * TASKS + random.below(SHARED.into()) as u32
}

/// A call whose caller may be gone before it is answered, and does not know then whether it was charged.
struct UnderWay<'a> {
    recorder: &'a Recorder,
    sent: Option<Sent>,
}

impl UnderWay<'_> {
    fn replied(mut self, answer: Answer, by: DecidedBy) {
        if let Some(sent) = self.sent.take() {
            self.recorder.replied(sent, answer, by);
        }
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        if let Some(sent) = self.sent.take() {
            self.recorder.replied(sent, Answer::Unknown, DecidedBy::Store);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "run by the tests of `under_fire`"]
async fn calls() {
    let (Ok(url), Ok(plan)) = (std::env::var(URL), std::env::var(PLAN)) else {
        return;
    };
    let plan: Vec<&str> = plan.splitn(9, ' ').collect();
    let number = |place: usize| plan[place].parse::<u32>().expect("it is a number");
    let time = |place: usize| Duration::from_millis(number(place).into());
    let mode = match plan[1] {
        "true" => OnStoreError::Local,
        _ => OnStoreError::Closed,
    };
    let store = RedisStore::builder(&url).deadline(time(6)).connect().await;
    let limiter = Limiter::builder()
        .store(Witness(store.expect("the server takes us")))
        .on_store_error(mode);
    let limiter = limiter.build().expect("nothing is wrong with it");
    let ended = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&ended);
    std::thread::spawn(move || {
        // The parent writes nothing: it closes.
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        told.store(true, Ordering::Relaxed);
    });
    let caller = |process| {
        Arc::new(Caller {
            limiter: limiter.clone(),
            recorder: Recorder::new(process),
            process,
            window: Window {
                count: number(2),
                length: number(3).into(),
            },
            calls: number(4),
            pause: time(5) * TASKS / number(4),
            ended: Arc::clone(&ended),
        })
    };
    let (caller, ending) = (caller(number(0)), caller(number(0) + ENDING));
    let runtimes = (plan[7] == "true").then(|| {
        let ending = Arc::clone(&ending);
        std::thread::spawn(move || ending.calls_from_runtimes())
    });
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| tokio::spawn(Arc::clone(&caller).calls(task)))
        .collect();
    for task in tasks {
        task.await.expect("no call panics");
    }
    ended.store(true, Ordering::Relaxed);
    if let Some(runtimes) = runtimes {
        runtimes.join().expect("no call panics");
    }
    let mut history = String::new();
    for caller in [caller, ending] {
        let caller = Arc::into_inner(caller).expect("all tasks have ended");
        for call in caller.recorder.into_calls() {
            writeln!(history, "{call}").expect("memory");
        }
    }
    std::fs::write(plan[8], history).expect("it can be written");
}
