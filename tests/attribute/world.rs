//! A limiter on a clock of its own.

use std::future::Future;
use std::time::Duration;

use rate_limit::{Limiter, ManualClock, MemoryStore, Rejection, RejectionKind};

pub struct World {
    pub clock: ManualClock,
    pub limiter: Limiter,
}

impl World {
    pub fn new() -> Self {
        let clock = ManualClock::new();
        let store = MemoryStore::builder().clock(&clock).build();
        let limiter = Limiter::builder().store(store).build().expect("no secret is set");
        Self { clock, limiter }
    }

    pub fn run<T>(&self, future: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.expect("a runtime starts").block_on(self.limiter.scope(future))
    }

    pub fn advance(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }
}

/// How the functions under test fail.
#[derive(Debug, PartialEq)]
pub enum Failure {
    Refused(Rejection),
    Own,
}

impl From<Rejection> for Failure {
    fn from(rejection: Rejection) -> Self {
        Self::Refused(rejection)
    }
}

/// Why a call was not admitted, if it was not.
pub fn why<T>(answer: &Result<T, Failure>) -> Option<RejectionKind> {
    match answer {
        Err(Failure::Refused(rejection)) => Some(rejection.kind()),
        _ => None,
    }
}

/// How long a refused call is to wait, in seconds.
pub fn wait<T>(answer: &Result<T, Failure>) -> Option<u64> {
    match answer {
        Err(Failure::Refused(rejection)) => rejection.retry_after().map(|wait| wait.as_secs()),
        _ => None,
    }
}

/// How many of `calls` were admitted.
pub async fn admitted<F: Future<Output = Result<T, Failure>>, T>(calls: usize, call: impl Fn() -> F) -> usize {
    let mut admitted = 0;
    for _ in 0..calls {
        admitted += usize::from(why(&call().await).is_none());
    }
    admitted
}
