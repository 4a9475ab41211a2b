//! What can go wrong with one statement, and whether to ask again.

use std::future::Future;
use std::time::Duration;

use sqlx::error::DatabaseError;
use sqlx::pool::PoolConnection;
use sqlx::{Database, Pool};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::error::{StoreError, StoreErrorKind};
use crate::store::runtime::random;

/// Why a statement did not decide.
#[derive(Debug)]
pub(super) enum Trouble {
    /// Another one was first, and nothing was kept: the statement is asked again, in the caller's transaction too.
    LostRace,
    /// The database takes back all that was done, and says so: a serialization failure, a deadlock, a busy file.
    Undone(sqlx::Error),
    /// Another transaction held the row for too long.
    Held(sqlx::Error),
    /// There is no such table.
    NoTable(sqlx::Error),
    /// The rest.
    Failed(StoreError),
}

/// What a database says by a code of its own.
pub(super) enum Code {
    Undone,
    Held,
    /// It is starting, stopping or full.
    Down,
    NoTable,
    /// A column of it is missing.
    OldTable,
    Refused,
    Other,
}

impl Trouble {
    pub(super) fn new(error: sqlx::Error, read: impl FnOnce(&dyn DatabaseError) -> Code) -> Self {
        match error.as_database_error().map(read) {
            Some(Code::Undone) => Self::Undone(error),
            Some(Code::Held) => Self::Held(error),
            Some(Code::NoTable) => Self::NoTable(error),
            Some(Code::OldTable) => Self::Failed(old_table(error)),
            Some(Code::Refused) => Self::Failed(
                StoreError::new(StoreErrorKind::Misconfigured, "the database refuses us").with_source(error),
            ),
            Some(Code::Other) => Self::Failed(
                StoreError::new(StoreErrorKind::Unexpected, "the database cannot decide").with_source(error),
            ),
            Some(Code::Down) | None => Self::Failed(unreachable(error)),
        }
    }

    /// The error of a call in the caller's transaction, which is not asked again.
    pub(super) fn in_transaction(self) -> StoreError {
        match self {
            Self::LostRace => aborted(),
            Self::Undone(error) => aborted().with_source(error),
            Self::Held(error) => held(error),
            Self::NoTable(error) => no_table(error),
            Self::Failed(error) => error,
        }
    }
}

fn aborted() -> StoreError {
    StoreError::new(
        StoreErrorKind::Aborted,
        "the transaction met another one and cannot go on: roll it back, and run it again from its start",
    )
}

fn held(error: sqlx::Error) -> StoreError {
    let message = "another transaction held the row for longer than the deadline";
    StoreError::new(StoreErrorKind::Unavailable, message).with_source(error)
}

fn no_table(error: sqlx::Error) -> StoreError {
    let message = "there is no table `rate_limit`: run `SqlStore::create_table`, or what `SqlStore::schema` prints";
    StoreError::new(StoreErrorKind::Misconfigured, message).with_source(error)
}

fn old_table(error: sqlx::Error) -> StoreError {
    let message = "the table `rate_limit` was created by an earlier version and lacks a column: drop it and run \
                   `SqlStore::create_table`; its counters begin anew";
    StoreError::new(StoreErrorKind::Misconfigured, message).with_source(error)
}

fn unreachable(error: sqlx::Error) -> StoreError {
    let message = match error {
        sqlx::Error::PoolTimedOut => "no connection of the pool became free in time",
        sqlx::Error::PoolClosed => "the pool is closed",
        _ => "the database cannot be reached",
    };
    let kind = match error {
        sqlx::Error::Configuration(_) => StoreErrorKind::Misconfigured,
        sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) => StoreErrorKind::Unexpected,
        _ => StoreErrorKind::Unavailable,
    };
    StoreError::new(kind, message).with_source(error)
}

/// A connection of the pool, as soon as one is free. That none is counts as an outage.
pub(super) async fn free<DB: Database>(
    pool: &Pool<DB>,
    wait: Duration,
    trouble: fn(sqlx::Error) -> Trouble,
) -> Result<PoolConnection<DB>, Trouble> {
    let connection = timeout(wait, pool.acquire()).await;
    connection.unwrap_or(Err(sqlx::Error::PoolTimedOut)).map_err(trouble)
}

/// How long to wait for a second connection while the caller holds one. If the pool is his, it may be that all who hold the others wait
/// for one here too; or that one is on its way back.
#[cfg(any(feature = "sql-mysql", feature = "sql-postgres"))]
pub(super) fn patience<DB: Database>(pool: &Pool<DB>, wait: Duration) -> Duration {
    let spare = pool.num_idle() > 0 || pool.size() < pool.options().get_max_connections();
    if spare {
        wait / 2
    } else {
        wait.min(Duration::from_millis(10))
    }
}

/// Asks until it is decided or the deadline is over, with growing and random waits between. Each attempt is told how long it may
/// wait for a lock: a bit less than is left, so that the database ends it first. It is a task of its own: dropping a future does not stop a
/// statement, and the connection is given back as it was once that has ended.
pub(super) async fn decide<T, F>(deadline: Duration, mut attempt: impl FnMut(Duration) -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, Trouble>> + Send + 'static,
    T: Send + 'static,
{
    let end = Instant::now() + deadline;
    let mut longest = Duration::from_millis(1);
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let last = match timeout_at(end, tokio::spawn(attempt(left - left / 8))).await {
            Ok(Ok(Ok(decided))) => return Ok(decided),
            Ok(Ok(Err(Trouble::LostRace))) => None,
            Ok(Ok(Err(Trouble::Undone(error)))) => Some(error),
            Ok(Ok(Err(Trouble::Held(error)))) => return Err(held(error)),
            Ok(Ok(Err(Trouble::NoTable(error)))) => return Err(no_table(error)),
            Ok(Ok(Err(Trouble::Failed(error)))) => return Err(error),
            Ok(Err(error)) => {
                let message = "the runtime ended while the database was asked";
                return Err(StoreError::new(StoreErrorKind::Unexpected, message).with_source(error));
            }
            Err(_) => {
                return Err(StoreError::new(
                    StoreErrorKind::Timeout,
                    "the database did not answer in time",
                ));
            }
        };
        let wait = longest.mul_f64(random());
        if Instant::now() + wait >= end {
            let error = StoreError::new(
                StoreErrorKind::Unavailable,
                "other transactions were in the way until the deadline",
            );
            return Err(match last {
                Some(source) => error.with_source(source),
                None => error,
            });
        }
        sleep(wait).await;
        longest = (longest * 2).min(Duration::from_millis(50));
    }
}
