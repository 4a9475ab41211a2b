//! SQL, against servers of the tests' own.

#[path = "../support/mod.rs"]
mod support;

mod contract;
mod database;
mod servers;
mod within;
