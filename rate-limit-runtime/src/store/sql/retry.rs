//! Asks a database until it has decided.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::breaker::Breaker;
use super::trouble::{Trouble, held, no_table};
use super::{HOUSEKEEPING, SqlStore};
use crate::error::{StoreError, StoreErrorKind};
use crate::store::runtime::random;

const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// A call of a store: how long it may take, and which breaker it goes by.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) store: &'a SqlStore,
    deadline: Duration,
    breaker: Option<&'a Arc<Breaker>>,
}

impl SqlStore {
    /// Returns a call that the limiter waits for.
    pub(super) fn call(&self) -> Call<'_> {
        Call {
            store: self,
            deadline: self.0.deadline,
            breaker: self.0.breaker.as_ref(),
        }
    }

    /// Returns a call for what is done once in a while. It may wait for a database that does not answer now.
    pub(super) const fn housekeeping(&self) -> Call<'_> {
        Call {
            store: self,
            deadline: HOUSEKEEPING,
            breaker: None,
        }
    }
}

impl Call<'_> {
    /// Asks until it is decided or the deadline is over, with growing and random waits between. Each attempt is told how long it may
    /// wait for a lock: a bit less than is left, so that the database ends it first.
    pub(super) async fn decide<T, F>(&self, mut attempt: impl FnMut(Duration) -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, Trouble>> + Send + 'static,
        T: Send + 'static,
    {
        self.store.enter()?;
        if let Some(breaker) = self.breaker {
            breaker.pass()?;
        }
        let end = Instant::now() + self.deadline;
        let mut longest = FIRST_PAUSE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let last = match self.ask(attempt(left - left / 8), end).await? {
                Ok(decided) => return Ok(decided),
                Err(Trouble::LostRace) => None,
                Err(Trouble::Undone(error)) => Some(error),
                Err(Trouble::Held(error)) => return Err(held(error)),
                Err(Trouble::NoTable(error)) => return Err(no_table(error)),
                Err(Trouble::Failed(error) | Trouble::Lost(error) | Trouble::Unconnected(error)) => return Err(error),
            };
            let wait = longest.mul_f64(random());
            if Instant::now() + wait >= end {
                let message = "other transactions were in the way until the deadline";
                let error = StoreError::new(StoreErrorKind::Unavailable, message);
                return Err(match last {
                    Some(source) => error.with_source(source),
                    None => error,
                });
            }
            sleep(wait).await;
            longest = (longest * 2).min(LONGEST_PAUSE);
        }
    }

    /// Makes one attempt, as a task of its own: dropping a future does not stop a statement, and the connection is given back as it
    /// was once that has ended.
    async fn ask<T: Send + 'static>(
        &self,
        attempt: impl Future<Output = Result<T, Trouble>> + Send + 'static,
        end: Instant,
    ) -> Result<Result<T, Trouble>, StoreError> {
        let (start, longest) = (Instant::now(), self.deadline.max(HOUSEKEEPING));
        // The timer belongs to the runtime in which it is made, and the caller's may end.
        let attempt = async move { timeout(longest, attempt).await };
        let mut task = pin!(self.store.0.background.finish(attempt));
        let half = start + end.saturating_duration_since(start) / 2;
        let answer = match timeout_at(half, &mut task).await {
            Ok(answer) => Ok(answer),
            Err(_) => {
                if let Some(breaker) = self.breaker {
                    breaker.doubt(start);
                }
                timeout_at(end, task).await
            }
        };
        match answer {
            Ok(answer) => {
                if let Ok(Ok(answer)) = &answer {
                    self.heard(answer, start);
                }
                answer?.map_or_else(|_| Err(self.unanswered(start)), Ok)
            }
            Err(_) => Err(self.unanswered(start)),
        }
    }

    /// Learns from an answer how the database and its connections are.
    fn heard<T>(&self, answer: &Result<T, Trouble>, start: Instant) {
        match answer {
            Err(Trouble::Lost(_)) => self.store.0.history.forget(),
            Err(Trouble::Unconnected(_)) => {
                self.unanswered(start);
            }
            Err(Trouble::Failed(_)) => {}
            Ok(_) | Err(_) => {
                if let Some(breaker) = self.breaker {
                    breaker.answered();
                }
            }
        }
    }

    fn unanswered(&self, start: Instant) -> StoreError {
        self.store.0.history.forget();
        if let Some(breaker) = self.breaker {
            breaker.unanswered(start);
        }
        StoreError::new(StoreErrorKind::Timeout, "the database did not answer in time")
    }
}
