//! The attribute whole: every argument, every item that it goes on, every neighbour, on a clock that the tests turn.

mod algorithms;
mod ambient;
mod conditions;
mod fragments;
mod futures;
mod impls;
mod login_guard;
mod neighbours;
mod options;
mod settling;
mod stacking;
mod traits;
mod world;
