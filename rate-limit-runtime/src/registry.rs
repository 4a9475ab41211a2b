//! What is limited in the program: each annotated function, which registers itself, and each layer that was built.

use std::borrow::Cow;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use crate::key::Key;
use crate::method::Method;
use crate::policies::{Policies, nearest, suffix};
use crate::policy::Policy;
use crate::site::Site;

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
    /// Own numbers that block too. The time is a literal that was checked when it was read, in microseconds.
    #[doc(hidden)]
    #[must_use]
    pub const fn block(self, time: u64) -> Self {
        match self {
            Self::Own(policy) => Self::Own(policy.block(std::time::Duration::from_micros(time))),
            named => named,
        }
    }

    /// The policy that holds for a rule of a function, by the policies of a limiter, if it has any. `None` if there is none by the name.
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

/// An annotated function or a layer, with the numbers of each of its rules, the outermost first. `None` for what a static cannot tell.
#[derive(Debug)]
pub struct Registered {
    site: &'static Site,
    numbers: &'static [Option<Numbers>],
    /// The path of its module and the line of its attribute; empty and 0 of a layer.
    module: &'static str,
    line: u32,
    at: bool,
}

inventory::collect!(Registered);

/// The layers that were built. As functions do, they stay for the rest of the process.
static LAYERS: Mutex<Vec<&'static Registered>> = Mutex::new(Vec::new());

/// Registers a layer by its name. One that is built again, for each worker of a server or each test, is registered once.
#[cfg(any(feature = "actix-web", feature = "axum"))]
pub(crate) fn register_layer(name: &'static str, numbers: Numbers) {
    let mut layers = LAYERS.lock().unwrap_or_else(PoisonError::into_inner);
    let is_known = |layer: &&Registered| layer.site.method().name() == name && *layer.numbers == [Some(numbers)];
    if !layers.iter().any(is_known) {
        let site = Box::leak(Box::new(Site::named(name)));
        let layer = Registered::new(site, Box::leak(Box::new([Some(numbers)])), "", 0);
        layers.push(Box::leak(Box::new(layer)));
    }
}

impl Registered {
    /// The function at `site`, in this line of a module.
    #[must_use]
    pub const fn new(
        site: &'static Site,
        numbers: &'static [Option<Numbers>],
        module: &'static str,
        line: u32,
    ) -> Self {
        Self {
            site,
            numbers,
            module,
            line,
            at: false,
        }
    }

    /// One that goes by the time of the event.
    #[must_use]
    pub const fn at(self) -> Self {
        Self { at: true, ..self }
    }
}

/// Registers the function of a site, with what is known of the numbers of each rule: `register!(SITE: [sliding_window(5, 600_000_000)] [])`, and `.at()` at the end of one
/// with `at`.
#[doc(hidden)]
#[macro_export]
macro_rules! __register {
    (@known) => { $crate::private::Option::None };
    (@known $($numbers:tt)+) => { $crate::private::Option::Some($crate::private::$($numbers)+) };
    ($site:ident: $([$($numbers:tt)*])+ $(.$at:ident())?) => {
        $crate::private::inventory::submit! {
            $crate::private::Registered::new(
                &$site,
                &[$($crate::__register!(@known $($numbers)*)),+],
                $crate::private::module_path!(),
                $crate::private::line!(),
            ) $(.$at())?
        }
    };
}

/// One rule of an annotated function, or that of a layer.
pub(crate) struct RegisteredRule {
    pub(crate) site: &'static Site,
    pub(crate) place: u8,
    pub(crate) numbers: Option<Numbers>,
    /// Whether it goes by the time of the event, as only a token bucket does.
    pub(crate) at: bool,
    /// Whether the numbers have counters of their own.
    by_numbers: bool,
    module: &'static str,
    line: u32,
}

impl RegisteredRule {
    /// The policy that holds for it, as far as it is known.
    pub(crate) fn policy(&self, policies: &Policies) -> Option<Policy> {
        let method = self.site.method();
        match self.numbers {
            Some(numbers) => numbers.policy(Some(policies), method, self.place),
            None => policies.of(method, self.place),
        }
    }

    /// Whether the numbers have counters of their own, unless one of these policies takes their place.
    #[cfg(any(feature = "admin", feature = "_sql"))]
    pub(crate) fn counts_by_numbers(&self, policies: &Policies) -> bool {
        self.by_numbers && policies.of(self.site.method(), self.place).is_none()
    }

    fn whereabouts(&self) -> String {
        whereabouts_of(self.module, self.line)
    }

    /// The entry of the policies that it goes by, or would.
    fn entry(&self) -> Cow<'static, str> {
        match (self.numbers, self.site.method().name(), suffix(self.place)) {
            (Some(Numbers::Named(name)), ..) | (_, name, "") => Cow::Borrowed(name),
            (_, name, suffix) => Cow::Owned(format!("{name}{suffix}")),
        }
    }
}

/// The rules of all annotated functions and layers, those whose numbers have counters of their own once for each set of numbers that was
/// called with, in the order of their names and of where they stand.
pub(crate) fn rules() -> impl Iterator<Item = RegisteredRule> {
    let mut registered: Vec<&'static Registered> = inventory::iter::<Registered>.into_iter().collect();
    registered.extend(LAYERS.lock().unwrap_or_else(PoisonError::into_inner).iter());
    registered.sort_by_key(|registered| (registered.site.method().name(), registered.module, registered.line));
    registered.into_iter().flat_map(|registered| {
        let called = registered.site.numbers();
        (0..).zip(registered.numbers).flat_map(move |(place, numbers)| {
            let rule = move |numbers, by_numbers| RegisteredRule {
                site: registered.site,
                place,
                numbers,
                at: registered.at,
                by_numbers,
                module: registered.module,
                line: registered.line,
            };
            let called = called.iter().filter(|(of, _)| *of == place);
            let mut rules: Vec<_> = called
                .map(|(_, policy)| rule(Some(Numbers::Own(*policy)), true))
                .collect();
            if rules.is_empty() {
                rules.push(rule(*numbers, false));
            }
            rules
        })
    })
}

fn whereabouts_of(module: &str, line: u32) -> String {
    match module {
        "" => "a layer".to_owned(),
        module => format!("`{module}` (line {line})"),
    }
}

/// Where the attribute of this site stands.
pub(crate) fn whereabouts(site: &'static Site) -> String {
    let registered = inventory::iter::<Registered>
        .into_iter()
        .find(|registered| std::ptr::eq(registered.site, site));
    registered.map_or_else(String::new, |registered| {
        whereabouts_of(registered.module, registered.line)
    })
}

/// Whether another annotated function was given the name of this one.
pub(crate) fn shares_its_name(site: &'static Site) -> bool {
    let mut registered = inventory::iter::<Registered>.into_iter();
    registered.any(|other| !std::ptr::eq(other.site, site) && other.site.is_named_as(site))
}

/// The counters that calls of this process had by the numbers of a rule, of all functions by this name.
pub(crate) fn counters_by_numbers(key: Key) -> impl Iterator<Item = Key> {
    let sites = inventory::iter::<Registered>
        .into_iter()
        .map(|registered| registered.site);
    sites.flat_map(move |site| {
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

/// A line for each pair of functions of one name whose rules in the same place have unlike policies, as far as these are known: they share
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
                    one.whereabouts(),
                    rule.whereabouts()
                ));
            }
            Entry::Occupied(_) => {}
        }
    }
    unlike
}

/// A line for each function or layer that asks for a policy that is not among these.
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
