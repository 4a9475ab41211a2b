//! What is counted of decisions and of the store, for the facade of the crate `metrics` and for the admin page. Nothing without these
//! features.
//!
//! A label is the name of a method, which stands in the source of the program, or a fixed word: never anything of a client.

use std::any::Any;
#[cfg(feature = "metrics")]
use std::time::Instant;

use crate::decision::{DecidedBy, Decision};
use crate::error::StoreErrorKind;
use crate::failure::OnStoreError;
#[cfg(feature = "admin")]
use crate::key::Client;
use crate::limiter::Limiter;
use crate::method::Method;
use crate::rejection::RejectionKind;
use crate::rule::Rule;
use crate::store::{MemoryStore, Store};

macro_rules! count {
    ($name:literal, $($label:literal => $value:expr),*) => {{
        #[cfg(feature = "metrics")]
        metrics::counter!($name, $($label => $value),*).increment(1);
        #[cfg(not(feature = "metrics"))]
        {
            $(let _ = $value;)*
        }
    }};
}

/// A call that was decided: admitted, or turned away for a reason.
#[cfg_attr(
    not(feature = "admin"),
    allow(dead_code, reason = "only the page tells clients apart")
)]
pub(crate) struct Decided<'a> {
    pub(crate) method: &'a Method,
    pub(crate) refused: Option<RejectionKind>,
    /// `None` where nobody was asked, or nobody answered.
    pub(crate) by: Option<DecidedBy>,
    /// Of the rule that decided, if one did.
    #[cfg_attr(not(feature = "metrics"), allow(dead_code, reason = "a label of a metric"))]
    pub(crate) ordinal: u8,
    /// What it was decided by, if it came that far.
    pub(crate) rules: &'a [Rule],
    /// The place among these of the one that refuses.
    pub(crate) place: usize,
    pub(crate) decision: Option<&'a Decision>,
}

impl<'a> Decided<'a> {
    /// A call that the rule in this place decided.
    pub(crate) fn of(
        method: &'a Method,
        refused: Option<RejectionKind>,
        rules: &'a [Rule],
        place: usize,
        decision: &'a Decision,
    ) -> Self {
        Self {
            method,
            refused,
            by: Some(decision.decided_by),
            ordinal: rules[place].nth(),
            rules,
            place,
            decision: Some(decision),
        }
    }

    /// A call that none of its rules decided.
    #[inline]
    pub(crate) const fn unseen(method: &'a Method, refused: Option<RejectionKind>) -> Self {
        Self {
            method,
            refused,
            by: None,
            ordinal: 0,
            rules: &[],
            place: 0,
            decision: None,
        }
    }

    #[inline]
    pub(crate) const fn by(self, by: DecidedBy, ordinal: u8) -> Self {
        Self {
            by: Some(by),
            ordinal,
            ..self
        }
    }
}

/// A call was decided, by this limiter if it is known.
#[inline]
pub(crate) fn decided(limiter: Option<&Limiter>, decided: &Decided<'_>) {
    #[cfg(feature = "metrics")]
    self::decisions::count(
        *decided.method,
        decided.refused,
        decided.by.map(|by| (by, decided.ordinal)),
    );
    #[cfg(feature = "admin")]
    if let Some(watch) = limiter.and_then(Limiter::watch) {
        watch.note(decided);
    }
    let _ = (limiter, decided);
}

/// What was counted of a client is forgotten, at this method or at all.
#[cfg(feature = "admin")]
pub(crate) fn forgotten(limiter: &Limiter, client: Client, method: Option<&Method>) {
    if let Some(watch) = limiter.watch() {
        watch.forget(client, method);
    }
}

/// The store did not decide a call, and this held in its place.
pub(crate) fn store_error(store: &dyn Store, error: StoreErrorKind, held: OnStoreError) {
    count!(
        "rate_limit_store_errors_total",
        "store" => kind(store),
        "class" => class(error),
        "on_store_error" => mode(held)
    );
}

/// A call that was to be settled could not be.
pub(crate) fn unsettled(method: &Method, error: StoreErrorKind) {
    count!("rate_limit_unsettled_total", "method" => method.name(), "class" => class(error));
}

/// How long a store that is not in this process takes to answer.
pub(crate) struct Stopwatch(#[cfg(feature = "metrics")] Instant);

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self(
            #[cfg(feature = "metrics")]
            Instant::now(),
        )
    }

    /// It has answered, if only that it failed.
    pub(crate) fn stop(self, store: &dyn Store) {
        #[cfg(feature = "metrics")]
        metrics::histogram!("rate_limit_store_seconds", "store" => kind(store)).record(self.0.elapsed());
        #[cfg(not(feature = "metrics"))]
        let _ = store;
    }
}

/// Calls of this process are kept from a server from now on, or no more.
#[cfg_attr(not(feature = "redis"), allow(dead_code))]
pub(crate) fn breaker(open: bool) {
    #[cfg(feature = "admin")]
    crate::admin::breaker(open);
    #[cfg(feature = "metrics")]
    {
        let breakers = metrics::gauge!("rate_limit_open_breakers");
        if open {
            breakers.increment(1.0);
        } else {
            breakers.decrement(1.0);
        }
    }
    #[cfg(not(feature = "metrics"))]
    let _ = open;
}

/// The upper bounds of the buckets of `rate_limit_store_seconds`, in seconds. They cover answers of a local
/// store up to the default deadline of 0.1 s, and slower ones.
///
/// Exporters take a histogram for a summary until they are given buckets, and summaries of several instances cannot be put together. With
/// `metrics-exporter-prometheus`, before the first limiter is built:
///
/// ```text
/// PrometheusBuilder::new()
///     .set_buckets_for_metric(Matcher::Full("rate_limit_store_seconds".into()), &rate_limit::STORE_SECONDS_BUCKETS)?
///     .install()?;
/// ```
///
/// ```
/// assert!(rate_limit_runtime::STORE_SECONDS_BUCKETS.is_sorted());
/// assert!(rate_limit_runtime::STORE_SECONDS_BUCKETS.contains(&0.1));
/// ```
#[cfg(feature = "metrics")]
pub const STORE_SECONDS_BUCKETS: [f64; 12] = [
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0,
];

/// Describes the metrics to the recorder that is installed by now, and has it show those that alerts go by from zero on.
pub(crate) fn describe(store: &dyn Store) {
    #[cfg(not(feature = "metrics"))]
    let _ = store;
    #[cfg(feature = "metrics")]
    {
        // Not set, since another limiter may have counted meanwhile.
        metrics::gauge!("rate_limit_open_breakers").increment(0.0);
        let store = kind(store);
        if store != "memory" {
            for class in StoreErrorKind::ALL.map(class) {
                for mode in [OnStoreError::Open, OnStoreError::Closed, OnStoreError::Local].map(mode) {
                    let labels = [("store", store), ("class", class), ("on_store_error", mode)];
                    metrics::counter!("rate_limit_store_errors_total", &labels).increment(0);
                }
            }
        }
        use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};
        describe_counter!(
            "rate_limit_decisions_total",
            "Calls that were admitted or turned away, by outcome, by who decided and by which rule"
        );
        describe_counter!(
            "rate_limit_store_errors_total",
            "Calls that the store did not decide, by why, and by what held then"
        );
        describe_counter!(
            "rate_limit_unsettled_total",
            "Calls that were to be settled and could not be"
        );
        describe_histogram!(
            "rate_limit_store_seconds",
            Unit::Seconds,
            "How long a store outside of the process takes to answer"
        );
        describe_gauge!(
            "rate_limit_open_breakers",
            "How many servers calls are kept from, until they answer again"
        );
    }
}

pub(crate) fn kind(store: &dyn Store) -> &'static str {
    let store: &dyn Any = store;
    #[cfg(feature = "redis")]
    if store.is::<crate::store::RedisStore>() {
        return "redis";
    }
    #[cfg(feature = "_sql")]
    if store.is::<crate::store::SqlStore>() {
        return "sql";
    }
    if store.is::<MemoryStore>() { "memory" } else { "other" }
}

/// The word for why a store did not decide.
pub(crate) const fn class(error: StoreErrorKind) -> &'static str {
    match error {
        StoreErrorKind::Unavailable => "unavailable",
        StoreErrorKind::Timeout => "timeout",
        StoreErrorKind::Aborted => "aborted",
        StoreErrorKind::Misconfigured => "misconfigured",
        StoreErrorKind::Unexpected => "unexpected",
    }
}

const fn mode(held: OnStoreError) -> &'static str {
    match held {
        OnStoreError::Open => "open",
        OnStoreError::Closed => "closed",
        OnStoreError::Local => "local",
    }
}

/// The word for what became of a call that was turned away.
#[cfg(any(feature = "admin", feature = "metrics"))]
pub(crate) const fn outcome(refused: RejectionKind) -> &'static str {
    match refused {
        RejectionKind::Limited => "limited",
        RejectionKind::Impossible => "impossible",
        RejectionKind::StoreUnavailable => "store_unavailable",
        RejectionKind::Aborted => "aborted",
        RejectionKind::MissingClient => "missing_client",
        RejectionKind::Denied => "denied",
        RejectionKind::Misconfigured => "misconfigured",
    }
}

/// The one that is counted on every call: its labels are put together once a thread, so that the embedded store still allocates nothing.
#[cfg(feature = "metrics")]
mod decisions {
    use std::cell::RefCell;
    use std::collections::HashMap;

    use foldhash::fast::RandomState;
    use metrics::{Key, Label, Level, Metadata, with_recorder};

    use super::{DecidedBy, Method, RejectionKind, Rule, outcome};

    /// Who decided, and which rule.
    type By = Option<(DecidedBy, u8)>;
    type Decision = (Method, Option<RejectionKind>, By);

    thread_local! {
        static KEYS: RefCell<HashMap<Decision, Key, RandomState>> = RefCell::default();
    }

    pub(super) fn count(method: Method, refused: Option<RejectionKind>, by: By) {
        const METADATA: Metadata<'_> = Metadata::new(module_path!(), Level::INFO, Some(module_path!()));
        // A thread that ends counts no more.
        let _ = KEYS.try_with(|keys| {
            let mut keys = keys.borrow_mut();
            let key = keys.entry((method, refused, by)).or_insert_with(|| {
                let labels = [
                    Label::from_static_parts("method", method.name()),
                    Label::from_static_parts("outcome", refused.map_or("allowed", outcome)),
                    Label::from_static_parts("decided_by", by.map_or("none", |(by, _)| decider(by))),
                    Label::from_static_parts("rule", by.map_or("none", |(_, ordinal)| rule(ordinal))),
                ];
                Key::from_parts("rate_limit_decisions_total", labels.to_vec())
            });
            with_recorder(|recorder| recorder.register_counter(key, &METADATA).increment(1));
        });
    }

    const fn decider(by: DecidedBy) -> &'static str {
        match by {
            DecidedBy::Store => "store",
            DecidedBy::Fallback => "fallback",
        }
    }

    /// The first is 1, as in the names of policies.
    fn rule(ordinal: u8) -> &'static str {
        const ORDINALS: [&str; Rule::MAX] = ["1", "2", "3", "4", "5", "6", "7", "8"];
        ORDINALS.get(usize::from(ordinal)).unwrap_or(&"more")
    }
}
