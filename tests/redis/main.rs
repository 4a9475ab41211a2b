//! The Redis store, against servers of the tests' own.

#[path = "../support/mod.rs"]
mod support;

mod addresses;
mod batches;
mod cluster;
mod commands;
mod common;
mod concurrency;
mod counters;
mod deadline;
mod denials;
mod differential;
mod exactness;
mod expiry;
mod faults;
mod foreign;
mod forget;
mod grid;
mod healing;
mod instances;
mod layouts;
mod lifetimes;
mod misuse;
mod mortality;
mod privacy;
mod probe;
mod process;
mod reconnect;
mod refunds;
mod reload;
mod scripts;
mod sentinel;
mod servers;
mod settlement;
mod stacks;
mod stopwatch;
mod tls;
mod two_policies;
mod two_processes;
mod under_fire;
mod valkey;
mod values;
mod weather;
mod weight;
mod weightless;
