//! What sets up the store.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::batch::Batcher;
use super::deny::Denials;
use super::methods::Methods;
use super::script::Scripts;
use super::server::Server;
use super::target::{Certificates, Location};
use super::{Inner, RedisStore};
#[cfg(feature = "test-util")]
use crate::clock::ManualClock;
use crate::error::BuildError;
use crate::store::background::Background;
use crate::store::runtime;

/// Sets up a [`RedisStore`].
#[must_use]
pub struct RedisStoreBuilder {
    url: String,
    prefix: String,
    deadline: Duration,
    most: usize,
    certificates: Certificates,
    deny_cache: Duration,
    #[cfg(feature = "test-util")]
    clock: Option<ManualClock>,
}

impl RedisStoreBuilder {
    pub(super) fn new(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            prefix: String::new(),
            deadline: Self::DEADLINE,
            most: Self::MAX_IN_FLIGHT,
            certificates: Certificates::default(),
            deny_cache: Self::STALENESS,
            #[cfg(feature = "test-util")]
            clock: None,
        }
    }

    /// Long enough for a server that is near and busy, short enough for a person who waits.
    const DEADLINE: Duration = Duration::from_millis(100);
    /// More would have waited for longer than the deadline.
    const MAX_IN_FLIGHT: usize = 10_000;
    /// How long a refusal is repeated without asking, and the longest that may be set.
    const STALENESS: Duration = Duration::from_secs(1);
    /// How long the start waits to find out whether the server accepts us.
    const FIRST_ATTEMPT: Duration = Duration::from_millis(1500);

    /// Put before every key; nothing by default. Two deployments on one server need one each.
    pub fn prefix(self, prefix: impl Into<String>) -> Self {
        Self {
            prefix: prefix.into(),
            ..self
        }
    }

    /// How long a call may take before it counts as undecided, connecting included; 100 ms by default, and at most a day. Time in which
    /// the process itself did not run, as in a burst of requests, is not counted.
    pub fn deadline(self, deadline: Duration) -> Self {
        Self {
            deadline: deadline.min(runtime::MAX_DEADLINE),
            ..self
        }
    }

    /// How many calls may be under way to one server at once, or wait to go out together; 10,000 by default, which takes some 3 MB. One
    /// more is undecided at once. So is one that would wait for longer than half of the deadline, by how fast the last ones
    /// were answered.
    pub fn max_in_flight(self, calls: usize) -> Self {
        Self {
            most: calls.max(1),
            ..self
        }
    }

    /// Whom to trust as the issuer of the server's certificate, in PEM, instead of those that the system trusts. For `rediss://`.
    #[cfg(feature = "redis-tls")]
    pub fn root_certificate(mut self, certificate: impl Into<Vec<u8>>) -> Self {
        self.certificates.root = Some(certificate.into());
        self
    }

    /// The certificate that this client shows, and its key, in PEM. For `rediss://`.
    #[cfg(feature = "redis-tls")]
    pub fn client_certificate(mut self, certificate: impl Into<Vec<u8>>, key: impl Into<Vec<u8>>) -> Self {
        self.certificates.client = Some((certificate.into(), key.into()));
        self
    }

    /// How long a key that the server refused is refused here without asking it again, and no longer than its wait; 1 s by
    /// default, which is the most, and zero to ask for each call. A client that is refused then costs the server one call a
    /// second, however often it knocks. A reset or refund through this store is seen at once, one through another store within
    /// this time.
    ///
    /// A call is refused so by a rule that neither observes nor comes with its time, by the same policy, and if it weighs no less: one
    /// that weighs more is told the wait of the lighter one. A call by several rules is refused by any of them, unless another one has
    /// a block that may begin with this call. The last 10,000 refused keys are known.
    pub fn deny_cache(self, staleness: Duration) -> Self {
        Self {
            deny_cache: staleness,
            ..self
        }
    }

    /// Decides by a clock that the test turns, instead of the server's. Nothing is refused without asking then, since waits end
    /// when the test says so.
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
    /// [`BuildError`] for a malformed URL, a deadline of zero, a deny cache of more than a second, a server that refuses us, and outside of a Tokio
    /// runtime.
    pub async fn connect(self) -> Result<RedisStore, BuildError> {
        let background = Background::new();
        if background.enter("Redis").is_err() {
            return Err(BuildError::new(
                "the Redis store needs a Tokio runtime: build it inside `#[tokio::main]`",
            ));
        }
        if self.deadline.is_zero() {
            return Err(BuildError::new(
                "the deadline is zero: give the server some time, 100 ms for example",
            ));
        }
        if self.deny_cache > Self::STALENESS {
            return Err(BuildError::new(
                "a refusal is repeated for more than a second without asking: a reset elsewhere would go unseen for as long, so set \
                 the deny cache to one second at most",
            ));
        }
        #[cfg(feature = "test-util")]
        let staleness = self.clock.as_ref().map_or(self.deny_cache, |_| Duration::ZERO);
        #[cfg(not(feature = "test-util"))]
        let staleness = self.deny_cache;
        let location = Location::parse(&self.url, &self.certificates)?;
        let name = location.name();
        #[cfg(feature = "test-util")]
        let scripts = self
            .clock
            .as_ref()
            .map_or_else(Scripts::server_clock, |_| Scripts::given_clock());
        #[cfg(not(feature = "test-util"))]
        let scripts = Scripts::server_clock();
        let server = Server::new(location, scripts, self.most, &background);
        let first_attempt = tokio::time::timeout(Self::FIRST_ATTEMPT, server.first_attempt()).await;
        let store = RedisStore(Arc::new(Inner {
            server,
            background,
            prefix: self.prefix,
            deadline: self.deadline,
            name,
            methods: Methods::default(),
            denials: Denials::new(staleness),
            batcher: Batcher::new(self.deadline, self.most),
            #[cfg(feature = "test-util")]
            clock: self.clock,
        }));
        // A server that lets us in may still not let us run scripts, or touch keys under the prefix.
        let usable = match first_attempt {
            Ok(Ok(())) => store.trial().await,
            Ok(Err(error)) => Err(error.into()),
            Err(_) => Ok(()),
        };
        if let Err(error) = usable {
            let server = &store.0.name;
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
