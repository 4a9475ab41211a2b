//! SQL, against servers of the tests' own.

#[path = "../support/mod.rs"]
mod support;

mod buckets;
mod contract;
mod database;
mod exactness;
mod reload;
mod servers;
mod within;
