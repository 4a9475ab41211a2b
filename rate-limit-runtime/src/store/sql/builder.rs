//! How a store is set up.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

#[cfg(any(feature = "sql-mysql", feature = "sql-postgres"))]
use super::breaker::Breaker;
#[cfg(feature = "sql-mysql")]
use super::mysql;
#[cfg(any(feature = "sql-mysql", feature = "sql-postgres"))]
use super::pool::Connections;
use super::pool::History;
#[cfg(feature = "sql-postgres")]
use super::postgres;
#[cfg(feature = "sql-sqlite")]
use super::sqlite;
use super::{Database, Inner, SqlStore};
#[cfg(feature = "test-util")]
use crate::clock::ManualClock;
use crate::policy::Policy;
use crate::store::background::Background;
use crate::store::runtime::MAX_DEADLINE;

/// Sets up a [`SqlStore`].
#[derive(Clone)]
#[must_use]
pub struct SqlStoreBuilder {
    pool: Pool,
    deadline: Duration,
    lateness: Duration,
    clock: TestClock,
}

#[derive(Clone)]
pub(super) enum Pool {
    #[cfg(feature = "sql-postgres")]
    Postgres(sqlx::PgPool),
    #[cfg(feature = "sql-mysql")]
    MySql(sqlx::MySqlPool),
    #[cfg(feature = "sql-sqlite")]
    Sqlite(sqlx::SqlitePool),
}

/// The clock that a test turns, if it turns one.
#[derive(Clone, Debug, Default)]
pub(super) struct TestClock(#[cfg(feature = "test-util")] Option<ManualClock>);

impl TestClock {
    /// Its time, as SQL.
    pub(super) fn now(&self) -> Option<String> {
        #[cfg(feature = "test-util")]
        return self.0.as_ref().map(|clock| clock.now().to_string());
        #[cfg(not(feature = "test-util"))]
        None
    }
}

impl SqlStoreBuilder {
    const DEADLINE: Duration = Duration::from_millis(100);
    const LATENESS: Duration = Duration::from_secs(86_400);

    pub(super) fn new(pool: Pool) -> Self {
        Self {
            pool,
            deadline: Self::DEADLINE,
            lateness: Self::LATENESS,
            clock: TestClock::default(),
        }
    }

    /// How long a call may wait for the database before it counts as undecided, a free connection of the pool included; 100 ms by default,
    /// at least 1 ms, and at most a day.
    ///
    /// In the caller's transaction it is how long a take waits for another transaction that holds the row: make it as long as your
    /// transactions are, if one client may have several at once.
    pub fn deadline(self, deadline: Duration) -> Self {
        Self {
            deadline: deadline.clamp(Duration::from_millis(1), MAX_DEADLINE),
            ..self
        }
    }

    /// How long [`purge`](SqlStore::purge) leaves a bucket that is full, for events that come so late with their own time; 1 day by default,
    /// and at most 36,500 days.
    pub fn lateness(self, lateness: Duration) -> Self {
        Self {
            lateness: lateness.min(Policy::MAX_WINDOW),
            ..self
        }
    }

    /// Decides by a clock that the test turns, instead of the database's.
    #[cfg(feature = "test-util")]
    pub fn clock(self, clock: &ManualClock) -> Self {
        Self {
            clock: TestClock(Some(clock.clone())),
            ..self
        }
    }

    /// The store. It connects to nothing yet.
    #[must_use]
    pub fn build(self) -> SqlStore {
        let (background, history) = (Background::new(), Arc::<History>::default());
        let (database, breaker) = match self.pool {
            #[cfg(feature = "sql-postgres")]
            Pool::Postgres(pool) => {
                let breaker = Breaker::new(&pool, &background);
                let connections =
                    Connections::new(pool, Arc::clone(&history), Arc::clone(&background), postgres::DIALECT);
                let database = postgres::Postgres::new(connections, self.clock);
                (Database::Postgres(Arc::new(database)), Some(breaker))
            }
            #[cfg(feature = "sql-mysql")]
            Pool::MySql(pool) => {
                let breaker = Breaker::new(&pool, &background);
                let connections = Connections::new(pool, Arc::clone(&history), Arc::clone(&background), mysql::DIALECT);
                let database = mysql::MySql::new(connections, self.clock, self.deadline);
                (Database::MySql(Arc::new(database)), Some(breaker))
            }
            #[cfg(feature = "sql-sqlite")]
            Pool::Sqlite(pool) => (Database::Sqlite(Arc::new(sqlite::Sqlite::new(pool, self.clock))), None),
        };
        SqlStore(Arc::new(Inner {
            database,
            background,
            history,
            breaker,
            deadline: self.deadline,
            lateness: self.lateness,
        }))
    }
}

impl fmt::Debug for SqlStoreBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqlStoreBuilder")
            .field("deadline", &self.deadline)
            .field("lateness", &self.lateness)
            .finish_non_exhaustive()
    }
}
