//! The connections that a token can be taken on.

use sqlx::Transaction;
#[cfg(feature = "sql-mysql")]
use sqlx::mysql::{MySql, MySqlConnection};
use sqlx::pool::PoolConnection;
#[cfg(feature = "sql-postgres")]
use sqlx::postgres::{PgConnection, Postgres};
#[cfg(feature = "sql-sqlite")]
use sqlx::sqlite::{Sqlite, SqliteConnection};

/// What `within = ..` takes: a transaction of sqlx, or the connection that one was begun on, of a database whose feature is on.
///
/// A pool is none: it would take the token on a connection of its own, which keeps it whatever becomes of the transaction.
#[diagnostic::on_unimplemented(
    message = "a token cannot be taken within `{Self}`",
    label = "no connection that a transaction is open on",
    note = "`within` takes the transaction that the token shall commit or roll back with: `&mut Transaction<'_, DB>`, or the connection \
            that it was begun on, of a database whose feature is on. A pool has many"
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

macro_rules! connections {
    ($feature:literal, $database:ident, $connection:ident) => {
        #[cfg(feature = $feature)]
        const _: () = {
            impl sealed::Sealed for $connection {}
            impl sealed::Sealed for PoolConnection<$database> {}
            impl sealed::Sealed for Transaction<'_, $database> {}

            impl SqlConnection for $connection {
                fn driver(&mut self) -> Driver<'_> {
                    Driver::$database(self)
                }
            }

            impl SqlConnection for PoolConnection<$database> {
                fn driver(&mut self) -> Driver<'_> {
                    Driver::$database(self)
                }
            }

            impl SqlConnection for Transaction<'_, $database> {
                fn driver(&mut self) -> Driver<'_> {
                    Driver::$database(self)
                }
            }
        };
    };
}

connections!("sql-postgres", Postgres, PgConnection);
connections!("sql-mysql", MySql, MySqlConnection);
connections!("sql-sqlite", Sqlite, SqliteConnection);
