//! The client of a part of the program, for functions that name none.

use std::future::Future;

use crate::key::{Client, KeyError};
use crate::to_key::ToKey;

tokio::task_local! {
    static CURRENT: Result<Client, KeyError>;
}

/// Runs a future in which `id` is the client of every limited function that has no `key`: the logged-in account as a rule.
///
/// What the future spawns is not in its scope: a task that is to have the client is given it by
/// `tokio::spawn(client::scope(id, ..))`. An inner scope holds in place of an outer one.
///
/// ```
/// use rate_limit_runtime::{Client, client};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// client::scope("20230001", async {
///     assert_eq!(client::current(), Client::of("20230001").ok());
///     let spawned = tokio::spawn(async { client::current() });
///     assert_eq!(spawned.await.ok(), Some(None));
/// })
/// .await;
/// assert_eq!(client::current(), None);
/// # }
/// ```
pub async fn scope<T: ToKey + ?Sized, F: Future>(id: &T, future: F) -> F::Output {
    scope_of(Client::of(id), future).await
}

pub(crate) async fn scope_of<F: Future>(client: Result<Client, KeyError>, future: F) -> F::Output {
    CURRENT.scope(client, future).await
}

/// The client that [`scope`] set here, unless it set a blank one.
#[must_use]
pub fn current() -> Option<Client> {
    ambient().ok()
}

pub(crate) fn ambient() -> Result<Client, KeyError> {
    CURRENT.try_with(Clone::clone).unwrap_or(Err(KeyError::Nobody))
}
