//! The refusals that each thread has told last, to be told again without a lock: a client that knocks at full speed holds up no other.

use std::cell::RefCell;
use std::time::Instant;

use super::deny::Refusal;
use crate::key::Id;

/// How many a thread keeps, of different clients as chance has it.
const PLACES: usize = 16;

/// One, and of what state of which refusals it is.
#[derive(Clone, Copy)]
pub(super) struct Told {
    pub(super) denials: u64,
    pub(super) shard: usize,
    pub(super) version: u64,
    pub(super) id: Id,
    pub(super) refusal: Refusal,
    pub(super) until: Instant,
}

thread_local! {
    static TOLD: RefCell<[Option<Told>; PLACES]> = const { RefCell::new([None; PLACES]) };
}

#[inline]
fn place(id: Id) -> usize {
    id.hash() as usize % PLACES
}

pub(super) fn keep(told: Told) {
    TOLD.with_borrow_mut(|all| all[place(told.id)] = Some(told));
}

/// Looks at the one of this counter, if there is one.
#[inline]
pub(super) fn look<T>(id: Id, at: impl FnOnce(&Told) -> Option<T>) -> Option<T> {
    TOLD.with_borrow(|all| all[place(id)].as_ref().filter(|told| told.id == id).and_then(at))
}
