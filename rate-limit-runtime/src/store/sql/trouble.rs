//! What can go wrong with one statement, and what that proves.

use sqlx::error::DatabaseError;

use crate::error::{StoreError, StoreErrorKind};

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
    /// The connection has ended, or none could be made.
    Lost(StoreError),
    /// A connection was being made, or tested, and there was no answer in time.
    Unconnected(StoreError),
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
            None if matches!(error, sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed) => {
                Self::Failed(unreachable(error))
            }
            Some(Code::Down) | None => Self::Lost(unreachable(error)),
        }
    }

    /// The error of a call in the caller's transaction, which is not asked again.
    pub(super) fn in_transaction(self) -> StoreError {
        match self {
            Self::LostRace => aborted(),
            Self::Undone(error) => aborted().with_source(error),
            Self::Held(error) => held(error),
            Self::NoTable(error) => no_table(error),
            Self::Lost(error) | Self::Unconnected(error) | Self::Failed(error) => error,
        }
    }
}

fn aborted() -> StoreError {
    StoreError::new(
        StoreErrorKind::Aborted,
        "the transaction met another one and cannot go on: roll it back, and run it again from its start",
    )
}

pub(super) fn held(error: sqlx::Error) -> StoreError {
    let message = "another transaction held the row for longer than the deadline";
    StoreError::new(StoreErrorKind::Unavailable, message).with_source(error)
}

pub(super) fn no_table(error: sqlx::Error) -> StoreError {
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

pub(super) fn unconnected() -> StoreError {
    StoreError::new(
        StoreErrorKind::Unavailable,
        "the database accepted no connection in time",
    )
}
