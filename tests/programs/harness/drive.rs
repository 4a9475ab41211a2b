//! Runs each function with and without the attribute, and prints where the two differ.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use rate_limit::{Limiter, ManualClock, MemoryStore};

use super::answers::Show;
use super::record::{BODY, PANIC, note, set_denies, set_input, set_skips, take_events};

thread_local! {
    static LIMITER: RefCell<Option<Limiter>> = const { RefCell::new(None) };
    static ANSWER: Cell<Option<Answer>> = const { Cell::new(None) };
    static SIZE: Cell<usize> = const { Cell::new(0) };
}

/// The inputs of a call that is compared with that of the plain function.
const INPUTS: [u32; 6] = [0, 1, 2, 3, 4, PANIC];

/// More calls than any of the limits admits.
const MANY: u32 = 12;

/// How far a call goes.
#[derive(Clone, Copy, Debug)]
pub enum Mode {
    Finish,
    Unpolled,
    /// Dropped after so many polls.
    Polls(u32),
}

const MODES: [Mode; 4] = [Mode::Finish, Mode::Unpolled, Mode::Polls(1), Mode::Polls(2)];

/// What a finished call returned.
#[derive(Clone, Copy, PartialEq)]
struct Answer {
    succeeds: bool,
    refused: Option<bool>,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Settle {
    Never,
    ResetOnSuccess,
    RefundOnSuccess,
    RefundOnError,
}

/// One limit of a function.
pub struct Rule {
    pub count: u32,
    pub cost: u32,
    pub settle: Settle,
}

impl Rule {
    /// How many calls it admits after one that ended.
    fn admits_after(&self, succeeded: bool) -> u32 {
        let given_back = match self.settle {
            Settle::Never => false,
            Settle::ResetOnSuccess | Settle::RefundOnSuccess => succeeded,
            Settle::RefundOnError => !succeeded,
        };
        let used = if given_back { 0 } else { self.cost };
        (self.count - used) / self.cost
    }
}

type Glue = fn(Mode) -> Pin<Box<dyn Future<Output = ()>>>;

pub struct Case {
    pub number: u64,
    pub rules: &'static [Rule],
    pub skip_if: bool,
    pub deny_if: bool,
    /// Whether parts of a pattern are bound to nothing in a body that is moved: they drop last, as the manual says.
    pub unordered: bool,
    pub plain: Glue,
    pub limited: Glue,
}

/// For `limiter`.
pub fn limiter() -> Limiter {
    LIMITER.with_borrow(|limiter| limiter.clone().expect("it is set before a case runs"))
}

fn new_limiter() -> Limiter {
    let store = MemoryStore::builder().clock(&ManualClock::new()).build();
    Limiter::builder().store(store).build().expect("no secret is set")
}

/// Drives one call from within the function that owns what its arguments borrow.
pub async fn drive<F: Future<Output: Show>>(call: F, mode: Mode) {
    SIZE.set(size_of_val(&call));
    match mode {
        Mode::Finish => {
            let out = call.await;
            note(format_args!("returned {}", out.show()));
            let (succeeds, refused) = (out.succeeds(), out.refused());
            ANSWER.set(Some(Answer { succeeds, refused }));
        }
        Mode::Unpolled => drop(call),
        Mode::Polls(polls) => {
            let mut call = Box::pin(call);
            for _ in 0..polls {
                let ready = poll(call.as_mut()).is_ready();
                note(format_args!("ready: {ready}"));
                if ready {
                    break;
                }
            }
            drop(call);
        }
    }
}

fn poll<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Tells by the type of a value whether it is `Send`.
pub struct Probe<T>(PhantomData<T>);

impl<T> Probe<T> {
    pub fn of(_: &T) -> Self {
        Self(PhantomData)
    }
}

impl<T: Send> Probe<T> {
    pub fn is_send(&self) -> bool {
        true
    }
}

pub trait NotSend {
    fn is_send(&self) -> bool {
        false
    }
}

impl<T> NotSend for Probe<T> {}

/// The events of one call, to its end or its panic.
fn events(glue: Glue, limiter: &Limiter, input: u32, mode: Mode) -> Vec<String> {
    set_input(input);
    take_events();
    ANSWER.set(None);
    LIMITER.set(Some(limiter.clone()));
    let run = || {
        let mut call = pin!(limiter.scope(glue(mode)));
        // A body waits by `yield_now` only.
        (0..100).any(|_| poll(call.as_mut()).is_ready())
    };
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(true) => {}
        Ok(false) => note("it does not end"),
        Err(_) => note("panicked"),
    }
    take_events()
}

fn ran(events: &[String]) -> bool {
    events.iter().any(|event| event == BODY)
}

fn drops_of_arguments(events: &[String]) -> Vec<String> {
    events.iter().filter(|event| event.starts_with("drop p")).cloned().collect()
}

impl Case {
    fn differs(&self, what: &str, plain: &[String], limited: &[String]) -> bool {
        let mut both = [plain.to_vec(), limited.to_vec()];
        if self.unordered {
            both.iter_mut().for_each(|events| events.sort());
        }
        let differs = both[0] != both[1];
        if differs {
            println!("case {}: {what}\n  plain   {}\n  limited {}", self.number, plain.join("; "), limited.join("; "));
        }
        differs
    }

    fn wrong(&self, what: &str) {
        println!("case {}: {what}", self.number);
    }

    /// Calls until the body does not run, and returns how often it did and the events of the call that was refused.
    fn exhaust(&self, limiter: &Limiter) -> (u32, Vec<String>) {
        let mut admitted = 0;
        while admitted < MANY {
            let events = events(self.limited, limiter, PANIC, Mode::Finish);
            if !ran(&events) {
                return (admitted, events);
            }
            admitted += 1;
        }
        (admitted, Vec::new())
    }

    fn expect_refusal(&self, when: &str, limited: &[String]) {
        let plain = events(self.plain, &new_limiter(), PANIC, Mode::Finish);
        self.differs(when, &drops_of_arguments(&plain), &drops_of_arguments(limited));
    }

    fn run(&self) {
        for input in INPUTS {
            for mode in MODES {
                let plain = events(self.plain, &new_limiter(), input, mode);
                let limited = events(self.limited, &new_limiter(), input, mode);
                if self.differs(&format!("input {input}, {mode:?}"), &plain, &limited) {
                    return;
                }
            }
        }
        self.compare_limits();
        self.compare_settlement();
        events(self.plain, &new_limiter(), 0, Mode::Unpolled);
        let plain = SIZE.get();
        events(self.limited, &new_limiter(), 0, Mode::Unpolled);
        println!("size {} {plain} {}", self.number, SIZE.get());
    }

    fn compare_limits(&self) {
        let limiter = new_limiter();
        let admits = self.rules.iter().map(|rule| rule.count / rule.cost).min();
        let (admitted, refused) = self.exhaust(&limiter);
        if Some(admitted) != admits {
            self.wrong(&format!("{admitted} calls were admitted, not {admits:?}"));
        }
        self.expect_refusal("over the limit", &refused);
        if ANSWER.get().and_then(|answer| answer.refused) == Some(false) {
            self.wrong("what was returned over the limit is no refusal");
        }
        if self.skip_if {
            set_skips(true);
            if !ran(&events(self.limited, &limiter, 0, Mode::Finish)) {
                self.wrong("a call that is exempt did not run");
            }
            set_skips(false);
        }
        if self.deny_if {
            set_denies(true);
            let denied = events(self.limited, &new_limiter(), PANIC, Mode::Finish);
            if ran(&denied) {
                self.wrong("a call that is denied ran");
            }
            self.expect_refusal("denied", &denied);
            set_denies(false);
        }
    }

    fn compare_settlement(&self) {
        for input in 0..PANIC.min(5) {
            let limiter = new_limiter();
            events(self.plain, &limiter, input, Mode::Finish);
            let succeeded = ANSWER.get().is_some_and(|answer| answer.succeeds);
            let ended = ANSWER.get().is_some();
            if !ended {
                continue;
            }
            events(self.limited, &limiter, input, Mode::Finish);
            let (admitted, _) = self.exhaust(&limiter);
            let admits = self.rules.iter().map(|rule| rule.admits_after(succeeded)).min();
            if Some(admitted) != admits {
                self.wrong(&format!("after input {input}, success: {succeeded}, {admitted} calls were admitted, not {admits:?}"));
            }
        }
    }
}

pub fn run(cases: &[Case]) {
    std::panic::set_hook(Box::new(|_| {}));
    for case in cases {
        case.run();
    }
    println!("ran {}", cases.len());
}
