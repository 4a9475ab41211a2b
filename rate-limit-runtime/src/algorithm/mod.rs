//! The algorithms, pure: a state and a time in, a changed state and a verdict out. No clock, no store.

pub(crate) mod sliding_window;
