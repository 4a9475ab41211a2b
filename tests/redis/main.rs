//! The Redis store, against servers of the tests' own.

#[path = "../support/mod.rs"]
mod support;

mod common;
mod concurrency;
mod deadline;
mod differential;
mod exactness;
mod expiry;
mod faults;
mod foreign;
mod healing;
mod layouts;
mod lifetimes;
mod misuse;
mod mortality;
mod privacy;
mod probe;
mod reconnect;
mod refunds;
mod reload;
mod scripts;
mod servers;
mod settlement;
mod stacks;
mod stopwatch;
mod two_processes;
mod values;
mod weather;
mod weightless;
