//! One attribute that limits any async function, under a key the compiler checks, in a store that all instances share.
//!
//! ```
//! use rate_limit::{Rejection, limit_per_time};
//!
//! # struct Form { student_id: String }
//! #[limit_per_time(count = 5, window = "10m", key = form.student_id)]
//! async fn login(form: Form) -> Result<&'static str, Rejection> {
//!     Ok("welcome")
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! # let form = || Form { student_id: "20230001".into() };
//! for _ in 0..5 {
//!     assert!(login(form()).await.is_ok());
//! }
//! let refused = login(form()).await.unwrap_err();
//! assert!(refused.is_limited());
//! # }
//! ```
//!
//! * [`limit_per_time`] is the attribute; its page is the manual.
//! * [`install`] makes a [`Limiter`] decide for the process: over Redis (`Limiter::redis`), or in memory. Until one
//!   is installed, limits hold within the process.
//! * [`Policies`] are numbers from configuration, by name, and can be reloaded; [`Limiter::verify`] finds the functions and layers that
//!   ask for one that is missing.
//! * [`Limiter::check`], [`peek`](Limiter::peek) and [`reset`](Limiter::reset) do by hand what the attribute does, and
//!   [`forget`](Limiter::forget) deletes all that is kept of a client.
//! * [`Limiter::check`] also limits what is no function, such as each message of a WebSocket: the attribute on its handler limits the
//!   upgrade alone.
//! * [`ClientIpSource`] tells whose address a request comes from, [`BotFilter`] who calls himself a bot, [`HeaderDialect`] how a client is
//!   told how it stands; the modules of the frameworks put them to use.
//! * A function answers a refusal through [`FromRejection`]: any `Result` whose error is made from a [`Rejection`].
//!
//! # Features
//!
//! | feature | what it adds |
//! |---|---|
//! | `redis` (default) | `RedisStore`, on Tokio |
//! | `redis-sentinel`, `redis-cluster`, `redis-tls` | the primary that sentinels know, a cluster, and TLS by rustls |
//! | `axum` | refusals as axum responses; handlers that return `Response` or `impl IntoResponse`; layers and extractors |
//! | `actix-web` | the same for actix-web, with `HttpResponse` and `impl Responder`; middleware and extractors |
//! | `admin` | `axum::Admin`: a page that shows who is limited and releases a client, to mount behind an authentication of your own |
//! | `sql-postgres`, `sql-mysql`, `sql-sqlite` | `SqlStore`: token buckets in a database, also in the caller's transaction, over sqlx on Tokio |
//! | `metrics` | what is counted, below, for the facade of the crate [metrics](https://docs.rs/metrics) |
//! | `tonic` | refusals as `Status`: `RESOURCE_EXHAUSTED` with `RetryInfo` |
//! | `serde` | [`Policies`] and [`Policy`] from configuration files |
//! | `simulate` | `Simulation`: what a policy would say to a client at given times |
//! | `test-util` | `ManualClock`, and `contract`: the suite that every store must pass |
//!
//! # What is counted
//!
//! Under the feature `metrics`, for the recorder that the program installs. Labels are names of functions and fixed words, nothing of a
//! client, so there are no more series than functions times words.
//!
//! | metric | labels | what it counts |
//! |---|---|---|
//! | `rate_limit_decisions_total` | `method`, `outcome`, `decided_by`, `rule` | calls |
//! | `rate_limit_store_errors_total` | `store`, `class`, `on_store_error` | calls that the store did not decide, and what held for them |
//! | `rate_limit_unsettled_total` | `method`, `class` | calls that `reset_on_success` and the like were to settle, and the store was not told |
//! | `rate_limit_store_seconds` | `store` | a histogram: how long a store outside of the process takes to decide, or to fail. Exporters show a summary until they are given its buckets, `STORE_SECONDS_BUCKETS` |
//! | `rate_limit_open_breakers` | | a gauge: how many servers calls are kept from until they answer again |
//!
//! | label | values |
//! |---|---|
//! | `method` | the name of the annotated function, or of [`Method::named`]: the full path |
//! | `outcome` | `allowed`, `limited`, `impossible`, `denied`, `missing_client`, `store_unavailable`, `misconfigured`, `aborted` |
//! | `decided_by` | `store`, `fallback`, and `none` where no store was asked or none answered: see [`DecidedBy`] |
//! | `rule` | of several limits on one function the one that decided, `1` to `8` in the order of the attributes: for a call that was admitted the one that leaves the least. `none` as for `decided_by` |
//! | `store` | `redis`, `sql`, `memory`, `other` |
//! | `class` | `unavailable`, `timeout`, `aborted`, `misconfigured`, `unexpected`: see [`StoreErrorKind`] |
//! | `on_store_error` | `open`, `closed`, `local`: what decided in place of the store. Of rules that differ `closed` decides before `local`, and that before `open` |
//!
//! Install the recorder before the first limiter is built. From then on the gauge is there, and `rate_limit_store_errors_total` of a store outside of
//! the process by each of its labels, from zero: an alert sees data, and the first increase. The other series begin with the first call that they
//! count.
//!
//! A call whose rules are all skipped is not counted. `tracing` has a line when the store ceases to decide, with the class, and one when
//! it decides again; the former comes once a minute at most, and again each minute while calls fail. [`Limiter::is_degraded`] tells the same to a
//! health check.

#![forbid(unsafe_code)]

#[doc = include_str!("limit_per_time.md")]
pub use rate_limit_macros::limit_per_time;
#[cfg(feature = "metrics")]
pub use rate_limit_runtime::STORE_SECONDS_BUCKETS;
#[cfg(feature = "simulate")]
pub use rate_limit_runtime::Simulation;
#[cfg(feature = "actix-web")]
pub use rate_limit_runtime::actix_web;
#[cfg(feature = "axum")]
pub use rate_limit_runtime::axum;
pub use rate_limit_runtime::{
    Algorithm, AlreadyInstalled, BotFilter, BuildError, Change, Charge, Client, ClientIp, ClientIpSource, DecidedBy,
    Decision, FromRejection, HeaderDialect, Hit, Hits, Key, KeyError, KeyHasher, Limiter, LimiterBuilder, MemoryStore,
    MemoryStoreBuilder, Method, Numbers, OnStoreError, Permit, Policies, Policy, PolicyError, Rejection, RejectionKind,
    Reply, Rule, Settlement, Store, StoreError, StoreErrorKind, ToKey, Verdict, client, install,
};
#[cfg(feature = "test-util")]
pub use rate_limit_runtime::{ManualClock, contract};
#[cfg(feature = "redis")]
pub use rate_limit_runtime::{RedisStore, RedisStoreBuilder};
#[cfg(feature = "_sql")]
pub use rate_limit_runtime::{SqlConnection, SqlStore, SqlStoreBuilder};
#[cfg(any(feature = "redis", feature = "_sql"))]
pub use rate_limit_runtime::{StoredCounter, StoredCounters, StoredRule};

#[doc(hidden)]
pub use rate_limit_runtime::private as __private;
