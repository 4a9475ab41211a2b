//! A store that notes when a call is settled.

use rate_limit::{Charge, MemoryStore, Reply, Settlement, Store, StoreError, Verdict};

use super::record::note;

/// The event of a settlement.
pub const SETTLED: &str = "settled";

#[derive(Debug)]
pub struct NotingStore(pub MemoryStore);

impl Store for NotingStore {
    fn acquire(&self, charges: &[Charge]) -> Reply<Result<Verdict, StoreError>> {
        self.0.acquire(charges)
    }

    fn peek(&self, charge: Charge) -> Reply<Result<Verdict, StoreError>> {
        self.0.peek(charge)
    }

    fn settle(&self, settlements: &[Settlement]) -> Reply<Result<(), StoreError>> {
        note(SETTLED);
        self.0.settle(settlements)
    }
}
