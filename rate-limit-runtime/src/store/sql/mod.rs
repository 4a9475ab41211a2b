//! Token buckets in a SQL database, also in the caller's transaction.

mod connection;
#[cfg(feature = "sql-mysql")]
mod mysql;
#[cfg(feature = "sql-postgres")]
mod postgres;
mod row;
#[cfg(feature = "sql-sqlite")]
mod sqlite;
mod trouble;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

pub use self::connection::{Driver, SqlConnection};
use self::row::{Charged, Columns};
pub(super) use self::stored::Paging;
use self::trouble::{Trouble, decide};
use super::runtime::{MAX_DEADLINE, in_runtime};
use super::verdict::{Decided, combine};
use super::{Charge, Reply, Settlement, Store};
#[cfg(feature = "test-util")]
use crate::clock::ManualClock;
use crate::error::{StoreError, StoreErrorKind};
use crate::key::Client;
use crate::policies::Policies;
use crate::policy::{Algorithm, Policy};
use crate::verdict::{Hits, Verdict};

/// Token buckets in PostgreSQL, MySQL or MariaDB, or SQLite, shared by all that use the database.
///
/// A bucket is a row of the table `rate_limit`, by the hashes of the client and of the function: when the bucket is full again, and the
/// refill that this was reckoned by, in microseconds of the database's clock. A decision is one atomic statement.
///
/// A second, small table has the names of the functions and their policies for tools, [written](Self::publish_methods) when the program
/// starts.
///
/// A function with `within = tx` takes its token in the transaction of its caller: both are kept, or neither is. All others are decided on
/// connections of the pool, each in a transaction of its own.
///
/// ```no_run
/// # #[cfg(feature = "sql-postgres")] {
/// use rate_limit_runtime::{Limiter, SqlStore};
/// use sqlx::postgres::PgPoolOptions;
///
/// # async fn start() -> Result<(), Box<dyn std::error::Error>> {
/// // A connection that is tested whenever it is taken costs a round trip more.
/// let pool = PgPoolOptions::new().test_before_acquire(false).connect("postgres://localhost/app").await?;
/// let store = SqlStore::postgres(pool).build();
/// store.create_table().await?;
/// rate_limit_runtime::install(Limiter::builder().store(store.clone()).build()?)?;
/// tokio::spawn(async move {
///     loop {
///         tokio::time::sleep(std::time::Duration::from_secs(3600)).await;
///         if let Err(error) = store.purge().await {
///             tracing::warn!(%error, "rows of full buckets stay for now");
///         }
///     }
/// });
/// # Ok(()) }
/// # }
/// ```
///
/// It keeps token buckets alone: a window, and a bucket with a block, needs the embedded store or Redis.
///
/// On MariaDB a statement that waits for a row is ended by the server at the [deadline](SqlStoreBuilder::deadline), on PostgreSQL and
/// SQLite its wait is. MySQL has no such limit below a second: there the call is decided in time, and its statement may hold the
/// connection until `innodb_lock_wait_timeout`. Each take changes what `LAST_INSERT_ID()` says on the connection, on both.
#[derive(Clone)]
pub struct SqlStore(Arc<Inner>);

struct Inner {
    database: Database,
    deadline: Duration,
    lateness: Duration,
}

#[derive(Clone, Debug)]
enum Database {
    #[cfg(feature = "sql-postgres")]
    Postgres(Arc<postgres::Postgres>),
    #[cfg(feature = "sql-mysql")]
    MySql(Arc<mysql::MySql>),
    #[cfg(feature = "sql-sqlite")]
    Sqlite(Arc<sqlite::Sqlite>),
}

/// What became of a batch of rows to delete.
#[derive(Debug)]
struct Batch {
    deleted: u64,
    /// The last of them, if there may be more behind it.
    last: Option<Columns>,
}

impl Batch {
    fn new(deleted: u64, of: &[Columns]) -> Self {
        let full = of.len() >= MAX_BATCH as usize;
        Self {
            deleted,
            last: of.iter().max().copied().filter(|_| full),
        }
    }
}

/// How many rows are deleted at once.
const MAX_BATCH: u32 = 500;
/// How long a batch of them, or the creation of the table, may take.
const HOUSEKEEPING: Duration = Duration::from_secs(30);

/// Decides on whichever database it is, by attempts that own what they need.
macro_rules! decide {
    ($store:expr, $deadline:expr, |$database:ident, $wait:ident| $attempt:expr) => {
        match &$store.0.database {
            #[cfg(feature = "sql-postgres")]
            Database::Postgres(database) => {
                decide($deadline, |$wait| {
                    let $database = Arc::clone(database);
                    $attempt
                })
                .await
            }
            #[cfg(feature = "sql-mysql")]
            Database::MySql(database) => {
                decide($deadline, |$wait| {
                    let $database = Arc::clone(database);
                    $attempt
                })
                .await
            }
            #[cfg(feature = "sql-sqlite")]
            Database::Sqlite(database) => {
                decide($deadline, |$wait| {
                    let $database = Arc::clone(database);
                    $attempt
                })
                .await
            }
        }
    };
}

// Behind the macro, which it uses.
mod stored;

impl SqlStore {
    /// A store in PostgreSQL, on connections of this pool.
    #[cfg(feature = "sql-postgres")]
    pub fn postgres(pool: sqlx::PgPool) -> SqlStoreBuilder {
        SqlStoreBuilder::new(Pool::Postgres(pool))
    }

    /// A store in MySQL or MariaDB, on connections of this pool.
    #[cfg(feature = "sql-mysql")]
    pub fn mysql(pool: sqlx::MySqlPool) -> SqlStoreBuilder {
        SqlStoreBuilder::new(Pool::MySql(pool))
    }

    /// A store in SQLite, on connections of this pool, of which it uses one at a time.
    ///
    /// SQLite has one writer. A transaction that reads before it takes a token begins with `BEGIN IMMEDIATE`, or it fails where another
    /// one wrote meanwhile. Its clock goes in steps of a millisecond.
    #[cfg(feature = "sql-sqlite")]
    pub fn sqlite(pool: sqlx::SqlitePool) -> SqlStoreBuilder {
        SqlStoreBuilder::new(Pool::Sqlite(pool))
    }

    /// The SQL that creates the tables, unless they are there: for migrations of your own. [`create_table`](Self::create_table) runs it.
    #[must_use]
    pub fn schema(&self) -> &'static str {
        match self.0.database {
            #[cfg(feature = "sql-postgres")]
            Database::Postgres(_) => postgres::SCHEMA,
            #[cfg(feature = "sql-mysql")]
            Database::MySql(_) => mysql::SCHEMA,
            #[cfg(feature = "sql-sqlite")]
            Database::Sqlite(_) => sqlite::SCHEMA,
        }
    }

    /// Creates the table `rate_limit`, and for tools a small one of the names of functions, `rate_limit_methods`, unless they are there. Writes
    /// [its own](Self::publish_methods) into that. Any number of processes may do so at once.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the database cannot be reached, or refuses.
    pub async fn create_table(&self) -> Result<(), StoreError> {
        decide!(self, HOUSEKEEPING, |database, wait| async move {
            database.create_table(wait).await
        })?;
        self.publish_methods(&Policies::new()).await
    }

    /// Deletes the rows of buckets that have been full for longer than the [lateness](SqlStoreBuilder::lateness), and tells how many: run
    /// it each hour or so. It goes through the table in the order of its key, a batch of 500 at a time, each in a transaction of its own,
    /// and waits for no take.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the database does not go on. What was deleted stays so.
    pub async fn purge(&self) -> Result<u64, StoreError> {
        // The builder has seen to it that it fits.
        let kept = self.0.lateness.as_micros() as i64;
        let (mut purged, mut after) = (0, Some(Columns::BEFORE_ALL));
        while let Some(last) = after {
            let batch = decide!(self, HOUSEKEEPING, |database, wait| async move {
                database.purge(kept, &last, wait).await
            })?;
            purged += batch.deleted;
            after = batch.last;
        }
        Ok(purged)
    }

    /// As [`forget`](Store::forget), in the caller's transaction: with the one that deletes the member.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the database does not answer; of the kind [`Aborted`](StoreErrorKind::Aborted) if the transaction is to be run
    /// again.
    pub async fn forget_within(&self, connection: &mut impl SqlConnection, client: Client) -> Result<u64, StoreError> {
        let forgotten = match connection.driver() {
            #[cfg(feature = "sql-postgres")]
            Driver::Postgres(connection) => postgres::Postgres::forget(connection, client).await,
            #[cfg(feature = "sql-mysql")]
            Driver::MySql(connection) => mysql::MySql::forget(connection, client).await,
            #[cfg(feature = "sql-sqlite")]
            Driver::Sqlite(connection) => sqlite::Sqlite::forget(connection, client).await,
        };
        forgotten.map_err(Trouble::in_transaction)
    }

    /// Takes in the caller's transaction. In a box, or the future of each limited function would have all this in it.
    pub(crate) fn acquire_within<'a>(
        &'a self,
        connection: Driver<'a>,
        charge: Charge,
    ) -> Pin<Box<dyn Future<Output = Result<Verdict, StoreError>> + Send + 'a>> {
        Box::pin(self.take_within(connection, charge))
    }

    async fn take_within(&self, connection: Driver<'_>, charge: Charge) -> Result<Verdict, StoreError> {
        accepts(charge.policy)?;
        let charge = &charge;
        let charged = match (&self.0.database, connection) {
            #[cfg(feature = "sql-postgres")]
            (Database::Postgres(database), Driver::Postgres(connection)) => {
                database.charge_within(connection, charge, self.0.deadline).await
            }
            #[cfg(feature = "sql-mysql")]
            (Database::MySql(database), Driver::MySql(connection)) => database.charge_within(connection, charge).await,
            #[cfg(feature = "sql-sqlite")]
            (Database::Sqlite(database), Driver::Sqlite(connection)) => {
                database.charge_within(connection, charge, self.0.deadline).await
            }
            #[allow(unreachable_patterns, reason = "with one database there is nothing to mix up")]
            _ => {
                return Err(StoreError::new(
                    StoreErrorKind::Misconfigured,
                    "the transaction is of another database than the store",
                ));
            }
        };
        let charged = charged.map_err(Trouble::in_transaction)?;
        Ok(verdict(std::slice::from_ref(charge), &[charged]))
    }
}

/// Why a policy cannot be kept here.
fn accepts(policy: Policy) -> Result<(), StoreError> {
    let refuse = |what| {
        Err(StoreError::new(
            StoreErrorKind::Misconfigured,
            format!(
                "a SQL database keeps token buckets alone, and no {what}: take `RedisStore` or `MemoryStore` for it, or a bucket"
            ),
        ))
    };
    match policy.algorithm() {
        Algorithm::TokenBucket if policy.block_span() > 0 => refuse("block"),
        Algorithm::TokenBucket => Ok(()),
        Algorithm::SlidingWindow | Algorithm::FixedWindow => refuse("window"),
    }
}

/// One verdict from what became of each charge.
fn verdict(charges: &[Charge], charged: &[Charged]) -> Verdict {
    let decided: Vec<Decided> = charges
        .iter()
        .zip(charged)
        .map(|(charge, charged)| charged.decided(charge))
        .collect();
    let mut verdict = combine(&decided);
    if let Verdict::Allowed { hits, .. } = &mut verdict {
        *hits = charged.iter().map(|charged| charged.hit).collect::<Hits>();
    }
    verdict
}

impl Store for SqlStore {
    fn accepts(&self, policy: Policy) -> Result<(), StoreError> {
        accepts(policy)
    }

    fn acquire(&self, charges: &[Charge]) -> Reply<Result<Verdict, StoreError>> {
        let (store, charges): (_, Arc<[Charge]>) = (self.clone(), charges.into());
        Reply::pending(async move {
            in_runtime("SQL")?;
            charges.iter().try_for_each(|charge| accepts(charge.policy))?;
            let charged = decide!(store, store.0.deadline, |database, wait| {
                let charges = Arc::clone(&charges);
                async move { database.acquire(&charges, wait).await }
            })?;
            Ok(verdict(&charges, &charged))
        })
    }

    fn peek(&self, charge: Charge) -> Reply<Result<Verdict, StoreError>> {
        let store = self.clone();
        Reply::pending(async move {
            in_runtime("SQL")?;
            accepts(charge.policy)?;
            let charged = decide!(store, store.0.deadline, |database, wait| async move {
                database.peek(&charge, wait).await
            })?;
            Ok(verdict(&[charge], &[charged]))
        })
    }

    fn settle(&self, settlements: &[Settlement]) -> Reply<Result<(), StoreError>> {
        let (store, settlements) = (self.clone(), settlements.to_vec());
        Reply::pending(async move {
            in_runtime("SQL")?;
            for settlement in settlements {
                decide!(store, store.0.deadline, |database, wait| async move {
                    database.settle(&settlement, wait).await
                })?;
            }
            Ok(())
        })
    }

    fn forget(&self, client: Client) -> Reply<Result<u64, StoreError>> {
        let store = self.clone();
        Reply::pending(async move {
            in_runtime("SQL")?;
            decide!(store, store.0.deadline, |database, wait| async move {
                database.forget_apart(client, wait).await
            })
        })
    }
}

impl fmt::Debug for SqlStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqlStore")
            .field("database", &self.0.database.name())
            .field("deadline", &self.0.deadline)
            .finish_non_exhaustive()
    }
}

impl Database {
    const fn name(&self) -> &'static str {
        match self {
            #[cfg(feature = "sql-postgres")]
            Self::Postgres(_) => "PostgreSQL",
            #[cfg(feature = "sql-mysql")]
            Self::MySql(_) => "MySQL",
            #[cfg(feature = "sql-sqlite")]
            Self::Sqlite(_) => "SQLite",
        }
    }
}

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
enum Pool {
    #[cfg(feature = "sql-postgres")]
    Postgres(sqlx::PgPool),
    #[cfg(feature = "sql-mysql")]
    MySql(sqlx::MySqlPool),
    #[cfg(feature = "sql-sqlite")]
    Sqlite(sqlx::SqlitePool),
}

/// The clock that a test turns, if it turns one.
#[derive(Clone, Debug, Default)]
struct TestClock(#[cfg(feature = "test-util")] Option<ManualClock>);

impl TestClock {
    /// Its time, as SQL.
    fn now(&self) -> Option<String> {
        #[cfg(feature = "test-util")]
        return self.0.as_ref().map(|clock| clock.now().to_string());
        #[cfg(not(feature = "test-util"))]
        None
    }
}

impl SqlStoreBuilder {
    const DEADLINE: Duration = Duration::from_millis(100);
    const LATENESS: Duration = Duration::from_secs(86_400);

    fn new(pool: Pool) -> Self {
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
        let database = match self.pool {
            #[cfg(feature = "sql-postgres")]
            Pool::Postgres(pool) => Database::Postgres(Arc::new(postgres::Postgres::new(pool, self.clock))),
            #[cfg(feature = "sql-mysql")]
            Pool::MySql(pool) => Database::MySql(Arc::new(mysql::MySql::new(pool, self.clock, self.deadline))),
            #[cfg(feature = "sql-sqlite")]
            Pool::Sqlite(pool) => Database::Sqlite(Arc::new(sqlite::Sqlite::new(pool, self.clock))),
        };
        SqlStore(Arc::new(Inner {
            database,
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
