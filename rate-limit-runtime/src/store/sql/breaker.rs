//! Keeps calls from a database that does not answer.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use sqlx::{Connection as _, Database, Error, Executor, Pool, raw_sql};
use tokio::time::{Instant, sleep, timeout};

use crate::error::{StoreError, StoreErrorKind};
use crate::observe;
use crate::store::background::Background;
use crate::store::runtime::{ATTEMPT, FIRST_PAUSE, LONGEST_PAUSE, jittered};

/// Opens after a call without an answer, and closes with the next answer that the database gives in the background.
///
/// One call is not enough: its row may be held by another transaction, and a database may have no way to say so. So the database is
/// asked on a connection of the breaker's own while the call still waits, and if it answers that, the breaker stays closed.
pub(super) struct Breaker {
    state: Mutex<State>,
    background: Arc<Background>,
    question: Question,
}

#[derive(Debug, Default)]
struct State {
    open: bool,
    /// Whether a task asks in the background.
    asking: bool,
    /// When the database last answered anything.
    answered: Option<Instant>,
}

/// Asks the database something. Returns whether it answers.
type Question = Box<dyn Fn() -> Pin<Box<dyn Future<Output = bool> + Send>> + Send + Sync>;

impl Breaker {
    pub(super) fn new<DB: Database>(pool: &Pool<DB>, background: &Arc<Background>) -> Arc<Self>
    where
        for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
    {
        let pool = pool.clone();
        Arc::new(Self {
            state: Mutex::default(),
            background: Arc::clone(background),
            question: Box::new(move || Box::pin(answers(pool.clone()))),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a call pass.
    ///
    /// # Errors
    ///
    /// [`StoreError`] of the kind `Unavailable` while the breaker is open.
    pub(super) fn pass(self: &Arc<Self>) -> Result<(), StoreError> {
        if !self.state().open {
            return Ok(());
        }
        // The runtime that asked may have ended.
        self.ask();
        Err(StoreError::new(
            StoreErrorKind::Unavailable,
            "the database did not answer in time, and is not asked again until it answers in the background",
        ))
    }

    /// Notes that the database has answered.
    pub(super) fn answered(&self) {
        let mut state = self.state();
        state.answered = Some(Instant::now());
        if std::mem::take(&mut state.open) {
            observe::breaker(false);
        }
    }

    /// Asks the database in the background, if a call that began at `since` waits and nothing was answered meanwhile.
    pub(super) fn doubt(self: &Arc<Self>, since: Instant) {
        if self.state().is_silent(since) {
            self.ask();
        }
    }

    /// Opens after a call that began at `since` and had no answer, unless another question was answered meanwhile.
    pub(super) fn unanswered(self: &Arc<Self>, since: Instant) {
        let mut state = self.state();
        if !state.is_silent(since) {
            return;
        }
        if !std::mem::replace(&mut state.open, true) {
            observe::breaker(true);
        }
        drop(state);
        self.ask();
    }

    /// Starts to ask in the background, unless that is under way.
    fn ask(self: &Arc<Self>) {
        if !std::mem::replace(&mut self.state().asking, true) {
            self.background.spawn(keep_asking(Asking(Arc::downgrade(self))));
        }
    }
}

impl State {
    fn is_silent(&self, since: Instant) -> bool {
        self.answered.is_none_or(|answered| answered < since)
    }
}

impl Drop for Breaker {
    fn drop(&mut self) {
        if self.state().open {
            observe::breaker(false);
        }
    }
}

impl fmt::Debug for Breaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Breaker")
            .field("state", &*self.state())
            .finish_non_exhaustive()
    }
}

/// The right to ask, given back when dropped: also when the runtime that asks is shut down.
struct Asking(Weak<Breaker>);

impl Drop for Asking {
    fn drop(&mut self) {
        if let Some(breaker) = self.0.upgrade() {
            breaker.state().asking = false;
        }
    }
}

/// Asks until there is an answer, or nobody holds the breaker any more.
async fn keep_asking(asking: Asking) {
    let mut pause = FIRST_PAUSE;
    while let Some(breaker) = asking.0.upgrade() {
        let answer = (breaker.question)();
        drop(breaker);
        if matches!(timeout(ATTEMPT, answer).await, Ok(true)) {
            if let Some(breaker) = asking.0.upgrade() {
                breaker.answered();
            }
            return;
        }
        sleep(jittered(pause)).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Asks on a connection of its own, since those of the pool may be in use.
async fn answers<DB: Database>(pool: Pool<DB>) -> bool
where
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
{
    let asked = async {
        let mut connection = DB::Connection::connect_with(&pool.connect_options()).await?;
        raw_sql("SELECT 1").execute(&mut connection).await?;
        Ok(connection.close().await)
    };
    match asked.await {
        Ok(_closed) => true,
        // It answers, if not as it was asked to: it may have no room for another connection. These codes are of one that starts or stops.
        Err(Error::Database(error)) => !error.code().is_some_and(|code| code.starts_with("57P")),
        Err(_) => false,
    }
}
