//! The attribute whole: every argument, every item that it goes on, every neighbour, on a clock that the tests turn.

mod algorithms;
mod ambient;
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
