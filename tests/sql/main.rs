//! SQL, against servers of the tests' own.

#[path = "../support/mod.rs"]
mod support;

mod breaker;
mod buckets;
mod connections;
mod contract;
mod cost;
mod database;
mod exactness;
mod faults;
mod housekeeping;
mod idle;
mod kept;
mod listing;
mod reload;
mod rolling;
mod runtimes;
mod servers;
mod within;
