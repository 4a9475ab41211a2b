//! What is limited in the program: each annotated function, which registers itself, and each layer that was built.

mod before_main;
mod rule;
mod site;

use std::borrow::Cow;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use crate::key::Key;
use crate::method::Method;
use crate::policies::{Policies, nearest, suffix};
use crate::policy::Policy;

pub(crate) use self::rule::SettleOn;
pub use self::rule::SiteRule;
pub use self::site::{Site, TypeName, type_name};

/// The numbers of a limit: its own, or those of a configured policy. `LimitRoute` takes either; a [`Policy`] converts to the former.
///
/// ```
/// use std::time::Duration;
/// use rate_limit_runtime::{Numbers, Policy};
///
/// let own: Numbers = Policy::sliding_window(100, Duration::from_secs(60)).into();
/// let configured = Numbers::Named("api");
/// assert_ne!(own, configured);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// Its own, unless the policies of the limiter have an entry by the name of the function or layer.
    Own(Policy),
    /// Those of the limiter's policy by this name. While there is none, every call is refused as
    /// [`Misconfigured`](crate::RejectionKind::Misconfigured).
    Named(&'static str),
}

impl From<Policy> for Numbers {
    fn from(policy: Policy) -> Self {
        Self::Own(policy)
    }
}

impl Numbers {
    /// Returns the policy that holds for a rule of a function, by the policies of a limiter, if it has any. `None` if there is none by the name.
    #[inline]
    pub(crate) fn policy(&self, policies: Option<&Policies>, method: &Method, place: u8) -> Option<Policy> {
        match (self, policies) {
            (Self::Own(policy), None) => Some(*policy),
            (Self::Own(policy), Some(policies)) => policies.of(method, place).or(Some(*policy)),
            (Self::Named(name), policies) => policies?.get(name),
        }
    }
}

/// The numbers that a trait has for its `impl`s.
#[derive(Debug)]
pub struct TraitNumbers {
    pub(crate) numbers: Numbers,
    /// Whether they are constant expressions, which may be others for another type.
    pub(crate) constant: bool,
}

impl TraitNumbers {
    /// Literals, or the name of a policy.
    #[must_use]
    pub const fn literal(numbers: Numbers) -> Self {
        Self {
            numbers,
            constant: false,
        }
    }

    /// Constant expressions.
    #[must_use]
    pub const fn constant(numbers: Numbers) -> Self {
        Self {
            numbers,
            constant: true,
        }
    }
}

/// The annotated functions of the program and the layers that were built. They stay for the rest of the process.
static SITES: Mutex<Vec<&'static Site>> = Mutex::new(Vec::new());

pub(crate) fn add(site: &'static Site) {
    SITES.lock().unwrap_or_else(PoisonError::into_inner).push(site);
}

/// Registers a layer by its name. One that is built again, for each worker of a server or each test, is registered once.
#[cfg(any(feature = "actix-web", feature = "axum"))]
pub(crate) fn register_layer(name: &'static str, numbers: Numbers) {
    let mut sites = SITES.lock().unwrap_or_else(PoisonError::into_inner);
    let is_known = |site: &&'static Site| {
        let known = site.rules().first().and_then(|rule| rule.numbers);
        site.place().is_none() && site.method().name() == name && known == Some(numbers)
    };
    if !sites.iter().any(is_known) {
        let rules = Box::leak(Box::new([SiteRule::of(numbers)]));
        sites.push(Box::leak(Box::new(Site::new((), rules).named(name))));
    }
}

/// One rule of an annotated function, or that of a layer.
pub(crate) struct RegisteredRule {
    pub(crate) site: &'static Site,
    pub(crate) place: u8,
    pub(crate) numbers: Option<Numbers>,
    /// Whether the numbers have counters of their own.
    by_numbers: bool,
}

impl RegisteredRule {
    /// Returns the policy that holds for it, as far as it is known.
    pub(crate) fn policy(&self, policies: &Policies) -> Option<Policy> {
        let method = self.site.method();
        match self.numbers {
            Some(numbers) => numbers.policy(Some(policies), method, self.place),
            None => policies.of(method, self.place),
        }
    }

    /// Returns `true` if the numbers have counters of their own, unless one of these policies takes their place.
    #[cfg(any(feature = "admin", feature = "_sql"))]
    pub(crate) fn counts_by_numbers(&self, policies: &Policies) -> bool {
        self.by_numbers && policies.of(self.site.method(), self.place).is_none()
    }

    /// Returns the entry of the policies that it goes by, or would.
    fn entry(&self) -> Cow<'static, str> {
        match (self.numbers, self.site.method().name(), suffix(self.place)) {
            (Some(Numbers::Named(name)), ..) | (_, name, "") => Cow::Borrowed(name),
            (_, name, suffix) => Cow::Owned(format!("{name}{suffix}")),
        }
    }
}

fn sites() -> Vec<&'static Site> {
    SITES.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Returns the rules of all annotated functions and layers, those whose numbers have counters of their own once for each set of numbers that was
/// called with, in the order of their names and of where they stand.
pub(crate) fn rules() -> impl Iterator<Item = RegisteredRule> {
    let mut sites = sites();
    sites.sort_by_key(|site| (site.method().name(), site.place()));
    sites.into_iter().flat_map(|site| {
        let called = site.numbers();
        (0..).zip(site.rules()).flat_map(move |(place, known)| {
            let rule = move |numbers, by_numbers| RegisteredRule {
                site,
                place,
                numbers,
                by_numbers,
            };
            let called = called.iter().filter(|(of, _)| *of == place);
            let mut rules: Vec<_> = called
                .map(|(_, policy)| rule(Some(Numbers::Own(*policy)), true))
                .collect();
            if rules.is_empty() {
                rules.push(rule(known.numbers, false));
            }
            rules
        })
    })
}

/// Returns `true` if another annotated function was given the name of this one.
pub(crate) fn shares_its_name(site: &'static Site) -> bool {
    let is_another = |other: &&'static Site| !std::ptr::eq(*other, site) && other.place().is_some();
    sites()
        .iter()
        .filter(|other| is_another(other))
        .any(|other| other.is_named_as(site))
}

/// Returns the counters that calls of this process had by the numbers of a rule, of all functions by this name.
pub(crate) fn counters_by_numbers(key: Key) -> impl Iterator<Item = Key> {
    sites().into_iter().flat_map(move |site| {
        // Most have none, and their names need not be found for that.
        let mut numbers = site.numbers();
        numbers.retain(|_| *site.method() == key.method());
        let counter =
            move |(ordinal, policy): (u8, Policy)| key.counted_by(policy.algorithm(), ordinal).counted_for(&policy);
        numbers.into_iter().map(counter)
    })
}

/// Warns of each policy that no function or layer goes by.
pub(crate) fn warn_of_unused(policies: &Policies) {
    let entries: BTreeSet<_> = rules().map(|rule| rule.entry()).collect();
    for (policy, _) in policies.iter().filter(|(policy, _)| !entries.contains(*policy)) {
        match nearest(policy, entries.iter().map(|entry| &**entry)) {
            Some(known) => tracing::warn!(
                policy,
                "no function or layer goes by this policy: did you mean `{known}`? Correct the name, or leave the policy out"
            ),
            None => tracing::warn!(
                policy,
                "no function or layer goes by this policy: leave it out, or see how the function or layer is named"
            ),
        }
    }
}

/// Returns a line for each pair of functions of one name whose rules in the same place have unlike policies, as far as these are known: they share
/// a counter, or are meant to.
pub(crate) fn unlike(policies: &Policies) -> Vec<String> {
    let mut first: BTreeMap<(&str, u8), (RegisteredRule, Policy)> = BTreeMap::new();
    let mut unlike = Vec::new();
    for rule in rules().filter(|rule| !rule.by_numbers) {
        let (name, Some(policy)) = (rule.site.method().name(), rule.policy(policies)) else {
            continue;
        };
        match first.entry((name, rule.place)) {
            Entry::Vacant(entry) => {
                entry.insert((rule, policy));
            }
            Entry::Occupied(entry) if entry.get().1 != policy => {
                let (one, one_policy) = entry.get();
                let suffix = suffix(rule.place);
                unlike.push(format!(
                    "`{name}{suffix}` has unlike limits on one counter: {one_policy} in {}, and {policy} in {}: give them one limit, or \
                     one of them another name",
                    one.site.whereabouts(),
                    rule.site.whereabouts()
                ));
            }
            Entry::Occupied(_) => {}
        }
    }
    unlike
}

/// Returns a line for each function or layer that asks for a policy that is not among these.
pub(crate) fn missing(policies: &Policies) -> Vec<String> {
    let missing = rules().filter_map(|rule| match rule.numbers {
        Some(Numbers::Named(name)) if policies.get(name).is_none() => {
            let function = rule.site.method().name();
            Some(match nearest(name, policies.iter().map(|(name, _)| name)) {
                Some(known) => {
                    format!("`{function}` asks for the policy `{name}`, which is missing: did you mean `{known}`")
                }
                None => format!("`{function}` asks for the policy `{name}`, which is missing: add it"),
            })
        }
        _ => None,
    });
    let mut missing: Vec<String> = missing.collect();
    // Of two rules of one function that ask for one policy it is told once.
    missing.dedup();
    missing
}
