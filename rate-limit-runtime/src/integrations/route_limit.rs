//! A limit on a route, whatever the framework.

use crate::charged;
use crate::current::with_current;
use crate::failure::OnStoreError;
use crate::key::{Client, Key, KeyError};
use crate::limiter::Limiter;
use crate::method::Method;
use crate::policy::Policy;
use crate::rejection::Rejection;
use crate::report;
use crate::rule::Rule;

/// What a limit on a route is, but for how it finds the client of a request.
#[derive(Clone)]
pub(crate) struct RouteLimit {
    pub(crate) method: Method,
    pub(crate) policy: Policy,
    pub(crate) on_store_error: Option<OnStoreError>,
    pub(crate) limiter: Option<Limiter>,
}

impl RouteLimit {
    pub(crate) fn new(name: &'static str, policy: Policy) -> Self {
        Self {
            method: Method::named(name),
            policy,
            on_store_error: None,
            limiter: None,
        }
    }

    /// Charges a request of this client, and tells on which counter.
    pub(crate) async fn admit(&self, client: Option<Result<Client, KeyError>>) -> Result<Key, Rejection> {
        let client = client.unwrap_or(Err(KeyError::Missing));
        let limiter = with_current(self.limiter.as_ref(), Limiter::clone);
        let client = client.map_err(|error| Rejection::of_nobody(&error, &self.method, self.policy, &limiter))?;
        let mut rule = Rule::new(self.policy, Key::new(self.method, client));
        if let Some(mode) = self.on_store_error {
            rule = rule.on_store_error(mode);
        }
        let answer = limiter.check(rule).await;
        report::note_answer(&self.method, &answer);
        answer.map(|_| rule.charge().key)
    }

    /// Runs what answers a request that was charged on this counter, if on any.
    pub(crate) async fn answer<F: Future>(charged: Option<Key>, answer: F) -> F::Output {
        match charged {
            Some(key) => charged::scope(key, answer).await,
            None => answer.await,
        }
    }
}

/// The limits that have charged a request, by name: each charges it once, however often it stands around a handler.
#[derive(Clone, Default)]
pub(crate) struct Charged(Vec<Method>);

impl Charged {
    /// Whether this limit has not charged the request yet. From now on it has.
    pub(crate) fn is_first(&mut self, limit: &RouteLimit) -> bool {
        let first = !self.0.contains(&limit.method);
        if first {
            self.0.push(limit.method);
        }
        first
    }
}
