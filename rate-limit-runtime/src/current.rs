//! Which limiter holds for a call.

use std::fmt;
use std::future::Future;
use std::sync::{LazyLock, OnceLock};

use crate::limiter::Limiter;
use crate::scopes::Scope;

static INSTALLED: OnceLock<Limiter> = OnceLock::new();

tokio::task_local! {
    static SCOPED: Limiter;
}

/// Makes `limiter` the one that decides all annotated functions of this process which are given none of their own.
///
/// Call it once, before serving. Until then a limiter in the memory of this process decides.
///
/// # Errors
///
/// [`AlreadyInstalled`] for a second call. The first limiter stays.
pub fn install(limiter: Limiter) -> Result<(), AlreadyInstalled> {
    INSTALLED.set(limiter).map_err(|_| AlreadyInstalled)
}

/// A limiter was installed before. A test that wants its own takes [`Limiter::scope`] instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlreadyInstalled;

impl fmt::Display for AlreadyInstalled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a limiter is installed already: install one, once, or use `Limiter::scope` for a part of the program",
        )
    }
}

impl std::error::Error for AlreadyInstalled {}

impl Limiter {
    /// Runs a future in which this limiter decides all annotated functions, those given one of their own too.
    /// It is for tests: what the future spawns is not in its scope.
    ///
    /// Do not pause the clock of Tokio (`start_paused`, `tokio::time::pause`) around a limiter over Redis, SQL or another store outside of the process:
    /// whenever all tasks wait, a paused clock goes on to the next deadline at once, so each deadline of the store ends before the server can
    /// answer, and `on_store_error` decides. The log warns of it once. Limit in memory, and turn its `ManualClock`.
    ///
    /// ```
    /// # use rate_limit_runtime::Limiter;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let answer = Limiter::embedded().scope(async { 42 }).await;
    /// assert_eq!(answer, 42);
    /// # }
    /// ```
    pub fn scope<F: Future>(&self, future: F) -> impl Future<Output = F::Output> + use<F> {
        Scope::new(SCOPED.scope(self.clone(), future))
    }
}

/// Goes on with the limiter that holds here: scoped, given, installed, or the embedded one.
#[inline]
pub(crate) fn with_current<R>(given: Option<&Limiter>, go_on: impl FnOnce(&Limiter) -> R) -> R {
    match (scoped(), given) {
        (Some(scoped), _) => go_on(&scoped),
        (None, Some(given)) => go_on(given),
        (None, None) => go_on(default()),
    }
}

/// The installed limiter, or the embedded one.
#[inline]
pub(crate) fn default() -> &'static Limiter {
    INSTALLED.get().unwrap_or_else(|| &EMBEDDED)
}

/// The limiter that was scoped or installed.
pub(crate) fn known() -> Option<Limiter> {
    scoped().or_else(|| INSTALLED.get().cloned())
}

fn scoped() -> Option<Limiter> {
    SCOPED.try_with(Limiter::clone).ok()
}

static EMBEDDED: LazyLock<Limiter> = LazyLock::new(|| {
    tracing::warn!(
        "no limiter is installed: limits hold within this process alone. Install one with \
         `rate_limit::install(..)`, an embedded one to say that this is meant"
    );
    Limiter::embedded()
});
