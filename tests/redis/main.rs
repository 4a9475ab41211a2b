//! The Redis store, against servers of the tests' own.

#[path = "../support/mod.rs"]
mod support;

mod common;
mod deadline;
mod differential;
mod exactness;
mod expiry;
mod faults;
mod layouts;
mod misuse;
mod privacy;
mod probe;
mod reconnect;
mod scripts;
mod settlement;
mod stopwatch;
mod two_processes;
