//! `advise` and `replay` as a person runs them: on logs in files and pipes.

#[path = "../support/said.rs"]
mod said;

mod advise;
mod command;
mod malformed;
mod reading;
mod replay;
