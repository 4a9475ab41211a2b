//! What the attribute does to a function, on the embedded store and a clock that the tests turn.
#![cfg(all(feature = "axum", feature = "test-util"))]

mod attributes;
mod coercions;
mod counting;
mod drops;
mod evaluation;
mod failure;
mod generics;
mod http;
mod identity;
mod keys;
mod limiters;
mod methods;
mod names;
mod outcomes;
mod parameters;
mod refusals;
mod settling;
mod support;
mod threads;
