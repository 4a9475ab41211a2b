//! What is limited in the program: each annotated function, which registers itself, and each layer that was built.

use std::sync::{Mutex, PoisonError};

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

/// An annotated function or a layer, with the numbers of each of its rules, the outermost first. `None` for what a static cannot tell.
#[derive(Debug)]
pub struct Registered {
    site: &'static Site,
    numbers: &'static [Option<Numbers>],
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
        let layer = Registered::new(site, Box::leak(Box::new([Some(numbers)])));
        layers.push(Box::leak(Box::new(layer)));
    }
}

impl Registered {
    /// The function at `site`.
    #[must_use]
    pub const fn new(site: &'static Site, numbers: &'static [Option<Numbers>]) -> Self {
        Self {
            site,
            numbers,
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
            $crate::private::Registered::new(&$site, &[$($crate::__register!(@known $($numbers)*)),+]) $(.$at())?
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

    /// Whether it goes by this entry of the policies.
    pub(crate) fn goes_by(&self, entry: &str) -> bool {
        match self.numbers {
            Some(Numbers::Named(name)) => name == entry,
            _ => entry.strip_prefix(self.site.method().name()) == Some(suffix(self.place)),
        }
    }
}

/// The rules of all annotated functions and layers, in the order of their names.
pub(crate) fn rules() -> impl Iterator<Item = RegisteredRule> {
    let mut registered: Vec<&'static Registered> = inventory::iter::<Registered>.into_iter().collect();
    registered.extend(LAYERS.lock().unwrap_or_else(PoisonError::into_inner).iter());
    registered.sort_by_key(|registered| registered.site.method().name());
    registered.into_iter().flat_map(|Registered { site, numbers, at }| {
        (0..).zip(*numbers).map(|(place, numbers)| RegisteredRule {
            site,
            place,
            numbers: *numbers,
            at: *at,
        })
    })
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
