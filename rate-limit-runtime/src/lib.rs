//! Everything that runs behind the attribute of the crate `rate-limit`, which re-exports it: name that one.

#![forbid(unsafe_code)]

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
compile_error!(
    "`rate-limit` needs a clock, and a program for this target has none: it would panic at the first call. Build for \
     `wasm32-wasip1`, or limit on the server"
);

#[cfg(feature = "admin")]
mod admin;
mod algorithm;
mod as_written;
mod charged;
pub mod client;
mod clock;
#[cfg(feature = "test-util")]
pub mod contract;
mod current;
mod decision;
#[cfg(feature = "serde")]
mod deserialize;
mod error;
mod failure;
mod http;
mod integrations;
mod key;
mod limiter;
mod method;
mod observe;
mod outcome;
mod permit;
mod policies;
mod policy;
mod printable;
#[doc(hidden)]
pub mod private;
mod registry;
mod rejection;
mod report;
mod rule;
mod scopes;
#[cfg(feature = "serde")]
mod serialize;
mod span;
mod store;
mod throttle;
mod to_key;
mod type_name;
mod under_way;
mod verdict;

#[cfg(feature = "test-util")]
pub use self::clock::ManualClock;
pub use self::current::{AlreadyInstalled, install};
pub use self::decision::{DecidedBy, Decision};
pub use self::error::{BuildError, StoreError, StoreErrorKind};
pub use self::failure::OnStoreError;
pub use self::http::bot::BotFilter;
pub use self::http::client_ip::ClientIp;
pub use self::http::client_ip_source::ClientIpSource;
pub use self::http::dialect::HeaderDialect;
#[cfg(feature = "actix-web")]
pub use self::integrations::actix_web;
#[cfg(feature = "axum")]
pub use self::integrations::axum;
pub use self::key::{Client, Key, KeyError, KeyHasher};
pub use self::limiter::{Limiter, LimiterBuilder};
pub use self::method::Method;
#[cfg(feature = "metrics")]
pub use self::observe::STORE_SECONDS_BUCKETS;
pub use self::permit::Permit;
pub use self::policies::Policies;
pub use self::policy::{Algorithm, Policy, PolicyError};
pub use self::registry::Numbers;
pub use self::rejection::{FromRejection, Rejection, RejectionKind};
pub use self::rule::Rule;
#[cfg(feature = "simulate")]
pub use self::store::Simulation;
pub use self::store::{Change, Charge, MemoryStore, MemoryStoreBuilder, Reply, Settlement, Store};
#[cfg(feature = "redis")]
pub use self::store::{RedisStore, RedisStoreBuilder};
#[cfg(feature = "_sql")]
pub use self::store::{SqlConnection, SqlStore, SqlStoreBuilder};
#[cfg(any(feature = "redis", feature = "_sql"))]
pub use self::store::{StoredCounter, StoredCounters, StoredRule};
pub use self::to_key::ToKey;
pub use self::verdict::{Hit, Hits, Verdict};
