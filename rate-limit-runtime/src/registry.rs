//! What is limited in the program: each annotated function, which registers itself, and each layer that was built.

use std::borrow::Cow;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::failure::OnStoreError;
use crate::method::{Method, Site};
use crate::policies::{Policies, nearest, suffix};
use crate::policy::Policy;

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

/// What the attribute says of one rule, as far as it is the same for every call.
#[derive(Clone, Copy, Debug)]
pub struct SiteRule {
    /// `None` for numbers that a static cannot tell.
    pub(crate) numbers: Option<Numbers>,
    pub(crate) settle: Option<SettleOn>,
    pub(crate) observe: bool,
    pub(crate) on_store_error: Option<OnStoreError>,
}

/// When a rule settles a call, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SettleOn {
    /// Forget the record up to this call, after a success.
    ResetOnSuccess,
    /// Take back the charge, after a success.
    RefundOnSuccess,
    /// Take back the charge, after anything else.
    RefundOnError,
}

impl SiteRule {
    /// Returns a rule of these numbers.
    #[must_use]
    pub const fn of(numbers: Numbers) -> Self {
        Self {
            numbers: Some(numbers),
            ..Self::computed()
        }
    }

    /// Returns a rule whose numbers each call tells, since they are computed.
    #[must_use]
    pub const fn computed() -> Self {
        Self {
            numbers: None,
            settle: None,
            observe: false,
            on_store_error: None,
        }
    }

    /// Sets the block of own numbers. The time is a literal that was checked when it was read, in microseconds.
    #[must_use]
    pub const fn block(mut self, time: u64) -> Self {
        if let Some(Numbers::Own(policy)) = self.numbers {
            self.numbers = Some(Numbers::Own(policy.block(Duration::from_micros(time))));
        }
        self
    }

    /// Sets `observe`.
    #[must_use]
    pub const fn observe(mut self) -> Self {
        self.observe = true;
        self
    }

    /// Sets `on_store_error = open`.
    #[must_use]
    pub const fn open(mut self) -> Self {
        self.on_store_error = Some(OnStoreError::Open);
        self
    }

    /// Sets `on_store_error = closed`.
    #[must_use]
    pub const fn closed(mut self) -> Self {
        self.on_store_error = Some(OnStoreError::Closed);
        self
    }

    /// Sets `on_store_error = local`.
    #[must_use]
    pub const fn local(mut self) -> Self {
        self.on_store_error = Some(OnStoreError::Local);
        self
    }

    /// Sets `reset_on_success`.
    #[must_use]
    pub const fn reset_on_success(mut self) -> Self {
        self.settle = Some(SettleOn::ResetOnSuccess);
        self
    }

    /// Sets `refund_on_success`.
    #[must_use]
    pub const fn refund_on_success(mut self) -> Self {
        self.settle = Some(SettleOn::RefundOnSuccess);
        self
    }

    /// Sets `refund_on_error`.
    #[must_use]
    pub const fn refund_on_error(mut self) -> Self {
        self.settle = Some(SettleOn::RefundOnError);
        self
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
        site.module().is_empty() && site.method().name() == name && known == Some(numbers)
    };
    if !sites.iter().any(is_known) {
        let rules = Box::leak(Box::new([SiteRule::of(numbers)]));
        sites.push(Box::leak(Box::new(Site::new((), rules, "", 0).named(name))));
    }
}

/// Writes the static of an annotated function, and what registers it before `main`:
/// `site!(SITE: [sliding_window(5, 600_000_000)] [computed().observe()] .named("login"))`.
#[doc(hidden)]
#[macro_export]
macro_rules! __site {
    ($site:ident: $([$($rule:tt)+])+ $(.$option:ident($($value:literal)?))*) => {
        static $site: $crate::private::Site = $crate::private::Site::new(
            __rate_limit_register,
            &[$($crate::private::$($rule)+),+],
            $crate::private::module_path!(),
            $crate::private::line!(),
        )$(.$option($($value)?))*;
        $crate::__before_main! {
            extern "C" fn __rate_limit_register() {
                $crate::private::Site::register(&$site);
            }
        }
    };
}

/// Where the address of a function lies that is called before `main`, as the linkers of the platforms have it.
macro_rules! before_main {
    ($($when:meta => $section:literal)*) => {$(
        #[cfg($when)]
        #[doc(hidden)]
        #[macro_export]
        macro_rules! __before_main {
            ($constructor:item) => {
                $constructor
                #[used]
                #[unsafe(link_section = $section)]
                static __RATE_LIMIT_REGISTER: extern "C" fn() = __rate_limit_register;
            };
        }
    )*};
}
before_main! {
    windows => ".CRT$XCU"
    target_vendor = "apple" => "__DATA,__mod_init_func,mod_init_funcs"
    not(any(windows, target_vendor = "apple")) => ".init_array"
}

/// One rule of an annotated function, or that of a layer.
pub(crate) struct RegisteredRule {
    pub(crate) site: &'static Site,
    pub(crate) place: u8,
    pub(crate) numbers: Option<Numbers>,
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

    fn whereabouts(&self) -> String {
        match self.site.module() {
            "" => "a layer".to_owned(),
            module => format!("`{module}` (line {})", self.site.line()),
        }
    }

    /// The entry of the policies that it goes by, or would.
    fn entry(&self) -> Cow<'static, str> {
        match (self.numbers, self.site.method().name(), suffix(self.place)) {
            (Some(Numbers::Named(name)), ..) | (_, name, "") => Cow::Borrowed(name),
            (_, name, suffix) => Cow::Owned(format!("{name}{suffix}")),
        }
    }
}

/// The rules of all annotated functions and layers, in the order of their names and of where they stand.
pub(crate) fn rules() -> impl Iterator<Item = RegisteredRule> {
    let mut sites = SITES.lock().unwrap_or_else(PoisonError::into_inner).clone();
    sites.sort_by_key(|site| (site.method().name(), site.module(), site.line()));
    sites.into_iter().flat_map(|site| {
        (0..).zip(site.rules()).map(move |(place, rule)| RegisteredRule {
            site,
            place,
            numbers: rule.numbers,
        })
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
    for rule in rules() {
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
