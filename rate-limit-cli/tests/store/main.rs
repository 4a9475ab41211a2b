//! What an operator asks of a store, as a person runs it: on servers of the tests' own.

#[path = "../support/said.rs"]
mod said;
#[path = "../../../tests/support/mod.rs"]
mod support;

mod command;
mod confirming;
mod deployment;
mod failing;
mod flow;
mod standing;
mod top;
