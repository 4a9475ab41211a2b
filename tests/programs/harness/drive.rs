//! Runs each function with and without the attribute, and prints where the two differ.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use rate_limit::{Limiter, ManualClock, MemoryStore, Store};

use super::answers::Show;
use super::rule::{Rule, Settle};
use super::store::{NotingStore, SETTLED};
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

impl Rule {
    /// Returns `true` if a call that ended is given back.
    fn gives_back(&self, succeeded: bool) -> bool {
        match self.settle {
            Settle::Never => false,
            Settle::ResetOnSuccess | Settle::RefundOnSuccess => succeeded,
            Settle::RefundOnError => !succeeded,
        }
    }

    /// Returns how many calls it admits after `before` that panicked and one that ended.
    fn admits_after(&self, before: u32, succeeded: bool) -> u32 {
        let counted = match (self.gives_back(succeeded), self.settle) {
            (true, Settle::ResetOnSuccess) => 0,
            (true, _) => before,
            (false, _) => before + 1,
        };
        self.count / self.cost - counted
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

fn new_store() -> MemoryStore {
    MemoryStore::builder().clock(&ManualClock::new()).build()
}

fn limiter_over(store: impl Store) -> Limiter {
    Limiter::builder().store(store).build().expect("no secret is set")
}

fn new_limiter() -> Limiter {
    limiter_over(new_store())
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

/// Returns the events of one call, to its end or its panic.
fn events(glue: Glue, limiter: Option<&Limiter>, input: u32, mode: Mode) -> Vec<String> {
    set_input(input);
    take_events();
    ANSWER.set(None);
    LIMITER.set(limiter.cloned());
    let run = || {
        let call = async {
            match limiter {
                Some(limiter) => limiter.scope(glue(mode)).await,
                None => glue(mode).await,
            }
        };
        let mut call = pin!(call);
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
    /// Returns the first difference as an error.
    fn check(&self) -> Result<(), String> {
        for input in INPUTS {
            for mode in MODES {
                let limited = events(self.limited, Some(&new_limiter()), input, mode);
                self.same(&format!("input {input}, {mode:?}"), self.plain_events(input, mode), limited)?;
            }
            self.drops_before_it_is_settled(input)?;
        }
        let limiter = new_limiter();
        let admits = self.refusing().map(|rule| rule.count / rule.cost).min();
        self.admits(&limiter, admits, "in all")?;
        self.exempts(&limiter)?;
        self.denies()?;
        for input in INPUTS {
            self.settles(input)?;
        }
        Ok(())
    }

    fn refusing(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter().filter(|rule| !rule.observes)
    }

    fn plain_events(&self, input: u32, mode: Mode) -> Vec<String> {
        events(self.plain, None, input, mode)
    }

    fn same(&self, what: &str, mut plain: Vec<String>, mut limited: Vec<String>) -> Result<(), String> {
        let shown = format!("{what}\n  plain   {}\n  limited {}", plain.join("; "), limited.join("; "));
        if self.unordered {
            plain.sort();
            limited.sort();
        }
        if plain == limited { Ok(()) } else { Err(shown) }
    }

    /// Compares a call that a store of the user's own decides. What the call owns drops before it is settled.
    fn drops_before_it_is_settled(&self, input: u32) -> Result<(), String> {
        let limiter = limiter_over(NotingStore(new_store()));
        let mut limited = events(self.limited, Some(&limiter), input, Mode::Finish);
        let gives_back = |answer: Answer| self.rules.iter().any(|rule| rule.gives_back(answer.succeeds));
        let settled = limited.iter().position(|event| event == SETTLED);
        if settled.is_some() != ANSWER.get().is_some_and(gives_back) {
            return Err(format!("input {input}: settled: {}", settled.is_some()));
        }
        if let Some(settled) = settled {
            limited.remove(settled);
            let late = limited.get(settled).filter(|event| event.starts_with("drop"));
            if let (Some(late), false) = (late, self.unordered) {
                return Err(format!("input {input}: after the call was settled: {late}"));
            }
        }
        self.same(&format!("input {input}, by another store"), self.plain_events(input, Mode::Finish), limited)
    }

    /// Calls until a call is refused, which is to drop what the plain function drops when it does nothing.
    fn admits(&self, limiter: &Limiter, expected: Option<u32>, when: &str) -> Result<(), String> {
        for admitted in 0..MANY {
            let events = events(self.limited, Some(limiter), PANIC, Mode::Finish);
            if ran(&events) {
                continue;
            }
            if Some(admitted) != expected {
                return Err(format!("{admitted} calls were admitted {when}, not {expected:?}"));
            }
            return self.is_refusal(&events);
        }
        Err(format!("no call was refused {when}"))
    }

    fn is_refusal(&self, limited: &[String]) -> Result<(), String> {
        if ANSWER.get().and_then(|answer| answer.refused) == Some(false) {
            return Err("what was returned over the limit is not a refusal".to_owned());
        }
        let plain = self.plain_events(PANIC, Mode::Finish);
        self.same("refused", drops_of_arguments(&plain), drops_of_arguments(limited))
    }

    fn exempts(&self, limiter: &Limiter) -> Result<(), String> {
        set_skips(self.skip_if);
        let exempt = events(self.limited, Some(limiter), 0, Mode::Finish);
        set_skips(false);
        if self.skip_if == ran(&exempt) { Ok(()) } else { Err("a call that is exempt did not run".to_owned()) }
    }

    fn denies(&self) -> Result<(), String> {
        if !self.deny_if {
            return Ok(());
        }
        set_denies(true);
        let denied = events(self.limited, Some(&new_limiter()), PANIC, Mode::Finish);
        set_denies(false);
        if ran(&denied) { Err("a call that is denied ran".to_owned()) } else { self.is_refusal(&denied) }
    }

    /// Compares how many calls are admitted after one that ended.
    fn settles(&self, input: u32) -> Result<(), String> {
        self.plain_events(input, Mode::Finish);
        let Some(Answer { succeeds, .. }) = ANSWER.get() else {
            return Ok(());
        };
        let limiter = new_limiter();
        let before = u32::from(self.refusing().all(|rule| rule.count >= 2 * rule.cost));
        for _ in 0..before {
            events(self.limited, Some(&limiter), PANIC, Mode::Finish);
        }
        events(self.limited, Some(&limiter), input, Mode::Finish);
        let admits = self.refusing().map(|rule| rule.admits_after(before, succeeds)).min();
        self.admits(&limiter, admits, &format!("after input {input}, success: {succeeds}"))
    }

    fn size(&self, glue: Glue) -> usize {
        events(glue, Some(&new_limiter()), 0, Mode::Unpolled);
        SIZE.get()
    }
}

pub fn run(cases: &[Case]) {
    std::panic::set_hook(Box::new(|_| {}));
    for case in cases {
        let number = case.number;
        match case.check() {
            Ok(()) => println!("size {number} {} {}", case.size(case.plain), case.size(case.limited)),
            Err(what) => println!("case {number}: {what}"),
        }
    }
    println!("ran {}", cases.len());
}
