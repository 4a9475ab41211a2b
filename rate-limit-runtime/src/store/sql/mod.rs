//! Token buckets in a SQL database, also in the caller's transaction.

#[cfg_attr(
    not(any(feature = "sql-mysql", feature = "sql-postgres")),
    allow(dead_code, reason = "SQLite has no server")
)]
mod breaker;
mod builder;
mod connection;
#[cfg(feature = "sql-mysql")]
mod mysql;
#[cfg_attr(
    not(any(feature = "sql-mysql", feature = "sql-postgres")),
    allow(dead_code, reason = "SQLite has no server")
)]
mod pool;
#[cfg(feature = "sql-postgres")]
mod postgres;
mod retry;
mod row;
#[cfg(feature = "sql-sqlite")]
mod sqlite;
#[cfg_attr(
    not(any(feature = "sql-mysql", feature = "sql-postgres")),
    allow(dead_code, reason = "SQLite has no server")
)]
mod trouble;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use self::breaker::Breaker;
use self::builder::Pool;
pub use self::builder::SqlStoreBuilder;
pub use self::connection::{Driver, SqlConnection};
use self::pool::History;
use self::row::{Charged, Columns};
pub(super) use self::stored::Paging;
use self::trouble::Trouble;
use super::background::Background;
use super::verdict::{Decided, combine};
use super::{Charge, Reply, Settlement, Store};
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
/// A connection of the pool that has been idle for a second is tested before it is used, and replaced if it has ended: the call is decided. A call without an answer from the database within the
/// [deadline](SqlStoreBuilder::deadline) opens a breaker, if the database does not answer on a new connection either: later calls fail
/// at once, until it answers in the background. A pool that is used up and a row that is held by another transaction do not open it.
///
/// The store works on the Tokio runtime of the first caller, and on a thread of its own once a second runtime uses it. A connection
/// of the pool ends with the runtime that opened it, so take no connections of this pool in a runtime that ends before the others.
///
/// ```no_run
/// # #[cfg(feature = "sql-postgres")] {
/// use rate_limit_runtime::{Limiter, SqlStore};
/// use sqlx::postgres::PgPoolOptions;
///
/// # async fn start() -> Result<(), Box<dyn std::error::Error>> {
/// // A connection that is tested whenever it is taken costs a round trip more. The store tests those that were idle.
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
    background: Arc<Background>,
    history: Arc<History>,
    /// None for a database without a server.
    breaker: Option<Arc<Breaker>>,
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

/// Decides a call on whichever database it is, by attempts that own what they need.
macro_rules! decide {
    ($call:expr, |$database:ident, $wait:ident| $attempt:expr) => {{
        let call = $call;
        match &call.store.0.database {
            #[cfg(feature = "sql-postgres")]
            Database::Postgres(database) => decide!(call, database, |$database, $wait| $attempt),
            #[cfg(feature = "sql-mysql")]
            Database::MySql(database) => decide!(call, database, |$database, $wait| $attempt),
            #[cfg(feature = "sql-sqlite")]
            Database::Sqlite(database) => decide!(call, database, |$database, $wait| $attempt),
        }
    }};
    ($call:ident, $owned:ident, |$database:ident, $wait:ident| $attempt:expr) => {
        $call
            .decide(|$wait| {
                let $database = Arc::clone($owned);
                $attempt
            })
            .await
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
        decide!(self.housekeeping(), |database, wait| async move {
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
            let batch = decide!(self.housekeeping(), |database, wait| async move {
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

    /// Notes the runtime of a caller.
    fn enter(&self) -> Result<(), StoreError> {
        if self.0.background.enter("SQL")? {
            self.0.history.disown();
        }
        Ok(())
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
        self.enter()?;
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
            charges.iter().try_for_each(|charge| accepts(charge.policy))?;
            let charged = decide!(store.call(), |database, wait| {
                let charges = Arc::clone(&charges);
                async move { database.acquire(&charges, wait).await }
            })?;
            Ok(verdict(&charges, &charged))
        })
    }

    fn peek(&self, charge: Charge) -> Reply<Result<Verdict, StoreError>> {
        let store = self.clone();
        Reply::pending(async move {
            accepts(charge.policy)?;
            let charged = decide!(store.call(), |database, wait| async move {
                database.peek(&charge, wait).await
            })?;
            Ok(verdict(&[charge], &[charged]))
        })
    }

    fn settle(&self, settlements: &[Settlement]) -> Reply<Result<(), StoreError>> {
        if let Err(error) = self.enter() {
            return Reply::ready(Err(error));
        }
        let (store, settlements) = (self.clone(), settlements.to_vec());
        let settled = self.0.background.finish(async move {
            for settlement in settlements {
                decide!(store.call(), |database, wait| async move {
                    database.settle(&settlement, wait).await
                })?;
            }
            Ok(())
        });
        Reply::pending(async move { settled.await? })
    }

    fn forget(&self, client: Client) -> Reply<Result<u64, StoreError>> {
        let store = self.clone();
        Reply::pending(async move {
            decide!(store.call(), |database, wait| async move {
                database.forget_apart(client, wait).await
            })
        })
    }

    fn drain(&self) -> Reply<()> {
        let background = Arc::clone(&self.0.background);
        Reply::pending(async move { background.drain().await })
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
