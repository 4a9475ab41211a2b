//! Calls and settlements whose future is dropped at one of its polls.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use super::{all, fresh_key, hit, pause};
use crate::key::Key;
use crate::policy::Policy;
use crate::store::{Change, Charge, Reply, Settlement, Store};
use crate::verdict::{Hit, Verdict};

const DAY: Duration = Duration::from_secs(86_400);
/// How many hits each counter admits.
const COUNT: u32 = 3;
/// Trials that run at once: more than a store may have under way, so that some wait for their turn.
const TOGETHER: usize = 6;
/// The most polls that a call may take before it answers.
const MOST_POLLS: u32 = 64;
/// What goes on after a future was dropped has this long to end, looked at that often.
const LOOKS: u32 = 20;
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// Checks what a dropped future leaves behind: calls and settlements are polled 0, 1, 2.. times and
/// dropped, at once after the last poll or when the next one is due, until they answer before that.
///
/// * A call that was answered is charged exactly once, a call that was dropped at most once.
/// * A call of several rules is charged by all of them or by none, and if one rule refuses by none,
///   dropped or not.
/// * A settlement that was dropped is done on all its counters or on none.
///
/// It uses each of the three algorithms that the store [accepts](Store::accepts), and returns how
/// many futures were dropped. No counter gains room while it runs, so the store may go by any clock.
///
/// # Panics
///
/// If the store does not do as it must; the message says what is left, of how many trials.
pub async fn check_dropped_futures(store: &dyn Store) -> usize {
    let mut trials = Vec::new();
    for policy in [
        Policy::sliding_window(COUNT, DAY),
        Policy::fixed_window(COUNT, Policy::MAX_WINDOW),
        Policy::token_bucket(COUNT, DAY),
    ] {
        if store.accepts(policy).is_ok() {
            for case in Case::ALL {
                drop_at_each_poll(store, policy, case, &mut trials).await;
            }
        }
    }
    assert!(!trials.is_empty(), "the store accepts none of the three algorithms");
    let mut wrong = Vec::new();
    for look in 0..LOOKS {
        pause(BETWEEN_LOOKS).await;
        // What was wrong may have been on its way still.
        let mut still = Vec::new();
        for (which, trial) in trials.iter().enumerate() {
            if look == 0 || wrong.iter().any(|(known, _)| *known == which) {
                still.extend(trial.wrong(store).await.map(|what| (which, what)));
            }
        }
        wrong = still;
        if wrong.is_empty() {
            break;
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} futures left what they must not; the first: {}",
        wrong.len(),
        trials.len(),
        wrong[0].1
    );
    for trial in &trials {
        trial.assert_full_when_used_up(store).await;
    }
    trials.iter().filter(|trial| !trial.answered).count()
}

/// Runs trials until all that run at once are answered before they are dropped.
async fn drop_at_each_poll(store: &dyn Store, policy: Policy, case: Case, trials: &mut Vec<Trial>) {
    for waits in [false, true] {
        let mut polls = 0;
        loop {
            let when = Dropped { polls, waits };
            let together: Vec<_> = (0..TOGETHER)
                .map(|_| Box::pin(Trial::run(store, policy, case, when)))
                .collect();
            let ended = all(together).await;
            let answered = ended.iter().all(|trial| trial.answered);
            trials.extend(ended);
            if answered {
                break;
            }
            polls += 1;
            assert!(polls <= MOST_POLLS, "{case:?} is not answered after {polls} polls");
        }
    }
}

/// What is dropped.
#[derive(Clone, Copy, Debug)]
enum Case {
    OneRule,
    TwoRules,
    /// Of two rules, the one with this index refuses.
    Refused(usize),
    Settled([Settle; 2]),
}

/// How a counter is settled that was hit twice, the first time by the hit of the settlement.
#[derive(Clone, Copy, Debug)]
enum Settle {
    Refund,
    Reset,
    Clear,
}

impl Case {
    const ALL: [Self; 7] = [
        Self::OneRule,
        Self::TwoRules,
        Self::Refused(0),
        Self::Refused(1),
        Self::Settled([Settle::Refund, Settle::Refund]),
        Self::Settled([Settle::Reset, Settle::Reset]),
        Self::Settled([Settle::Clear, Settle::Refund]),
    ];
}

impl Settle {
    const fn change(self, hit: Hit) -> Change {
        match self {
            Self::Refund => Change::Refund { hit, cost: 1 },
            Self::Reset => Change::Reset { upto: hit },
            Self::Clear => Change::Clear,
        }
    }

    /// What remains once it is done.
    const fn left(self) -> u32 {
        match self {
            Self::Refund | Self::Reset => COUNT - 1,
            Self::Clear => COUNT,
        }
    }
}

/// When a future is dropped.
#[derive(Clone, Copy, Debug)]
struct Dropped {
    polls: u32,
    /// Whether it was woken after the last poll.
    waits: bool,
}

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let when = if self.waits { "when it was woken after" } else { "after" };
        write!(f, "dropped {when} {} polls", self.polls)
    }
}

/// A future that was dropped or answered, and what may be left of its counters.
struct Trial {
    case: Case,
    when: Dropped,
    answered: bool,
    policy: Policy,
    keys: Vec<Key>,
    allowed: Vec<Vec<u32>>,
}

impl Trial {
    async fn run(store: &dyn Store, policy: Policy, case: Case, when: Dropped) -> Self {
        let keys: Vec<Key> = match case {
            Case::OneRule => vec![fresh_key()],
            _ => vec![fresh_key(), fresh_key()],
        };
        let charges: Vec<Charge> = keys.iter().map(|key| Charge::new(*key, policy, 1)).collect();
        let untouched = vec![COUNT; keys.len()];
        let mut trial = Self {
            case,
            when,
            answered: false,
            policy,
            keys,
            allowed: Vec::new(),
        };
        match case {
            Case::OneRule | Case::TwoRules => {
                let charged = vec![COUNT - 1; untouched.len()];
                let answer = when.drop(store.acquire(&charges)).await;
                trial.may_leave(answer.map(hits), untouched, charged);
            }
            Case::Refused(which) => {
                let whole = Charge::new(trial.keys[which], policy, COUNT);
                hit(store.acquire(&[whole]).await.expect("the store decides"));
                let answer = when.drop(store.acquire(&charges)).await;
                if let Some(verdict) = &answer {
                    assert!(matches!(verdict, Ok(Verdict::Denied { .. })), "{case:?}: {verdict:?}");
                }
                trial.answered = answer.is_some();
                let mut left = untouched;
                left[which] = 0;
                trial.allowed = vec![left];
            }
            Case::Settled(settles) => {
                let first = hits(store.acquire(&charges).await);
                hits(store.acquire(&charges).await);
                let settlements = [0, 1].map(|which| {
                    let change = settles[which].change(first[which]);
                    Settlement::new(trial.keys[which], policy, change)
                });
                let answer = when.drop(store.settle(&settlements)).await;
                let settled = settles.map(Settle::left).to_vec();
                let answer = answer.map(|answer| answer.expect("the store settles"));
                trial.may_leave(answer, vec![COUNT - 2; 2], settled);
            }
        }
        trial
    }

    fn may_leave<T>(&mut self, answer: Option<T>, before: Vec<u32>, after: Vec<u32>) {
        self.answered = answer.is_some();
        self.allowed.push(after);
        if !self.answered {
            self.allowed.push(before);
        }
    }

    /// What is wrong with what is left now.
    async fn wrong(&self, store: &dyn Store) -> Option<String> {
        let left = self.left(store).await;
        if self.allowed.contains(&left) {
            return None;
        }
        let Self {
            case,
            when,
            policy,
            allowed,
            ..
        } = self;
        let ended = if self.answered {
            "answered".to_owned()
        } else {
            when.to_string()
        };
        Some(format!(
            "{case:?} by {policy}, {ended}: {left:?} of {COUNT} are left, which should be one of {allowed:?}"
        ))
    }

    async fn left(&self, store: &dyn Store) -> Vec<u32> {
        let mut left = Vec::new();
        for key in &self.keys {
            let verdict = store.peek(Charge::new(*key, self.policy, 1)).await;
            left.push(match verdict.expect("the store decides") {
                Verdict::Allowed { remaining, .. } => remaining,
                Verdict::Denied { .. } | Verdict::Impossible { .. } => 0,
            });
        }
        left
    }

    /// Takes all that is left of each counter, and one more.
    async fn assert_full_when_used_up(&self, store: &dyn Store) {
        for (key, left) in self.keys.iter().zip(self.left(store).await) {
            for (cost, fits) in [(left, true), (1, false)] {
                let verdict = store.acquire(&[Charge::new(*key, self.policy, cost)]).await;
                assert_eq!(
                    matches!(verdict, Ok(Verdict::Allowed { .. })),
                    fits,
                    "{:?}, {}: {cost} where {left} of {COUNT} were left: {verdict:?}",
                    self.case,
                    self.when
                );
            }
        }
    }
}

fn hits<E: fmt::Debug>(answer: Result<Verdict, E>) -> Vec<Hit> {
    match answer {
        Ok(Verdict::Allowed { hits, .. }) => hits.to_vec(),
        other => panic!("the call should be admitted, but is {other:?}"),
    }
}

impl Dropped {
    /// Polls a reply as often as this says, each time that it can go on, and drops it then. Returns
    /// its answer if it has answered before.
    async fn drop<T: Unpin>(self, mut reply: Reply<T>) -> Option<T> {
        for poll in 1..=self.polls {
            let woken = Arc::new(Woken::default());
            let waker = Waker::from(Arc::clone(&woken));
            if let Poll::Ready(answer) = Pin::new(&mut reply).poll(&mut Context::from_waker(&waker)) {
                return Some(answer);
            }
            if poll < self.polls || self.waits {
                woken.wait().await;
            }
        }
        None
    }
}

/// Whether a future that is polled by hand can go on, and who waits for that.
#[derive(Default)]
struct Woken(Mutex<(bool, Option<Waker>)>);

impl Woken {
    async fn wait(&self) {
        poll_fn(|context| {
            let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            state.1 = Some(context.waker().clone());
            match state.0 {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.0 = true;
        let waiter = state.1.take();
        drop(state);
        if let Some(waiter) = waiter {
            waiter.wake();
        }
    }
}
