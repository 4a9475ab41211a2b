//! A limit on a route, whatever the framework.

use std::fmt;

use crate::charged;
use crate::current::with_current;
use crate::failure::OnStoreError;
use crate::key::{Client, Key, KeyError};
use crate::limiter::Limiter;
use crate::method::Method;
use crate::policy::Policy;
use crate::private::unknown_policy;
use crate::registry::{Numbers, register_layer};
use crate::rejection::Rejection;
use crate::report;
use crate::rule::Rule;

/// A limit on a route, but for how it finds the client of a request.
#[derive(Clone)]
pub(crate) struct RouteLimit {
    method: Method,
    numbers: Numbers,
    pub(crate) on_store_error: Option<OnStoreError>,
    pub(crate) limiter: Option<Limiter>,
    pub(crate) charges_preflights: bool,
}

impl RouteLimit {
    pub(crate) fn new(name: &'static str, numbers: Numbers) -> Self {
        register_layer(name, numbers);
        Self {
            method: Method::named(name),
            numbers,
            on_store_error: None,
            limiter: None,
            charges_preflights: false,
        }
    }

    /// Whether a request is a CORS preflight, which is not charged: a browser sends it ahead of the real request, without the cookie
    /// or header that names the client. `has` tells whether the request has a header.
    pub(crate) fn exempts(&self, method: &str, has: impl Fn(&'static str) -> bool) -> bool {
        !self.charges_preflights && method == "OPTIONS" && has("origin") && has("access-control-request-method")
    }

    /// Charges a request of this client, and returns the counter.
    pub(crate) async fn admit(&self, client: Option<Result<Client, KeyError>>) -> Result<Key, Rejection> {
        let client = client.unwrap_or(Err(KeyError::Missing));
        let limiter = with_current(self.limiter.as_ref(), Limiter::clone);
        let policy = self.policy(&limiter)?;
        let client = client.map_err(|error| Rejection::of_nobody(&error, &self.method, policy, &limiter))?;
        let mut rule = Rule::new(policy, Key::new(self.method, client));
        if let Some(mode) = self.on_store_error {
            rule = rule.on_store_error(mode);
        }
        let answer = limiter.check(rule).await;
        report::note_answer(&self.method, &answer);
        answer.map(|_| rule.charge().key)
    }

    /// The policy that holds now.
    fn policy(&self, limiter: &Limiter) -> Result<Policy, Rejection> {
        let policy = limiter.with_policies(|policies| self.numbers.policy(policies, &self.method, 0));
        policy.ok_or_else(|| unknown_policy(&self.method, &self.numbers, limiter))
    }

    /// Runs what answers a request that was charged on this counter, if on any.
    pub(crate) async fn answer<F: Future>(charged: Option<Key>, answer: F) -> F::Output {
        match charged {
            Some(key) => charged::scope(key, answer).await,
            None => answer.await,
        }
    }
}

impl fmt::Debug for RouteLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.method.name();
        match &self.numbers {
            Numbers::Own(policy) => write!(f, "LimitRoute({name}, {policy})"),
            Numbers::Named(policy) => write!(f, "LimitRoute({name}, policy {policy})"),
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
