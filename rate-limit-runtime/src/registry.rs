//! Every annotated function of the program: each expansion registers its own.

use crate::method::{Method, Site};
use crate::policies::{Policies, nearest, suffix};
use crate::policy::Policy;

/// What a rule of an annotated function says of its numbers.
#[derive(Clone, Copy, Debug)]
pub enum Numbers {
    /// Its own, unless the policies of the limiter have an entry by the name of the function.
    Own(Policy),
    /// Those of the limiter's policy by this name.
    Named(&'static str),
}

impl Numbers {
    /// Own numbers that block too. The time is a literal that was checked when it was read, in microseconds.
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

/// An annotated function, with the numbers of each of its rules, the outermost first. `None` for what a static cannot tell.
#[derive(Debug)]
pub struct Registered {
    site: &'static Site,
    numbers: &'static [Option<Numbers>],
    at: bool,
}

inventory::collect!(Registered);

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

/// One rule of an annotated function.
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

/// The rules of all annotated functions, in the order of their names.
pub(crate) fn rules() -> impl Iterator<Item = RegisteredRule> {
    let mut registered: Vec<&'static Registered> = inventory::iter::<Registered>.into_iter().collect();
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

/// A line for each function that asks for a policy that is not among these.
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
