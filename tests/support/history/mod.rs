//! What callers saw of a store, and whether a correct store can have answered so.
//!
//! Every call is recorded with the times at which it was sent and answered, by a clock that all processes of one machine
//! share. The store decided in between, nobody knows when exactly. A check accuses only where *no* time in between makes
//! the answers right; so a correct store is never accused. It holds for sliding windows whose calls are not settled.

#![allow(dead_code, unused_imports, reason = "each test binary uses some of it")]

mod beyond;
mod call;
mod checks;
mod finding;
mod hints;
mod justified;
mod recorder;
mod within_bound;

pub use self::call::{Answer, Call, DecidedBy, Window};
pub use self::checks::{Checks, Disturbance};
pub use self::finding::Finding;
pub use self::recorder::{Recorder, Sent, monotonic};
