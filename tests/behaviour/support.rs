//! What the themes share: a limiter whose clock stands, and a store that tells what it was asked.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use rate_limit::{
    Charge, Key, Limiter, ManualClock, MemoryStore, Rejection, Reply, Settlement, Store, StoreError, Verdict,
};

use crate::log;

/// A limiter on a clock of its own, and what its store was asked.
pub(crate) struct World {
    pub(crate) clock: ManualClock,
    pub(crate) limiter: Limiter,
    pub(crate) store: Recorder,
}

impl World {
    pub(crate) fn new() -> Self {
        log::install();
        let clock = ManualClock::new();
        let store = Recorder {
            memory: MemoryStore::builder().clock(&clock).build(),
            asked: Arc::default(),
        };
        let limiter = Limiter::builder()
            .store(store.clone())
            .build()
            .expect("no secret is set");
        Self { clock, limiter, store }
    }

    pub(crate) async fn run<F: Future>(&self, future: F) -> F::Output {
        self.limiter.scope(future).await
    }

    /// For what a test spawns.
    pub(crate) fn spawned<F>(&self, future: F) -> tokio::task::JoinHandle<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let limiter = self.limiter.clone();
        tokio::spawn(async move { limiter.scope(future).await })
    }

    /// How many calls were admitted.
    pub(crate) fn charges(&self) -> usize {
        self.store.count(|asked| matches!(asked, Asked::Admitted(_)))
    }

    /// How many calls were refused by the store.
    pub(crate) fn refusals(&self) -> usize {
        self.store.count(|asked| matches!(asked, Asked::Refused))
    }

    pub(crate) fn resets(&self) -> usize {
        self.store.count(|asked| matches!(asked, Asked::Reset))
    }

    /// The full names of the functions whose calls were admitted, in order.
    pub(crate) fn methods(&self) -> Vec<&'static str> {
        let asked = self.store.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let admitted = asked.iter().filter_map(|asked| match asked {
            Asked::Admitted(key) => Some(key.method().name()),
            _ => None,
        });
        admitted.collect()
    }
}

#[derive(Clone, Copy, Debug)]
enum Asked {
    Admitted(Key),
    Refused,
    Reset,
}

#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    pub(crate) memory: MemoryStore,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Recorder {
    fn note(&self, asked: Asked) {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(asked);
    }

    fn count(&self, which: fn(&Asked) -> bool) -> usize {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.iter().filter(|asked| which(asked)).count()
    }
}

impl Store for Recorder {
    fn acquire(&self, charges: &[Charge]) -> Reply<Result<Verdict, StoreError>> {
        let mut reply = self.memory.acquire(charges);
        let Poll::Ready(verdict) = poll_once(&mut reply) else {
            unreachable!("the embedded store answers at once");
        };
        self.note(match verdict {
            Ok(Verdict::Allowed { .. }) => Asked::Admitted(charges[0].key),
            _ => Asked::Refused,
        });
        Reply::ready(verdict)
    }

    fn peek(&self, charge: Charge) -> Reply<Result<Verdict, StoreError>> {
        self.memory.peek(charge)
    }

    fn settle(&self, settlements: &[Settlement]) -> Reply<Result<(), StoreError>> {
        self.note(Asked::Reset);
        self.memory.settle(settlements)
    }
}

/// How the functions under test fail.
#[derive(Debug, PartialEq)]
pub(crate) enum Failure {
    Refused(Rejection),
    Own(&'static str),
}

impl From<Rejection> for Failure {
    fn from(rejection: Rejection) -> Self {
        Self::Refused(rejection)
    }
}

/// Whether the limit, and nothing else, stopped the call.
pub(crate) fn refused<T>(answer: &Result<T, Failure>) -> bool {
    matches!(answer, Err(Failure::Refused(rejection)) if rejection.is_limited())
}

pub(crate) fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// Polls a future until it first waits, and drops it there.
pub(crate) fn abandon<F: Future>(future: F) {
    let mut future = Box::pin(future);
    assert!(poll_once(&mut future).is_pending(), "there was nothing to wait for");
}
