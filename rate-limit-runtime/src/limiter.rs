//! A store, and what holds while it does not decide.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::decision::Decision;
use crate::error::{BuildError, StoreError, StoreErrorKind};
use crate::failure::OnStoreError;
use crate::key::{self, Key};
use crate::permit::{Admitted, DecidedBy, Permit};
use crate::policy::Policy;
use crate::rejection::{Rejection, RejectionKind};
use crate::rule::Rule;
use crate::store::{Charge, MemoryStore, Reply, Store};
use crate::verdict::{Hit, Verdict};

/// Decides calls, by a store. Clones are one limiter.
///
/// The attribute finds the one that holds: [scoped](Limiter::scope), given by `limiter = ..`,
/// [installed](crate::install), or else one of its own in memory. It may as well be asked directly:
///
/// ```
/// use std::time::Duration;
/// use rate_limit_runtime::{Client, Key, Limiter, Method, Policy, Rule};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let limiter = Limiter::embedded();
/// let key = Key::new(Method::named("send-mail"), Client::of("alice@example.org")?);
/// let twice_an_hour = Policy::sliding_window(2, Duration::from_secs(3600));
///
/// let permit = limiter.check(Rule::new(twice_an_hour, key)).await?;
/// assert_eq!(permit.decision().map(|decision| decision.remaining), Some(1));
/// limiter.check(Rule::new(twice_an_hour, key)).await?;
///
/// let refused = limiter.check(Rule::new(twice_an_hour, key)).await.unwrap_err();
/// assert!(refused.is_limited());
/// assert!(!limiter.peek(twice_an_hour, key).await?.allowed);
///
/// limiter.reset(key).await?;
/// assert!(limiter.check(Rule::new(twice_an_hour, key)).await.is_ok());
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Limiter(Arc<Inner>);

struct Inner {
    store: Arc<dyn Store>,
    fallback: MemoryStore,
    on_store_error: OnStoreError,
    instances: NonZeroU32,
    failing: AtomicBool,
    unsettled: AtomicU64,
}

impl Limiter {
    /// Over an embedded store of its own, with the defaults.
    #[must_use]
    pub fn embedded() -> Self {
        Self::over(Arc::new(MemoryStore::new()), OnStoreError::default(), NonZeroU32::MIN)
    }

    /// Over the Redis at `url`, with the defaults: `redis://host:6379/0`, or as redis-rs takes it.
    ///
    /// Needs a Tokio runtime. A server that cannot be reached is no error: calls are decided as
    /// [`OnStoreError::Local`] says until it can be.
    ///
    /// # Errors
    ///
    /// [`BuildError`] for a malformed URL and for a server that refuses us: a wrong password, a missing permission.
    #[cfg(feature = "redis")]
    pub async fn redis(url: &str) -> Result<Self, BuildError> {
        let store = crate::store::RedisStore::builder(url).connect().await?;
        Self::builder().store(store).build()
    }

    /// A limiter to set up.
    pub fn builder() -> LimiterBuilder {
        LimiterBuilder {
            store: None,
            on_store_error: OnStoreError::default(),
            instances: NonZeroU32::MIN,
        }
    }

    fn over(store: Arc<dyn Store>, on_store_error: OnStoreError, instances: NonZeroU32) -> Self {
        Self(Arc::new(Inner {
            store,
            fallback: MemoryStore::new(),
            on_store_error,
            instances,
            failing: AtomicBool::new(false),
            unsettled: AtomicU64::new(0),
        }))
    }

    /// Charges a call, if the policy of the rule admits it.
    ///
    /// Dropping the future after its first poll keeps the charge at most once.
    ///
    /// # Errors
    ///
    /// [`Rejection`] if the call is not to be made.
    pub async fn check(&self, rule: Rule) -> Result<Permit, Rejection> {
        self.clone().admit(rule).await
    }

    /// What [`check`](Self::check) would decide for a call that weighs 1, charging nothing.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store does not answer.
    pub async fn peek(&self, policy: Policy, key: Key) -> Result<Decision, StoreError> {
        let verdict = self.0.store.peek(key, policy).await?;
        Ok(decision(policy, verdict))
    }

    /// Forgets all hits of a key: lets one client go.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store does not answer.
    pub async fn reset(&self, key: Key) -> Result<(), StoreError> {
        let _ = self.0.fallback.reset(key, Hit::LATEST).await;
        self.0.store.reset(key, Hit::LATEST).await
    }

    /// How many calls that succeeded could not clear their record, because the store did not answer.
    #[must_use]
    pub fn unsettled(&self) -> u64 {
        self.0.unsettled.load(Ordering::Relaxed)
    }

    /// Charges at once, where the store need not wait; nothing is then allocated.
    pub(crate) fn admit(self, rule: Rule) -> Reply<Result<Permit, Rejection>> {
        let answer = self.0.store.acquire(Charge::new(rule.key, rule.policy, rule.cost));
        answer.map(move |answer| self.conclude(rule, answer))
    }

    fn conclude(self, rule: Rule, answer: Result<Verdict, StoreError>) -> Result<Permit, Rejection> {
        match answer {
            Ok(verdict) => {
                self.note_answer();
                self.judge(rule, rule.policy, verdict, DecidedBy::Store)
            }
            Err(error) => {
                self.note_error(&error);
                self.without_store(rule, &error)
            }
        }
    }

    fn without_store(self, rule: Rule, error: &StoreError) -> Result<Permit, Rejection> {
        match rule.on_store_error.unwrap_or(self.0.on_store_error) {
            OnStoreError::Open => Ok(Permit::unseen(self)),
            OnStoreError::Closed => {
                let kind = match error.kind() {
                    StoreErrorKind::Misconfigured => RejectionKind::Misconfigured,
                    _ => RejectionKind::StoreUnavailable,
                };
                Err(Rejection::new(kind, rule.key.method().label(), rule.policy))
            }
            OnStoreError::Local => {
                let policy = rule.policy.divided(self.0.instances.get());
                let verdict = self.0.fallback.charge(Charge::new(rule.key, policy, rule.cost));
                self.judge(rule, policy, verdict, DecidedBy::Fallback)
            }
        }
    }

    fn judge(self, rule: Rule, policy: Policy, verdict: Verdict, by: DecidedBy) -> Result<Permit, Rejection> {
        let decision = decision(policy, verdict);
        let reject = |kind| Err(Rejection::new(kind, rule.key.method().label(), policy).with_decision(decision));
        match verdict {
            Verdict::Allowed { hit, .. } => Ok(Permit::new(self, decision, Admitted { key: rule.key, hit, by })),
            Verdict::Denied { .. } => reject(RejectionKind::Limited),
            Verdict::Impossible => reject(RejectionKind::Impossible),
        }
    }

    fn note_answer(&self) {
        if self.0.failing.load(Ordering::Relaxed) && self.0.failing.swap(false, Ordering::Relaxed) {
            tracing::info!(store = ?self.0.store, "the store decides again");
        }
    }

    fn note_error(&self, error: &StoreError) {
        if !self.0.failing.swap(true, Ordering::Relaxed) {
            tracing::error!(
                store = ?self.0.store,
                kind = ?error.kind(),
                error = %error,
                "the store does not decide: calls are decided as `on_store_error` of their rules says"
            );
        }
    }

    /// A reset that fails never changes the answer of the call: it is traced and counted.
    pub(crate) fn note_unsettled(&self, method: &str, error: &StoreError) {
        self.0.unsettled.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(method, kind = ?error.kind(), error = %error, "a success could not clear its record");
    }

    pub(crate) fn store(&self) -> &dyn Store {
        &*self.0.store
    }

    pub(crate) fn fallback(&self) -> &MemoryStore {
        &self.0.fallback
    }
}

impl fmt::Debug for Limiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limiter")
            .field("store", &self.0.store)
            .field("on_store_error", &self.0.on_store_error)
            .finish_non_exhaustive()
    }
}

fn decision(policy: Policy, verdict: Verdict) -> Decision {
    let decision = Decision {
        allowed: false,
        policy,
        remaining: 0,
        retry_after: None,
        reset_after: Duration::ZERO,
    };
    match verdict {
        Verdict::Allowed {
            remaining, reset_after, ..
        } => Decision {
            allowed: true,
            remaining,
            reset_after: Duration::from_micros(reset_after),
            ..decision
        },
        Verdict::Denied {
            retry_after,
            reset_after,
        } => Decision {
            retry_after: Some(Duration::from_micros(retry_after)),
            reset_after: Duration::from_micros(reset_after),
            ..decision
        },
        Verdict::Impossible => decision,
    }
}

/// Sets up a [`Limiter`].
#[derive(Debug)]
#[must_use]
pub struct LimiterBuilder {
    store: Option<Arc<dyn Store>>,
    on_store_error: OnStoreError,
    instances: NonZeroU32,
}

impl LimiterBuilder {
    /// Where counters live; a [`MemoryStore`] by default.
    pub fn store(self, store: impl Store) -> Self {
        Self {
            store: Some(Arc::new(store)),
            ..self
        }
    }

    /// What rules that do not say do while the store does not decide; [`OnStoreError::Local`] by default: a
    /// limit that is less exact for a while is better than none, and than no service.
    pub fn on_store_error(self, mode: OnStoreError) -> Self {
        Self {
            on_store_error: mode,
            ..self
        }
    }

    /// How many instances of the service share the store; 1 by default. Under [`OnStoreError::Local`] each
    /// enforces `count` divided by this, rounded up.
    pub fn instances(self, instances: NonZeroU32) -> Self {
        Self { instances, ..self }
    }

    /// The limiter.
    ///
    /// # Errors
    ///
    /// [`BuildError`] if `RATE_LIMIT_SECRET` is set and too short.
    pub fn build(self) -> Result<Limiter, BuildError> {
        key::check_secret().map_err(|error| BuildError::new(error.to_string()))?;
        let store = self.store.unwrap_or_else(|| Arc::new(MemoryStore::new()));
        Ok(Limiter::over(store, self.on_store_error, self.instances))
    }
}
