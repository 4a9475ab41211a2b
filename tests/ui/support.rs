//! What the programs that run have in common.

use std::fmt;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use rate_limit::Rejection;

/// Why a call gave no answer.
#[derive(Debug, PartialEq)]
pub enum Error {
    /// The body ran and said no.
    Wrong,
    /// The body did not run.
    Limited,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl From<Rejection> for Error {
    fn from(rejection: Rejection) -> Self {
        assert!(rejection.is_limited(), "{rejection}");
        Self::Limited
    }
}

/// What a future answers that never waits, as none does over the embedded store.
pub fn run<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => panic!("the future waits"),
    }
}
