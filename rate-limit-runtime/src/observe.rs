//! What is counted of decisions and of the store, for the facade of the crate `metrics` and for the admin page. Nothing without these
//! features.
//!
//! A label is the name of a method, which stands in the source of the program, or a fixed word: never anything of a client.

use std::any::Any;
#[cfg(feature = "metrics")]
use std::time::Instant;

use crate::decision::Decision;
use crate::error::StoreErrorKind;
use crate::failure::OnStoreError;
#[cfg(feature = "admin")]
use crate::key::Client;
use crate::limiter::Limiter;
use crate::method::Method;
use crate::permit::DecidedBy;
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
    /// What it was decided by, if it came that far.
    pub(crate) rules: &'a [Rule],
    /// The place among these of the one that refuses.
    pub(crate) place: usize,
    pub(crate) decision: Option<&'a Decision>,
}

impl<'a> Decided<'a> {
    /// A call that none of its rules decided.
    #[inline]
    pub(crate) const fn unseen(method: &'a Method, refused: Option<RejectionKind>) -> Self {
        Self {
            method,
            refused,
            by: None,
            rules: &[],
            place: 0,
            decision: None,
        }
    }

    #[inline]
    pub(crate) const fn by(self, by: DecidedBy) -> Self {
        Self { by: Some(by), ..self }
    }
}

/// A call was decided, by this limiter if it is known.
#[inline]
pub(crate) fn decided(limiter: Option<&Limiter>, decided: &Decided<'_>) {
    #[cfg(feature = "metrics")]
    self::decisions::count(*decided.method, decided.refused, decided.by);
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

/// Says what is what to a recorder that is installed by now.
pub(crate) fn describe() {
    #[cfg(feature = "metrics")]
    {
        use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};
        describe_counter!(
            "rate_limit_decisions_total",
            "Calls that were admitted or turned away, by outcome and by who decided"
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

    use super::{DecidedBy, Method, RejectionKind, outcome};

    type Decision = (Method, Option<RejectionKind>, Option<DecidedBy>);

    thread_local! {
        static KEYS: RefCell<HashMap<Decision, Key, RandomState>> = RefCell::default();
    }

    pub(super) fn count(method: Method, refused: Option<RejectionKind>, by: Option<DecidedBy>) {
        const METADATA: Metadata<'_> = Metadata::new(module_path!(), Level::INFO, Some(module_path!()));
        // A thread that ends counts no more.
        let _ = KEYS.try_with(|keys| {
            let mut keys = keys.borrow_mut();
            let key = keys.entry((method, refused, by)).or_insert_with(|| {
                let labels = [
                    Label::from_static_parts("method", method.name()),
                    Label::from_static_parts("outcome", refused.map_or("allowed", outcome)),
                    Label::from_static_parts("decided_by", by.map_or("none", decider)),
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
            #[cfg(feature = "_sql")]
            DecidedBy::Transaction => "store",
        }
    }
}
