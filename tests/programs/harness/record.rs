//! What happens while a function runs, in order, and what it is asked to do.

use std::cell::{Cell, RefCell};
use std::fmt::Display;

thread_local! {
    static EVENTS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    static INPUT: Cell<u32> = const { Cell::new(0) };
    static SKIPS: Cell<bool> = const { Cell::new(false) };
    static DENIES: Cell<bool> = const { Cell::new(false) };
}

/// The input with which a body panics at once.
pub const PANIC: u32 = 99;

/// The event by which a body begins.
pub const BODY: &str = "body";

pub fn note(event: impl Display) {
    EVENTS.with_borrow_mut(|events| events.push(event.to_string()));
}

pub fn take_events() -> Vec<String> {
    EVENTS.take()
}

/// Every body begins with it.
pub fn enter() {
    note(BODY);
    assert!(input() != PANIC, "as it is asked to");
}

/// Branches are taken by it.
pub fn input() -> u32 {
    INPUT.get()
}

pub fn set_input(input: u32) {
    INPUT.set(input);
}

/// For `skip_if`.
pub fn skips() -> bool {
    SKIPS.get()
}

pub fn set_skips(skips: bool) {
    SKIPS.set(skips);
}

/// For `deny_if`.
pub fn denies() -> bool {
    DENIES.get()
}

pub fn set_denies(denies: bool) {
    DENIES.set(denies);
}
