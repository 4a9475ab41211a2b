//! Resets that fail or are never waited for, and stores that answer late.

use std::sync::Arc;

use rate_limit::{
    Charge, Limiter, MemoryStore, Rejection, Reply, Settlement, Store, StoreError, StoreErrorKind, Verdict,
    limit_per_time,
};
use tokio::sync::Semaphore;

use crate::support::abandon;

/// Charges well and cannot reset.
#[derive(Debug)]
struct Unresettable(MemoryStore);

impl Store for Unresettable {
    fn acquire(&self, charges: &[Charge]) -> Reply<Result<Verdict, StoreError>> {
        self.0.acquire(charges)
    }

    fn peek(&self, charge: Charge) -> Reply<Result<Verdict, StoreError>> {
        self.0.peek(charge)
    }

    fn settle(&self, _: &[Settlement]) -> Reply<Result<(), StoreError>> {
        Reply::ready(Err(StoreError::new(StoreErrorKind::Timeout, "no answer")))
    }
}

#[limit_per_time(5, "1m", key = "k", on_store_error = closed, reset_on_success)]
async fn unsettled() -> Result<(), Rejection> {
    Ok(())
}

#[tokio::test]
async fn rst_07_a_reset_that_fails_changes_no_answer_and_is_counted() {
    let limiter = Limiter::builder()
        .store(Unresettable(MemoryStore::new()))
        .build()
        .expect("no secret is set");
    for _ in 0..5 {
        assert_eq!(limiter.scope(unsettled()).await, Ok(()));
    }
    let refused = limiter.scope(unsettled()).await;
    assert!(refused.is_err_and(|rejection| rejection.is_limited()));
    assert_eq!(limiter.unsettled(), 5);
}

/// Answers once the test says so.
#[derive(Clone, Debug)]
struct Gated {
    memory: MemoryStore,
    charge: Arc<Semaphore>,
    reset: Arc<Semaphore>,
}

impl Store for Gated {
    fn acquire(&self, charges: &[Charge]) -> Reply<Result<Verdict, StoreError>> {
        let Self {
            memory, charge: gate, ..
        } = self.clone();
        let charges = charges.to_vec();
        Reply::pending(async move {
            gate.acquire().await.expect("the gate is never closed").forget();
            memory.acquire(&charges).await
        })
    }

    fn peek(&self, charge: Charge) -> Reply<Result<Verdict, StoreError>> {
        self.memory.peek(charge)
    }

    fn settle(&self, settlements: &[Settlement]) -> Reply<Result<(), StoreError>> {
        let Self {
            memory, reset: gate, ..
        } = self.clone();
        let settlements = settlements.to_vec();
        Reply::pending(async move {
            gate.acquire().await.expect("the gate is never closed").forget();
            memory.settle(&settlements).await
        })
    }
}

#[limit_per_time(1, "1m", key = "k", name = "gated", reset_on_success)]
async fn gated() -> Result<(), Rejection> {
    Ok(())
}

#[tokio::test]
async fn rst_08_dropped_while_the_store_is_asked_or_told() {
    let store = Gated {
        memory: MemoryStore::new(),
        charge: Arc::new(Semaphore::new(0)),
        reset: Arc::new(Semaphore::new(0)),
    };
    let limiter = Limiter::builder()
        .store(store.clone())
        .build()
        .expect("no secret is set");
    limiter.scope(async { abandon(gated()) }).await;
    assert_eq!(
        store.memory.len(),
        0,
        "dropped while the store is asked: this one did nothing yet"
    );
    store.charge.add_permits(2);
    limiter.scope(async { abandon(gated()) }).await;
    assert_eq!(
        (store.memory.len(), store.charge.available_permits()),
        (1, 1),
        "dropped during the reset"
    );
    let refused = limiter.scope(gated()).await;
    assert!(
        refused.is_err_and(|rejection| rejection.is_limited()),
        "the charge stays, once"
    );
    assert_eq!(limiter.unsettled(), 0);
}
