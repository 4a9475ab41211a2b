//! The attribute whole: every argument, every item that it goes on, every neighbour, on a clock that the tests turn.

#![allow(clippy::manual_async_fn, reason = "functions that return a future are limited too")]

mod algorithms;
mod ambient;
mod conditions;
mod fragments;
mod futures;
mod impls;
mod login_guard;
mod names;
mod neighbours;
mod numbers;
mod options;
mod settling;
mod stacking;
mod traits;
mod world;
