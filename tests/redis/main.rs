//! The Redis store, against servers of the tests' own.

#[path = "../support/mod.rs"]
mod support;

mod common;
mod exactness;
mod expiry;
mod faults;
mod layouts;
mod probe;
mod scripts;
