//! What an operator asks of a store, and changes in it.

mod client;
mod confirm;
mod connect;
mod counter;
mod forget;
mod function;
mod inspect;
mod left;
mod methods;
mod reset;
mod top;

use clap::Args;
use rate_limit::{
    BuildError, Client, Limiter, RedisStore, SqlStore, StoreError, StoredCounter, StoredCounters, StoredRule,
};

pub use self::forget::Forget;
pub use self::inspect::Inspect;
pub use self::methods::Methods;
pub use self::reset::Reset;
pub use self::top::Top;
use crate::failure::{Code, Failure};
use crate::text::escaped;

/// Which store it is.
#[derive(Args)]
struct StoreArgs {
    /// Where the counters are: `redis://`, `rediss://`, `redis+unix://`, `redis-sentinel://`, `redis-cluster://`, `postgres://`, `mysql://`
    /// or `sqlite:`. A password in it is seen by who lists processes: rather set the variable
    // As text, since an error of clap would show the value.
    #[arg(long, value_name = "URL", env = "RATE_LIMIT_STORE", hide_env_values = true)]
    store: String,
    /// What the deployment puts before its keys in Redis
    #[arg(
        long,
        value_name = "PREFIX",
        env = "RATE_LIMIT_PREFIX",
        default_value = "",
        hide_default_value = true
    )]
    prefix: String,
}

/// Shows no URL: it may hold a password.
impl std::fmt::Debug for StoreArgs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoreArgs")
            .field("prefix", &self.prefix)
            .finish_non_exhaustive()
    }
}

/// A store that answered.
enum Store {
    Redis(RedisStore),
    Sql(SqlStore),
}

impl Store {
    async fn rules(&self) -> Result<Vec<StoredRule>, Failure> {
        let rules = match self {
            Self::Redis(store) => store.rules().await,
            Self::Sql(store) => store.rules().await,
        };
        rules.map_err(of_store)
    }

    fn counters(&self, rules: &[StoredRule]) -> StoredCounters {
        match self {
            Self::Redis(store) => store.counters(rules),
            Self::Sql(store) => store.counters(rules),
        }
    }

    /// Those of a client by these rules.
    async fn counters_of(&self, client: Client, rules: &[StoredRule]) -> Result<Vec<StoredCounter>, Failure> {
        let counters = match self {
            Self::Redis(store) => store.counters_of(client, rules).await,
            Self::Sql(store) => store.counters_of(client, rules).await,
        };
        counters.map_err(of_store)
    }

    /// Says what a deletion does not reach at once.
    fn tell_who_remembers(&self) {
        if let Self::Redis(_) = self {
            eprintln!("A process that has just refused the client may go on for up to a second.");
        }
    }

    fn limiter(&self) -> Result<Limiter, Failure> {
        let limiter = match self {
            Self::Redis(store) => Limiter::builder().store(store.clone()),
            Self::Sql(store) => Limiter::builder().store(store.clone()),
        };
        limiter
            .build()
            .map_err(|error: BuildError| Failure::new(Code::Input, error.to_string()))
    }

    /// How the names of functions come into this store, where they are missing.
    const fn how_to_name(&self) -> &'static str {
        match self {
            Self::Redis(_) => {
                "a process writes the name of a function when it first counts a call of it, if its user may `HSET` the keys under the prefix"
            }
            Self::Sql(_) => {
                "have the program run `SqlStore::create_table` at its start, and `SqlStore::publish_methods` with its policies"
            }
        }
    }
}

impl StoreArgs {
    /// Runs what is asked of the store. If that fails, tells which store it is.
    fn ask(&self, command: impl AsyncFnOnce(Store) -> Result<(), Failure>) -> Result<(), Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime =
            runtime.map_err(|error| Failure::new(Code::Store, format!("no runtime can be started: {error}")))?;
        let done = runtime.block_on(async { command(self.connect().await?).await });
        done.map_err(|failure| match self.place() {
            Some(place) if failure.code() == Code::Store => {
                Failure::new(Code::Store, format!("the store at {place}: {failure}"))
            }
            _ => failure,
        })
    }
}

fn of_store(error: StoreError) -> Failure {
    let more = if error.kind() == rate_limit::StoreErrorKind::Misconfigured {
        ". Of Redis this tool also needs HGETALL, EXISTS and SCAN"
    } else {
        ""
    };
    Failure::new(Code::Store, chain(&error) + more)
}

/// An error and what caused it, which may have the words of a server.
fn chain(error: &dyn std::error::Error) -> String {
    let mut told = escaped(&error.to_string());
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = escaped(&error.to_string());
        if !told.contains(&more) {
            told = format!("{told}: {more}");
        }
        cause = error.source();
    }
    told
}

#[cfg(test)]
mod tests {
    use rate_limit::StoreErrorKind;

    use super::*;

    #[test]
    fn f_26_the_words_of_a_server_do_not_steer_the_terminal() {
        let words = std::io::Error::other("NOPE \u{1b}[2J\r\nall is well\u{202e}");
        let error = StoreError::new(StoreErrorKind::Unavailable, "refused: \u{9b}1m").with_source(words);
        assert_eq!(
            of_store(error).to_string(),
            r"refused: \u{9b}1m: NOPE \u{1b}[2J\r\nall is well\u{202e}"
        );
    }
}
