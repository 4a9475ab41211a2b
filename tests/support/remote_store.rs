//! A store that is not there at once, and fails on command.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rate_limit::{Charge, Client, MemoryStore, Reply, Settlement, Store, StoreError, StoreErrorKind, Verdict};
use tokio::task::yield_now;

/// Decides like memory, after a while, as what is reached over a network does. Several limiters may share it.
#[derive(Clone, Debug)]
pub struct RemoteStore {
    memory: MemoryStore,
    failure: StoreErrorKind,
    fails: Arc<AtomicBool>,
}

impl RemoteStore {
    /// One that decides over this memory, and fails in this way.
    pub fn new(memory: MemoryStore, failure: StoreErrorKind) -> Self {
        Self {
            memory,
            failure,
            fails: Arc::default(),
        }
    }

    /// Fails from now on, or no more.
    pub fn fails(&self, fails: bool) {
        self.fails.store(fails, Ordering::SeqCst);
    }

    fn answer<T: Send + Unpin + 'static>(
        &self,
        ask: impl FnOnce(&MemoryStore) -> Reply<Result<T, StoreError>> + Send + 'static,
    ) -> Reply<Result<T, StoreError>> {
        let Self { memory, failure, fails } = self.clone();
        Reply::pending(async move {
            yield_now().await;
            match fails.load(Ordering::SeqCst) {
                true => Err(StoreError::new(failure, "it fails on command")),
                false => ask(&memory).await,
            }
        })
    }
}

impl Store for RemoteStore {
    fn acquire(&self, charges: &[Charge]) -> Reply<Result<Verdict, StoreError>> {
        let charges = charges.to_vec();
        self.answer(move |memory| memory.acquire(&charges))
    }

    fn peek(&self, charge: Charge) -> Reply<Result<Verdict, StoreError>> {
        self.answer(move |memory| memory.peek(charge))
    }

    fn settle(&self, settlements: &[Settlement]) -> Reply<Result<(), StoreError>> {
        let settlements = settlements.to_vec();
        self.answer(move |memory| memory.settle(&settlements))
    }

    fn forget(&self, client: Client) -> Reply<Result<u64, StoreError>> {
        self.answer(move |memory| memory.forget(client))
    }
}
