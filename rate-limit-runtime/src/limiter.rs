//! A store, and what holds while it does not decide.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use smallvec::{SmallVec, smallvec};

#[cfg(feature = "admin")]
use crate::admin::Watch;
use crate::decision::Decision;
use crate::error::{BuildError, StoreError, StoreErrorKind};
use crate::failure::OnStoreError;
use crate::key::{self, Client, Key};
use crate::method::Method;
use crate::observe::{self, Decided, Stopwatch};
use crate::permit::{Admitted, ChargedIn, Permit};
use crate::policies::Policies;
use crate::policy::{Algorithm, Policy};
use crate::registry;
use crate::rejection::{Rejection, RejectionKind};
use crate::rule::Rule;
use crate::store::{Change, Charge, MemoryStore, Reply, Settlement, Store};
#[cfg(feature = "_sql")]
use crate::store::{Driver, SqlConnection, SqlStore};
use crate::throttle::{Throttle, log_throttled};
use crate::verdict::{Hit, Hits, Verdict};

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
/// assert!(!limiter.peek(Rule::new(twice_an_hour, key)).await?.allowed);
///
/// limiter.reset(key).await?;
/// assert!(limiter.check(Rule::new(twice_an_hour, key)).await.is_ok());
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Limiter(Arc<Inner>);

struct Inner {
    store: Arc<dyn Store>,
    /// The store, if it is the embedded one.
    embedded: Option<MemoryStore>,
    /// Made when it is needed first, unless one was given: an embedded store never needs it.
    fallback: OnceLock<MemoryStore>,
    on_store_error: OnStoreError,
    instances: NonZeroU32,
    /// Whether there are policies: most limiters have none, and take no lock.
    has_policies: AtomicBool,
    policies: RwLock<Policies>,
    failing: AtomicBool,
    /// Which of its failures are logged, and whether the log says that it fails.
    failures: Throttle,
    failure_logged: AtomicBool,
    unsettled: AtomicU64,
    /// Who is to know of each call.
    #[cfg(feature = "admin")]
    watch: OnceLock<Watch>,
}

impl Limiter {
    /// Over an embedded store of its own, with the defaults.
    #[must_use]
    pub fn embedded() -> Self {
        Self::over(
            Arc::new(MemoryStore::new()),
            None,
            OnStoreError::default(),
            NonZeroU32::MIN,
            Policies::new(),
        )
    }

    /// Over the Redis at `url`, with the defaults: `redis://host:6379/0`, or whatever [`RedisStore::builder`](crate::RedisStore::builder) takes.
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
            fallback: None,
            on_store_error: OnStoreError::default(),
            instances: NonZeroU32::MIN,
            policies: Policies::new(),
        }
    }

    fn over(
        store: Arc<dyn Store>,
        fallback: Option<MemoryStore>,
        on_store_error: OnStoreError,
        instances: NonZeroU32,
        policies: Policies,
    ) -> Self {
        observe::describe(&*store);
        let any: &dyn std::any::Any = &*store;
        Self(Arc::new(Inner {
            embedded: any.downcast_ref().cloned(),
            store,
            fallback: fallback.map_or_else(OnceLock::new, OnceLock::from),
            on_store_error,
            instances,
            has_policies: AtomicBool::new(!policies.is_empty()),
            policies: RwLock::new(policies),
            failing: AtomicBool::new(false),
            failures: Throttle::new(),
            failure_logged: AtomicBool::new(false),
            unsettled: AtomicU64::new(0),
            #[cfg(feature = "admin")]
            watch: OnceLock::new(),
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
        match self.refused(&rule) {
            Some(refused) => Err(refused),
            None => self.clone().charge(smallvec![rule]).await,
        }
    }

    /// Charges a call by several rules, all or none: if one refuses, no other is charged. Each rule needs a key, an
    /// algorithm or a [place](Rule::place) of its own.
    ///
    /// # Errors
    ///
    /// [`Rejection`] of the rule that takes the longest to admit it. Rules that share a counter, and more than
    /// [`Rule::MAX`], are [`RejectionKind::Misconfigured`].
    pub async fn check_all(&self, rules: &[Rule]) -> Result<Permit, Rejection> {
        self.admit(SmallVec::from_slice(rules)).await
    }

    /// As [`check`](Self::check), in the caller's transaction: the token is taken when it commits, and was never taken when it rolls back.
    /// The store of the limiter is a [`SqlStore`] in the same database, and the policy of the rule a token bucket.
    ///
    /// # Errors
    ///
    /// [`Rejection`] if the call is not to be made. If the store fails that is so whatever `on_store_error` says, since the transaction may
    /// be gone with it: the kind is [`RejectionKind::Aborted`] where it is to be rolled back and run again from its start, and
    /// [`RejectionKind::StoreUnavailable`] where that is no use now.
    #[cfg(feature = "_sql")]
    pub async fn check_within(&self, rule: Rule, transaction: &mut impl SqlConnection) -> Result<Permit, Rejection> {
        self.check_on(rule, transaction.driver()).await
    }

    #[cfg(feature = "_sql")]
    pub(crate) async fn check_on(&self, rule: Rule, transaction: Driver<'_>) -> Result<Permit, Rejection> {
        let store: &dyn std::any::Any = &*self.0.store;
        let answer = match store.downcast_ref::<SqlStore>() {
            Some(store) => store.acquire_within(transaction, rule.charge()).await,
            None => Err(StoreError::new(
                StoreErrorKind::Misconfigured,
                "`within` needs a limiter over `SqlStore`: install one, or give it by `limiter = ..`",
            )),
        };
        match answer {
            Ok(verdict) => {
                let charges = smallvec![rule.charge()];
                self.clone()
                    .judge(&[rule], charges, verdict, ChargedIn::Transaction, Hits::new())
            }
            Err(error) => {
                let method = rule.method().name();
                observe::store_error(&*self.0.store, error.kind(), OnStoreError::Closed);
                warn_if_clock_is_paused(&error);
                log_throttled!(warn, method, class = observe::class(error.kind()), %error, "no token could be taken in a transaction");
                let kind = match error.kind() {
                    StoreErrorKind::Aborted => RejectionKind::Aborted,
                    StoreErrorKind::Misconfigured => RejectionKind::Misconfigured,
                    _ => RejectionKind::StoreUnavailable,
                };
                Err(self.turn_away(kind, &rule))
            }
        }
    }

    /// What [`check`](Self::check) would decide for this rule, charging nothing.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store does not answer.
    pub async fn peek(&self, rule: Rule) -> Result<Decision, StoreError> {
        let verdict = self.0.store.peek(rule.charge()).await?;
        Ok(Decision::by(rule.policy, &verdict))
    }

    /// When the calls were admitted that this rule counts now, the oldest first: to show a client its recent attempts. Only a sliding
    /// window keeps them; for another algorithm there are none. What was refused is not kept. Times in memory are told by the wall
    /// clock of now, so they move with it if it is stepped.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store does not answer.
    pub async fn inspect(&self, rule: Rule) -> Result<Vec<SystemTime>, StoreError> {
        let times = self.0.store.inspect(rule.charge().key, rule.policy).await?;
        let time = |micros| UNIX_EPOCH + Duration::from_micros(micros);
        Ok(times.into_iter().map(time).collect())
    }

    /// Forgets all that was counted by this key, whatever the rule: lets one client go at one function.
    ///
    /// Of a generic function whose numbers have [counters of their own](Rule::by_numbers) this forgets those of the numbers that calls of
    /// this process had. [`reset_rule`](Self::reset_rule) forgets one of others, and [`forget`](Self::forget) all.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store does not answer.
    pub async fn reset(&self, key: Key) -> Result<(), StoreError> {
        let by_numbers = registry::counters_by_numbers(key);
        self.clear(Rule::all_counters(key).chain(by_numbers)).await?;
        #[cfg(feature = "admin")]
        observe::forgotten(self, key.client(), Some(&key.method()));
        Ok(())
    }

    /// Forgets what was counted by one rule: the counter that [`peek`](Self::peek) looks at.
    ///
    /// ```
    /// use std::time::Duration;
    /// use rate_limit_runtime::{Client, Key, Limiter, Method, Policy, Rule};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let limiter = Limiter::embedded();
    /// let key = Key::new(Method::named("my_service::Plan::read"), Client::of("alice@example.org")?);
    /// let rule = Rule::new(Policy::sliding_window(10, Duration::from_secs(3600)), key).by_numbers();
    /// limiter.check(rule).await?;
    /// limiter.reset_rule(rule).await?;
    /// assert_eq!(limiter.peek(rule).await?.remaining, 10);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store does not answer.
    pub async fn reset_rule(&self, rule: Rule) -> Result<(), StoreError> {
        let key = rule.charge().key;
        self.clear([key]).await?;
        #[cfg(feature = "admin")]
        observe::forgotten(self, key.client(), Some(&rule.method()));
        Ok(())
    }

    /// Has the counters forgotten by the store and the fallback.
    async fn clear(&self, counters: impl IntoIterator<Item = Key>) -> Result<(), StoreError> {
        // The policy does not matter for what is forgotten whole.
        let policy = Policy::sliding_window(1, Policy::MIN_WINDOW);
        let clear = |key| Settlement::new(key, policy, Change::Clear);
        let settlements: Vec<_> = counters.into_iter().map(clear).collect();
        if let Some(fallback) = self.0.fallback.get() {
            let _ = fallback.settle(&settlements).await;
        }
        self.0.store.settle(&settlements).await
    }

    /// Forgets a client: deletes all that is kept of him, at whichever function, in the store and in the [fallback](LimiterBuilder::fallback)
    /// of this instance. Tells how many counters that were in the store, as [`Store::forget`] counts them. What the fallbacks of other
    /// instances keep goes within two windows of the last call.
    ///
    /// ```
    /// use std::time::Duration;
    /// use rate_limit_runtime::{Client, Key, Limiter, Method, Policy, Rule};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let limiter = Limiter::embedded();
    /// let alice = Client::of("alice@example.org")?;
    /// for method in ["login", "send-mail"] {
    ///     let policy = Policy::sliding_window(2, Duration::from_secs(3600));
    ///     limiter.check(Rule::new(policy, Key::new(Method::named(method), alice))).await?;
    /// }
    /// assert_eq!(limiter.forget(alice).await?, 2);
    /// assert_eq!(limiter.forget(alice).await?, 0);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store does not answer, or cannot forget anybody.
    pub async fn forget(&self, client: Client) -> Result<u64, StoreError> {
        if let Some(fallback) = self.0.fallback.get() {
            let _ = fallback.forget(client).await;
        }
        let forgotten = self.0.store.forget(client).await?;
        #[cfg(feature = "admin")]
        observe::forgotten(self, client, None);
        Ok(forgotten)
    }

    /// Waits until the store has done what calls have left behind: resets and refunds whose handler is gone, and what is given back of
    /// calls that were refused. Call it at the end of a program, once no more requests are served; each of these ends within the deadline
    /// of the store, or within 10 seconds while its server cannot be reached.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let limiter = rate_limit_runtime::Limiter::embedded();
    /// // .. serve requests until the process is told to stop ..
    /// limiter.drain().await;
    /// # }
    /// ```
    pub async fn drain(&self) {
        self.0.store.drain().await;
    }

    /// Puts these policies in the place of those that the limiter has, for all calls from now on: to reload a configuration. No counter is
    /// lost: the same calls are then judged by the new numbers, and a bucket keeps the tokens that it lacks. Only another algorithm starts
    /// anew. An entry that no function goes by is warned of in the log.
    ///
    /// # Errors
    ///
    /// [`BuildError`] if one is missing that an annotated function or a layer of this program asks for, or if the store does not accept one.
    /// Nothing is changed then.
    pub fn set_policies(&self, policies: Policies) -> Result<(), BuildError> {
        refuse(registry::missing(&policies))?;
        refuse(unaccepted(&*self.0.store, &policies))?;
        registry::warn_of_unused(&policies);
        let has_policies = !policies.is_empty();
        let mut held = self.0.policies.write().unwrap_or_else(PoisonError::into_inner);
        *held = policies;
        self.0.has_policies.store(has_policies, Ordering::Release);
        Ok(())
    }

    /// Checks all annotated functions and layers of this program against the policies and the store of this limiter: at the start, before
    /// calls are served. An entry of the policies that none of them goes by is warned of in the log.
    ///
    /// Functions are known from the start; a layer (`LimitRoute`) is known once it is built, and stays known when it is dropped. So build
    /// the layers first. One that is built later and whose policy is missing refuses every request, which the log says.
    ///
    /// Every function and layer of the program is taken to be decided by this limiter, also one that is given another. Numbers that are constant
    /// expressions are not known before the function is called.
    ///
    /// # Errors
    ///
    /// [`BuildError`] lists every function and layer that asks for a policy that is missing, every one whose policy the store does not
    /// accept, every one with `at` whose policy is not a token bucket, and those of one name that have unlike limits: they share a
    /// counter, which then holds neither.
    pub fn verify(&self) -> Result<(), BuildError> {
        let policies = self.0.policies.read().unwrap_or_else(PoisonError::into_inner).clone();
        registry::warn_of_unused(&policies);
        let mut wrong = registry::missing(&policies);
        wrong.extend(registry::unlike(&policies));
        for rule in registry::rules() {
            let Some(policy) = rule.policy(&policies) else { continue };
            let function = rule.site.method().name();
            if rule.site.goes_by_event_time() && policy.algorithm() != Algorithm::TokenBucket {
                wrong.push(format!(
                    "`{function}` goes by the time of the event, and its policy ({policy}) is no token bucket: make it one, or leave \
                     out `at`"
                ));
            }
            if let Err(error) = self.0.store.accepts(policy) {
                wrong.push(format!(
                    "the policy of `{function}` ({policy}) is not for this store: {error}"
                ));
            }
        }
        // Of rules that differ in the numbers of their own alone, what is the same is told once.
        wrong.dedup();
        refuse(wrong)
    }

    /// Goes on with the policies that hold now, if there are any: they do not change meanwhile.
    #[inline]
    pub(crate) fn with_policies<R>(&self, go_on: impl FnOnce(Option<&Policies>) -> R) -> R {
        if self.0.has_policies.load(Ordering::Acquire) {
            go_on(Some(&self.0.policies.read().unwrap_or_else(PoisonError::into_inner)))
        } else {
            go_on(None)
        }
    }

    /// Whether the store did not decide when it was last asked, so that calls are decided as `on_store_error` says: for a health check.
    /// It says so of the calls of this process, and asks nothing.
    #[must_use]
    pub fn is_degraded(&self) -> bool {
        self.0.failing.load(Ordering::Relaxed)
    }

    /// How many calls that were to be settled could not be, because the store did not answer.
    #[must_use]
    pub fn unsettled(&self) -> u64 {
        self.0.unsettled.load(Ordering::Relaxed)
    }

    /// Who is to know of each call, once somebody is.
    #[cfg(feature = "admin")]
    #[inline]
    pub(crate) fn watch(&self) -> Option<&Watch> {
        self.0.watch.get()
    }

    /// Has each call noted from now on.
    #[cfg(feature = "admin")]
    pub(crate) fn watched(&self) -> &Watch {
        self.0.watch.get_or_init(Watch::new)
    }

    /// The store, if it is the embedded one and no policies are configured.
    #[inline]
    pub(crate) fn embedded_without_policies(&self) -> Option<&MemoryStore> {
        let embedded = self.0.embedded.as_ref();
        embedded.filter(|_| !self.0.has_policies.load(Ordering::Acquire))
    }

    /// Charges a call, unless it is one by a single rule that the store is known to refuse.
    pub(crate) fn admit(&self, rules: Rules) -> Reply<Result<Permit, Rejection>> {
        if let [rule] = &rules[..]
            && let Some(refused) = self.refused(rule)
        {
            return Reply::ready(Err(refused));
        }
        self.clone().charge(rules)
    }

    /// Charges at once, where the store need not wait; nothing is then allocated.
    fn charge(self, rules: Rules) -> Reply<Result<Permit, Rejection>> {
        let charges: Charges = rules.iter().map(Rule::charge).collect();
        if charges.is_empty() {
            return Reply::ready(Ok(Permit::unseen(self)));
        }
        if let Some(shared) = first_shared(&charges) {
            log_throttled!(
                error,
                shared.key.method().name(),
                "two rules of a call share a counter, or there are too many"
            );
            return Reply::ready(Err(self.turn_away(RejectionKind::Misconfigured, &rules[0])));
        }
        for rule in &rules {
            if let Err(error) = self.0.store.accepts(rule.policy) {
                let method = rule.method().name();
                log_throttled!(error, method, policy = %rule.policy, %error, "the store does not keep this policy, so every call is refused");
                return Reply::ready(Err(self.turn_away(RejectionKind::Misconfigured, rule)));
            }
        }
        let answer = self.0.store.acquire(&charges);
        // One that answers at once is in this process, and never leaves the fallback to decide alone.
        let remote = answer.answer().is_none().then(Stopwatch::start);
        answer.map(move |answer| self.conclude(&rules, answer, remote))
    }

    /// Refuses a call that the store is known to refuse.
    #[inline]
    fn refused(&self, rule: &Rule) -> Option<Rejection> {
        let verdict = self.0.store.refuses(&rule.charge())?;
        let decision = Decision::by(rule.policy, &verdict);
        Some(self.refuse(RejectionKind::Limited, std::slice::from_ref(rule), 0, decision))
    }

    fn conclude(
        self,
        rules: &[Rule],
        answer: Result<Verdict, StoreError>,
        remote: Option<Stopwatch>,
    ) -> Result<Permit, Rejection> {
        let is_remote = remote.is_some();
        if let Some(waited) = remote {
            waited.stop(&*self.0.store);
        }
        match answer {
            Ok(verdict) => {
                self.note_answer();
                let mirrored = if is_remote {
                    self.mirror(rules, &verdict)
                } else {
                    Hits::new()
                };
                let charges = rules.iter().map(Rule::charge).collect();
                self.judge(rules, charges, verdict, ChargedIn::Store, mirrored)
            }
            Err(error) => {
                self.note_error(&error);
                self.without_store(rules, &error)
            }
        }
    }

    /// Records in the fallback what the store has admitted by rules that are local, so that the fallback knows the calls of this process
    /// when it has to decide. It refuses none: the store has decided.
    fn mirror(&self, rules: &[Rule], verdict: &Verdict) -> Hits {
        let Verdict::Allowed { hits, .. } = verdict else {
            return Hits::new();
        };
        let mirrored = rules.iter().zip(hits).map(|(rule, hit)| {
            if *hit == Hit::NONE || self.mode(rule) != OnStoreError::Local {
                return Hit::NONE;
            }
            let mut charge = rule.charge();
            charge.policy = charge.policy.recorded_by_one_of(self.0.instances.get());
            self.fallback().record(&charge)
        });
        mirrored.collect()
    }

    fn mode(&self, rule: &Rule) -> OnStoreError {
        rule.on_store_error.unwrap_or(self.0.on_store_error)
    }

    /// The rules decide each for itself: one that is closed refuses, those that are local are enforced together, those
    /// that are open ask for nothing.
    fn without_store(self, rules: &[Rule], error: &StoreError) -> Result<Permit, Rejection> {
        if let Some(closed) = rules
            .iter()
            .find(|rule| self.mode(rule) == OnStoreError::Closed && !rule.observe)
        {
            let kind = match error.kind() {
                StoreErrorKind::Misconfigured => RejectionKind::Misconfigured,
                _ => RejectionKind::StoreUnavailable,
            };
            observe::store_error(&*self.0.store, error.kind(), OnStoreError::Closed);
            return Err(self.turn_away(kind, closed));
        }
        if !rules.iter().any(|rule| self.mode(rule) == OnStoreError::Local) {
            observe::store_error(&*self.0.store, error.kind(), OnStoreError::Open);
            observe::decided(Some(&self), &Decided::unseen(&rules[0].method(), None));
            return Ok(Permit::unseen(self));
        }
        observe::store_error(&*self.0.store, error.kind(), OnStoreError::Local);
        let charges: Charges = rules
            .iter()
            .map(|rule| {
                let mut charge = rule.charge();
                charge.policy = charge.policy.divided(self.0.instances.get());
                // It stays in its place, so that each rule is settled as its own.
                if self.mode(rule) != OnStoreError::Local {
                    charge.cost = 0;
                    // A block that a rule began which is local on the same counter is not for it either.
                    charge.observe = true;
                }
                charge
            })
            .collect();
        match self.fallback().charge(&charges) {
            // Its share is too small for the call, which the whole limit would admit.
            Verdict::Impossible { which } if rules[which].cost <= rules[which].policy.count() => {
                Err(self.turn_away(RejectionKind::StoreUnavailable, &rules[which]))
            }
            verdict => self.judge(rules, charges, verdict, ChargedIn::Fallback, Hits::new()),
        }
    }

    /// What is told of a verdict: by the policies of the rules, whatever shares of them were charged.
    fn judge(
        self,
        rules: &[Rule],
        charges: Charges,
        verdict: Verdict,
        charged_in: ChargedIn,
        mirrored: Hits,
    ) -> Result<Permit, Rejection> {
        let decision = |place: usize| Decision::by(rules[place].policy, &verdict).decided_by(charged_in.decided_by());
        let refuse = |kind, place: usize| {
            let place = place.min(rules.len() - 1);
            Err(self.refuse(kind, rules, place, decision(place)))
        };
        match &verdict {
            Verdict::Allowed { tightest, hits, .. } => {
                let place = (*tightest).min(rules.len() - 1);
                let decision = decision(place);
                observe::decided(
                    Some(&self),
                    &Decided::of(&rules[0].method(), None, rules, place, &decision),
                );
                for (charge, hit) in charges.iter().zip(hits) {
                    if charge.observe && *hit == Hit::NONE && charge.cost > 0 {
                        let method = charge.key.method();
                        log_throttled!(info, method.name(), policy = %charge.policy, "a rule that observes would have refused a call");
                    }
                }
                let mirrored = mirrored.into_iter().chain(std::iter::repeat(Hit::NONE));
                let admitted = charges.into_iter().zip(hits).zip(mirrored);
                let admitted = admitted.map(|((charge, hit), mirrored)| Admitted {
                    charge,
                    hit: *hit,
                    mirrored,
                });
                let admitted = admitted.collect();
                Ok(Permit::new(self, decision, admitted, charged_in))
            }
            Verdict::Denied { longest, .. } => refuse(RejectionKind::Limited, *longest),
            Verdict::Impossible { which } => refuse(RejectionKind::Impossible, *which),
        }
    }

    /// A refusal by the rule in this place.
    fn refuse(&self, kind: RejectionKind, rules: &[Rule], place: usize, decision: Decision) -> Rejection {
        let rule = &rules[place];
        let method = rule.method();
        observe::decided(Some(self), &Decided::of(&method, Some(kind), rules, place, &decision));
        reject(kind, rule).with_decision(decision)
    }

    /// A rejection that nobody decided.
    fn turn_away(&self, kind: RejectionKind, rule: &Rule) -> Rejection {
        observe::decided(Some(self), &Decided::unseen(&rule.method(), Some(kind)));
        reject(kind, rule)
    }

    fn note_answer(&self) {
        if self.0.failing.load(Ordering::Relaxed) {
            self.0.failing.store(false, Ordering::Relaxed);
            if self.0.failure_logged.swap(false, Ordering::Relaxed) {
                tracing::info!(store = ?self.0.store, "the store decides again");
            }
        }
    }

    /// Logs once a minute while calls fail, however often the store fails and recovers, as one does that fails for some clients alone.
    fn note_error(&self, error: &StoreError) {
        warn_if_clock_is_paused(error);
        self.0.failing.store(true, Ordering::Relaxed);
        if let Some(left_out) = self.0.failures.pass("") {
            self.0.failure_logged.store(true, Ordering::Relaxed);
            tracing::error!(
                left_out,
                store = ?self.0.store,
                class = observe::class(error.kind()),
                error = %error,
                "the store does not decide: calls are decided as `on_store_error` of their rules says"
            );
        }
    }

    /// A settlement that fails never changes the answer of the call: it is logged and counted.
    pub(crate) fn note_unsettled(&self, method: &Method, how: Unsettled, error: &StoreError) {
        warn_if_clock_is_paused(error);
        self.0.unsettled.fetch_add(1, Ordering::Relaxed);
        observe::unsettled(method, error.kind());
        let (method, class) = (method.name(), observe::class(error.kind()));
        log_throttled!(warn, method, class, %error, "{}", how.told());
    }

    pub(crate) fn store(&self) -> &dyn Store {
        &*self.0.store
    }

    pub(crate) fn fallback(&self) -> &MemoryStore {
        self.0.fallback.get_or_init(MemoryStore::new)
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

/// The rules of one call.
pub(crate) type Rules = SmallVec<[Rule; 2]>;
type Charges = SmallVec<[Charge; 2]>;

/// A charge whose counter another one has, or the first too many.
fn first_shared(charges: &[Charge]) -> Option<&Charge> {
    let shared = |(place, charge): (usize, &Charge)| charges[..place].iter().any(|before| before.key == charge.key);
    let place = (0..charges.len()).find(|place| shared((*place, &charges[*place])));
    charges.get(place.unwrap_or(Rule::MAX))
}

/// A line for each policy that the store does not accept.
fn unaccepted(store: &dyn Store, policies: &Policies) -> Vec<String> {
    let refused = policies.iter().filter_map(|(name, policy)| {
        let error = store.accepts(policy).err()?;
        Some(format!("the policy `{name}` ({policy}) is not for this store: {error}"))
    });
    refused.collect()
}

/// What is wrong, each in a line of its own.
fn refuse(wrong: Vec<String>) -> Result<(), BuildError> {
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(BuildError::new(wrong.join("\n"))),
    }
}

/// What a settlement could not do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unsettled {
    Reset,
    Refund,
    Both,
}

impl Unsettled {
    const fn told(self) -> &'static str {
        match self {
            Self::Reset => "the record of a client could not be cleared, and stays counted",
            Self::Refund => "a charge could not be refunded, and stays counted",
            Self::Both => {
                "the record of a client could not be cleared and a charge could not be refunded: both stay counted"
            }
        }
    }
}

/// Says so once, if a deadline ended that was none.
fn warn_if_clock_is_paused(error: &StoreError) {
    if error.kind() == StoreErrorKind::Timeout {
        #[cfg(any(feature = "redis", feature = "_sql"))]
        crate::store::runtime::warn_if_clock_is_paused();
    }
}

fn reject(kind: RejectionKind, rule: &Rule) -> Rejection {
    Rejection::new(kind, &rule.method(), rule.policy)
}

/// Sets up a [`Limiter`].
#[derive(Debug)]
#[must_use]
pub struct LimiterBuilder {
    store: Option<Arc<dyn Store>>,
    fallback: Option<MemoryStore>,
    on_store_error: OnStoreError,
    instances: NonZeroU32,
    policies: Policies,
}

impl LimiterBuilder {
    /// Where counters live; a [`MemoryStore`] by default.
    pub fn store(self, store: impl Store) -> Self {
        Self {
            store: Some(Arc::new(store)),
            ..self
        }
    }

    /// What decides under [`OnStoreError::Local`] while the store does not; a [`MemoryStore`] of 100,000 counters by default.
    ///
    /// While a store outside of this process decides, the calls that it admits are counted here too, so that the limit holds on when it
    /// fails. Give one with room for all clients that are active in a window: what it gives up for want of room counts from nothing. A sliding
    /// window takes 8 bytes a call that counts.
    pub fn fallback(self, fallback: MemoryStore) -> Self {
        Self {
            fallback: Some(fallback),
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

    /// How many instances of the service share the store; 1 by default. Under [`OnStoreError::Local`] each enforces its share while the
    /// store does not decide: `count` divided by this, rounded up, over all calls that it admitted in the window, also those that the
    /// store had decided.
    ///
    /// For a count of `n`, `k` instances and the share `s` = `n / k`, rounded up, all together admit in any window
    ///
    /// | in which | at most |
    /// |---|---|
    /// | the store decides | `n` |
    /// | it never decides | `k·s`, less than `n + k` |
    /// | it fails | `n + (k - 1)·s`, and `k·s` if no instance was above its share when it failed |
    /// | it fails and recovers, for any number of times and of instances | `n + k·s` |
    /// | it fails and comes back without its counters | `n + (k - 1)·s`, and `n` more each time it does |
    ///
    /// A window is one of the policy: any, for a sliding window; one of its own, for a fixed window. A bucket admits in a time `W` what it
    /// refills besides, `W / refill`, and the share of one refills `k` times slower. The store does not hear afterwards of what the
    /// fallbacks admitted, hence `k·s` in the row of the recovery.
    ///
    /// Each fallback knows the calls of its own process. A reset or a refund reaches it in the instance that made the call, and what others
    /// admitted of the client stays counted there, which refuses too early at the worst. A block that the store began is not known to it:
    /// it begins with the first call that it refuses itself. A process that starts while the store fails counts from nothing, as does one
    /// whose [fallback](Self::fallback) was full.
    pub fn instances(self, instances: NonZeroU32) -> Self {
        Self { instances, ..self }
    }

    /// Numbers from configuration, by name; none by default.
    pub fn policies(self, policies: Policies) -> Self {
        Self { policies, ..self }
    }

    /// The limiter.
    ///
    /// # Errors
    ///
    /// [`BuildError`] if `RATE_LIMIT_SECRET` is set and too short, or if the store does not accept one of the policies. Whether all are
    /// there that functions ask for is told by [`Limiter::verify`].
    pub fn build(self) -> Result<Limiter, BuildError> {
        key::check_secret().map_err(|error| BuildError::new(error.to_string()))?;
        let store = self.store.unwrap_or_else(|| Arc::new(MemoryStore::new()));
        refuse(unaccepted(&*store, &self.policies))?;
        let any: &dyn std::any::Any = &*store;
        if !any.is::<MemoryStore>() {
            key::warn_without_secret();
        }
        Ok(Limiter::over(
            store,
            self.fallback,
            self.on_store_error,
            self.instances,
            self.policies,
        ))
    }
}
