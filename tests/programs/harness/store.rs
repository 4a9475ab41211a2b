//! A store that is waited for, as one outside of the process is, and notes when a call is settled.

use rate_limit::{Charge, MemoryStore, Reply, Settlement, Store, StoreError, Verdict};

use tokio::task::yield_now;

use super::record::note;

/// The event of a settlement.
pub const SETTLED: &str = "settled";

#[derive(Debug)]
pub struct NotingStore(pub MemoryStore);

impl Store for NotingStore {
    fn acquire(&self, charges: &[Charge]) -> Reply<Result<Verdict, StoreError>> {
        let answer = self.0.acquire(charges);
        Reply::pending(async move {
            yield_now().await;
            answer.await
        })
    }

    fn peek(&self, charge: Charge) -> Reply<Result<Verdict, StoreError>> {
        self.0.peek(charge)
    }

    fn settle(&self, settlements: &[Settlement]) -> Reply<Result<(), StoreError>> {
        let answer = self.0.settle(settlements);
        Reply::pending(async move {
            yield_now().await;
            note(SETTLED);
            answer.await
        })
    }
}
