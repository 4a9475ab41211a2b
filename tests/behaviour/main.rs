//! What the attribute does to a function, on the embedded store and a clock that the tests turn.
#![cfg(all(feature = "axum", feature = "test-util"))]

mod attributes;
mod borrowing;
mod coercions;
mod counting;
mod drops;
mod evaluation;
mod failure;
mod fallback;
mod generics;
mod golden;
mod http;
mod identity;
mod keys;
mod limiters;
mod log;
mod logs;
mod methods;
mod names;
mod observing;
mod outcomes;
mod parameters;
mod policies;
#[allow(dead_code, reason = "each test binary uses some of it")]
#[path = "../support/random.rs"]
mod random;
mod refusals;
#[path = "../support/remote_store.rs"]
mod remote_store;
mod settling;
mod shadowing;
mod support;
mod threads;
mod unsettled;
