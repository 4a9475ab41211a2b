//! The caller's transaction.

use crate::limiter::Limiter;
use crate::permit::Permit;
use crate::rejection::Rejection;
use crate::rule::Rule;
#[cfg(feature = "_sql")]
use crate::store::{Driver, SqlConnection};

/// Borrows the connection of `within = ..`. It is a separate call, so that the compiler reports a wrong type once.
#[cfg(feature = "_sql")]
pub fn within(connection: &mut impl SqlConnection) -> Within<'_> {
    Within(connection.driver())
}

/// A connection that a transaction is open on.
#[cfg(feature = "_sql")]
#[derive(Debug)]
pub struct Within<'a>(Driver<'a>);

#[cfg(feature = "_sql")]
impl Within<'_> {
    pub(super) async fn check(self, limiter: &Limiter, rule: Rule) -> Result<Permit, Rejection> {
        limiter.check_on(rule, self.0).await
    }
}

/// Does not compile: no database feature is enabled for `within = ..`.
#[cfg(not(feature = "_sql"))]
pub fn within(connection: &mut impl NoSqlConnection) -> Within<'_> {
    match connection.none() {}
}

#[cfg(not(feature = "_sql"))]
#[diagnostic::on_unimplemented(
    message = "a token cannot be taken within `{Self}`",
    label = "no database is available to take it in",
    note = "add the feature `sql-postgres`, `sql-mysql` or `sql-sqlite` of `rate-limit` for `within`"
)]
pub trait NoSqlConnection {
    fn none(&mut self) -> std::convert::Infallible;
}

#[cfg(not(feature = "_sql"))]
#[derive(Debug)]
pub struct Within<'a>(std::convert::Infallible, std::marker::PhantomData<&'a ()>);

#[cfg(not(feature = "_sql"))]
impl Within<'_> {
    pub(super) async fn check(self, _: &Limiter, _: Rule) -> Result<Permit, Rejection> {
        match self.0 {}
    }
}
