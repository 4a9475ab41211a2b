//! Sees whether a call was decided by the store.

use std::cell::Cell;

use rate_limit::{Charge, Key, Policy, RedisStore, Reply, Settlement, Store, StoreError, Verdict};

tokio::task_local! {
    static UNANSWERED: Cell<bool>;
}

/// The store, and what it did for each call.
#[derive(Debug)]
pub(super) struct Witness(pub(super) RedisStore);

impl Witness {
    /// The answer of the call, and whether the store gave none.
    pub(super) async fn sees<T>(call: impl Future<Output = T>) -> (T, bool) {
        let call = async {
            let answer = call.await;
            (answer, UNANSWERED.with(Cell::get))
        };
        UNANSWERED.scope(Cell::new(false), call).await
    }
}

impl Store for Witness {
    fn acquire(&self, charges: &[Charge]) -> Reply<Result<Verdict, StoreError>> {
        let answer = self.0.acquire(charges);
        Reply::pending(async move {
            let answer = answer.await;
            UNANSWERED.with(|unanswered| unanswered.set(answer.is_err()));
            answer
        })
    }

    fn peek(&self, charge: Charge) -> Reply<Result<Verdict, StoreError>> {
        self.0.peek(charge)
    }

    fn inspect(&self, key: Key, policy: Policy) -> Reply<Result<Vec<u64>, StoreError>> {
        self.0.inspect(key, policy)
    }

    fn settle(&self, settlements: &[Settlement]) -> Reply<Result<(), StoreError>> {
        self.0.settle(settlements)
    }
}
