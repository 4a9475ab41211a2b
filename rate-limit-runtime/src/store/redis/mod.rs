//! The store that all instances share: Redis, or what speaks its protocol.

mod link;
mod script;
mod store_key;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use redis::{Cmd, IntoConnectionInfo, Value};

use self::link::Link;
use self::script::{Scripts, times, verdict};
use super::{Charge, Reply, Settlement, Store};
#[cfg(feature = "test-util")]
use crate::clock::ManualClock;
use crate::error::{BuildError, StoreError, StoreErrorKind};
use crate::key::{Client, Key};
use crate::method::Method;
use crate::policy::{Algorithm, Policy};
use crate::verdict::Verdict;

/// Counters in a Redis server of version 6.2 or later, shared by all instances that use it.
///
/// Each decision is one script call by the server's own clock, and each call ends within a
/// [deadline](RedisStoreBuilder::deadline). The store needs the Tokio runtime; it holds one connection, which
/// it makes anew in the background when it is lost. What is kept of a client is a hash and the times of its
/// admitted calls, for at most two windows after the last.
#[derive(Clone)]
pub struct RedisStore(Arc<Inner>);

struct Inner {
    link: Arc<Link>,
    prefix: String,
    deadline: Duration,
    server: String,
    #[cfg(feature = "test-util")]
    clock: Option<ManualClock>,
}

impl RedisStore {
    /// A store to set up, at `url`: `redis://user:password@host:6379/0`, `redis+unix:///path`, or as redis-rs
    /// takes it.
    pub fn builder(url: &str) -> RedisStoreBuilder {
        RedisStoreBuilder {
            url: url.to_owned(),
            prefix: String::new(),
            deadline: RedisStoreBuilder::DEADLINE,
            #[cfg(feature = "test-util")]
            clock: None,
        }
    }

    /// Calls a script.
    fn ask<T: 'static>(&self, cmd: Cmd, read: fn(Value) -> Option<T>) -> Reply<Result<T, StoreError>> {
        #[cfg(feature = "test-util")]
        let cmd = self.with_time(cmd);
        self.ask_without_clock(cmd, read)
    }

    fn ask_without_clock<T: 'static>(&self, cmd: Cmd, read: fn(Value) -> Option<T>) -> Reply<Result<T, StoreError>> {
        let store = Arc::clone(&self.0);
        Reply::pending(async move {
            if tokio::runtime::Handle::try_current().is_err() {
                return Err(StoreError::new(
                    StoreErrorKind::Misconfigured,
                    "the Redis store is used outside of a Tokio runtime",
                ));
            }
            match tokio::time::timeout(store.deadline, store.link.ask(&cmd)).await {
                Ok(answer) => read(answer?).ok_or_else(|| {
                    StoreError::new(StoreErrorKind::Unexpected, "Redis answers what no script of ours does")
                }),
                Err(_) => {
                    store.link.suspect();
                    Err(StoreError::new(StoreErrorKind::Timeout, "Redis did not answer in time"))
                }
            }
        })
    }

    /// Adds the time that the test has turned its clock to.
    #[cfg(feature = "test-util")]
    fn with_time(&self, mut cmd: Cmd) -> Cmd {
        if let Some(clock) = &self.0.clock {
            cmd.arg(clock.now());
        }
        cmd
    }

    /// Reads a counter that nobody has.
    async fn trial(&self) -> Result<(), StoreError> {
        let client =
            Client::of("trial").map_err(|error| StoreError::new(StoreErrorKind::Misconfigured, error.to_string()))?;
        let policy = Policy::sliding_window(1, Policy::MIN_WINDOW);
        let key = Key::new(Method::named("rate_limit::trial"), client);
        self.peek(Charge::new(key, policy, 1)).await.map(|_| ())
    }
}

impl Store for RedisStore {
    fn acquire(&self, charges: &[Charge]) -> Reply<Result<Verdict, StoreError>> {
        let cmd = self.0.link.scripts().acquire(&self.0.prefix, charges);
        self.ask(cmd, read_verdict)
    }

    fn peek(&self, charge: Charge) -> Reply<Result<Verdict, StoreError>> {
        let cmd = self.0.link.scripts().peek(&self.0.prefix, &charge);
        self.ask(cmd, read_verdict)
    }

    fn inspect(&self, key: Key, policy: Policy) -> Reply<Result<Vec<u64>, StoreError>> {
        if policy.algorithm() != Algorithm::SlidingWindow {
            return Reply::ready(Ok(Vec::new()));
        }
        let cmd = self.0.link.scripts().inspect(&self.0.prefix, &key, policy);
        self.ask(cmd, |value| match value {
            Value::BulkString(reply) => times(&reply),
            _ => None,
        })
    }

    fn settle(&self, settlements: &[Settlement]) -> Reply<Result<(), StoreError>> {
        let clear = Scripts::clear(&self.0.prefix, settlements).map(|cmd| self.ask_without_clock(cmd, read_count));
        let scripts = self.0.link.scripts();
        let settle = scripts
            .settle(&self.0.prefix, settlements)
            .map(|cmd| self.ask(cmd, read_nothing));
        match (clear, settle) {
            (Some(reply), None) | (None, Some(reply)) => reply,
            (None, None) => Reply::ready(Ok(())),
            (Some(clear), Some(settle)) => Reply::pending(async move {
                clear.await?;
                settle.await
            }),
        }
    }
}

fn read_count(value: Value) -> Option<()> {
    matches!(value, Value::Int(_)).then_some(())
}

fn read_nothing(value: Value) -> Option<()> {
    matches!(value, Value::BulkString(reply) if reply.is_empty()).then_some(())
}

fn read_verdict(value: Value) -> Option<Verdict> {
    match value {
        Value::BulkString(reply) => verdict(&reply),
        _ => None,
    }
}

/// Shows which server, and no credential.
impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore")
            .field("server", &self.0.server)
            .field("prefix", &self.0.prefix)
            .field("deadline", &self.0.deadline)
            .finish_non_exhaustive()
    }
}

/// Sets up a [`RedisStore`].
#[must_use]
pub struct RedisStoreBuilder {
    url: String,
    prefix: String,
    deadline: Duration,
    #[cfg(feature = "test-util")]
    clock: Option<ManualClock>,
}

impl RedisStoreBuilder {
    /// Long enough for a server that is near and busy, short enough for a person who waits.
    const DEADLINE: Duration = Duration::from_millis(100);
    /// How long the start waits to find out whether the server accepts us.
    const FIRST_ATTEMPT: Duration = Duration::from_millis(1500);

    /// Put before every key; nothing by default. Two deployments on one server need one each.
    pub fn prefix(self, prefix: impl Into<String>) -> Self {
        Self {
            prefix: prefix.into(),
            ..self
        }
    }

    /// How long a call may take before it counts as undecided, connecting included; 100 ms by default.
    pub fn deadline(self, deadline: Duration) -> Self {
        Self { deadline, ..self }
    }

    /// Decides by a clock that the test turns, instead of the server's.
    #[cfg(feature = "test-util")]
    pub fn clock(self, clock: &ManualClock) -> Self {
        Self {
            clock: Some(clock.clone()),
            ..self
        }
    }

    /// The store. Waits up to 1.5 s for the server; if that cannot be reached, the store is built all the same and
    /// goes on trying.
    ///
    /// # Errors
    ///
    /// [`BuildError`] for a malformed URL, a deadline of zero, a server that refuses us, and outside of a Tokio
    /// runtime.
    pub async fn connect(self) -> Result<RedisStore, BuildError> {
        if tokio::runtime::Handle::try_current().is_err() {
            return Err(BuildError::new(
                "the Redis store needs a Tokio runtime: build it inside `#[tokio::main]`",
            ));
        }
        if self.deadline.is_zero() {
            return Err(BuildError::new(
                "the deadline is zero: give the server some time, 100 ms for example",
            ));
        }
        // The error of a URL may show the URL, and so a password: it is not passed on.
        let info = self.url.as_str().into_connection_info().map_err(|_| {
            BuildError::new("the URL of Redis is malformed: write `redis://[user][:password@]host[:port][/database]`")
        })?;
        let server = info.addr().to_string();
        let client = redis::Client::open(info)
            .map_err(|error| BuildError::new("the URL of Redis cannot be used").with_source(error))?;
        #[cfg(feature = "test-util")]
        let scripts = self
            .clock
            .as_ref()
            .map_or_else(Scripts::server_clock, |_| Scripts::given_clock());
        #[cfg(not(feature = "test-util"))]
        let scripts = Scripts::server_clock();
        let link = Link::new(client, scripts);
        let first_attempt = tokio::time::timeout(Self::FIRST_ATTEMPT, link.first_attempt()).await;
        let store = RedisStore(Arc::new(Inner {
            link,
            prefix: self.prefix,
            deadline: self.deadline,
            server,
            #[cfg(feature = "test-util")]
            clock: self.clock,
        }));
        // A server that lets us in may still not let us run scripts, or touch keys under the prefix.
        let usable = match first_attempt {
            Ok(Ok(())) => store.trial().await,
            Ok(Err(error)) => Err(error),
            Err(_) => Ok(()),
        };
        if let Err(error) = usable {
            let server = &store.0.server;
            if !error.is_transient() {
                return Err(BuildError::new(format!("Redis at {server} cannot be used")).with_source(error));
            }
            tracing::warn!(server, %error, "Redis cannot be reached: the store goes on trying");
        }
        Ok(store)
    }
}

/// Shows no URL: it may hold a password.
impl fmt::Debug for RedisStoreBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStoreBuilder")
            .field("prefix", &self.prefix)
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}
