//! The connections that a token can be taken on.

#[cfg(feature = "sql-mysql")]
use sqlx::mysql::MySqlConnection;
use sqlx::pool::PoolConnection;
#[cfg(feature = "sql-postgres")]
use sqlx::postgres::PgConnection;
#[cfg(feature = "sql-sqlite")]
use sqlx::sqlite::SqliteConnection;
use sqlx::{Database, Transaction};

/// What `within = ..` takes: a transaction of sqlx, or the connection that one was begun on, of a database whose feature is on.
///
/// A pool is none: it would take the token on a connection of its own, which keeps it whatever becomes of the transaction.
#[diagnostic::on_unimplemented(
    message = "a token cannot be taken within `{Self}`",
    label = "this is not a connection with an open transaction",
    note = "`within` is the transaction that the token commits or rolls back with: write `within = tx` with a `&mut Transaction<'_, DB>`, \
            or the connection that it was begun on, of a database whose feature is on; a pool has many connections"
)]
pub trait SqlConnection: sealed::Sealed + Send {
    #[doc(hidden)]
    fn driver(&mut self) -> Driver<'_>;
}

/// A connection of one database.
#[doc(hidden)]
#[derive(Debug)]
pub enum Driver<'a> {
    #[cfg(feature = "sql-postgres")]
    Postgres(&'a mut PgConnection),
    #[cfg(feature = "sql-mysql")]
    MySql(&'a mut MySqlConnection),
    #[cfg(feature = "sql-sqlite")]
    Sqlite(&'a mut SqliteConnection),
}

mod sealed {
    pub trait Sealed {}
}

/// A transaction is what it was begun on, whatever the database: also in code that is generic over it.
impl<DB: Database<Connection: SqlConnection>> sealed::Sealed for Transaction<'_, DB> {}

impl<DB: Database<Connection: SqlConnection>> SqlConnection for Transaction<'_, DB> {
    fn driver(&mut self) -> Driver<'_> {
        (**self).driver()
    }
}

impl<DB: Database<Connection: SqlConnection>> sealed::Sealed for PoolConnection<DB> {}

impl<DB: Database<Connection: SqlConnection>> SqlConnection for PoolConnection<DB> {
    fn driver(&mut self) -> Driver<'_> {
        (**self).driver()
    }
}

macro_rules! connection {
    ($feature:literal, $database:ident, $connection:ident) => {
        #[cfg(feature = $feature)]
        impl sealed::Sealed for $connection {}

        #[cfg(feature = $feature)]
        impl SqlConnection for $connection {
            fn driver(&mut self) -> Driver<'_> {
                Driver::$database(self)
            }
        }
    };
}

connection!("sql-postgres", Postgres, PgConnection);
connection!("sql-mysql", MySql, MySqlConnection);
connection!("sql-sqlite", Sqlite, SqliteConnection);
