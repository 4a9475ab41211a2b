//! One place at which the attribute stands.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError, RwLock};

use super::SiteRule;
use crate::method::Method;
use crate::policy::Policy;
use crate::type_name::without_lifetimes;

/// Tells the name of a type.
pub type TypeName = fn() -> &'static str;

/// Returns the function that names the type of a closure. The name contains the path of the enclosing function.
#[must_use]
pub const fn type_name<F: Copy>(_here: F) -> TypeName {
    std::any::type_name::<F>
}

/// What the attribute knows of one function: the `static` in each expansion.
#[derive(Debug)]
pub struct Site {
    /// That of `name = ".."`.
    name: Option<&'static str>,
    /// The name of a closure in the `static`: it tells the function as it is declared.
    declared: TypeName,
    rules: &'static [SiteRule],
    /// The path of its module and the line of its attribute, once it is registered; a layer has none.
    place: OnceLock<(&'static str, u32)>,
    /// Whether it goes by the time of the event.
    at: bool,
    method: OnceLock<Method>,
    is_generic: OnceLock<bool>,
    shares_its_name: OnceLock<bool>,
    /// The numbers that were called with, by the ordinal of their rule, where each set of them has counters of its own.
    numbers: RwLock<Vec<(u8, Policy)>>,
}

impl Site {
    /// Returns the site whose `static` holds the closure `here`: the name of its type tells the function.
    #[must_use]
    pub const fn new<F: Copy>(here: F, rules: &'static [SiteRule]) -> Self {
        Self {
            name: None,
            declared: type_name(here),
            rules,
            place: OnceLock::new(),
            at: false,
            method: OnceLock::new(),
            is_generic: OnceLock::new(),
            shares_its_name: OnceLock::new(),
            numbers: RwLock::new(Vec::new()),
        }
    }

    /// Returns the site with the name of `name = ".."`.
    #[must_use]
    pub const fn named(mut self, name: &'static str) -> Self {
        self.name = Some(name);
        self
    }

    /// Returns the site of a function with `at`.
    #[must_use]
    pub const fn at(mut self) -> Self {
        self.at = true;
        self
    }

    /// Makes the function, whose attribute stands in this line of a module, known to [`Limiter::verify`](crate::Limiter::verify). It is
    /// called before `main`, and more than once where a host runs the constructors of a module more than once.
    pub fn register(&'static self, module: &'static str, line: u32) {
        if self.place.set((module, line)).is_ok() {
            super::add(self);
        }
    }

    #[inline]
    pub(crate) const fn rules(&self) -> &'static [SiteRule] {
        self.rules
    }

    /// Returns the module and the line of the attribute; `None` of a layer.
    pub(crate) fn place(&self) -> Option<(&'static str, u32)> {
        self.place.get().copied()
    }

    pub(crate) const fn goes_by_event_time(&self) -> bool {
        self.at
    }

    /// Tells where the attribute stands.
    pub(crate) fn whereabouts(&self) -> String {
        match self.place() {
            None => "a layer".to_owned(),
            Some((module, line)) => format!("`{module}` (line {line})"),
        }
    }

    #[inline]
    pub(crate) fn method(&'static self) -> &'static Method {
        self.method.get_or_init(|| self.find_method())
    }

    #[cold]
    fn find_method(&'static self) -> Method {
        if let Some(name) = self.name {
            return Method::named(name);
        }
        // Once per annotated function, and only where something had to be cut out of the middle.
        let method = Method::named(match enclosing_function((self.declared)()) {
            Cow::Borrowed(name) => name,
            Cow::Owned(name) => name.leak(),
        });
        report_if_taken(method, self);
        method
    }

    /// Returns `true` if each set of numbers of this rule has counters of its own: where they are those of one instance of a generic function,
    /// which `here` tells by the name of a closure in it. It is so of all its instances, in each process alike.
    pub(crate) fn counts_by_numbers(&'static self, ordinal: u8, numbers: Policy, here: TypeName) -> bool {
        let is_generic = *self
            .is_generic
            .get_or_init(|| enclosing_function((self.declared)()) != enclosing_function(here()));
        if is_generic {
            self.note_numbers(ordinal, numbers);
        }
        is_generic
    }

    /// Returns `true` if both sites have the same `name = ".."`.
    pub(crate) fn is_named_as(&self, other: &Self) -> bool {
        self.name.is_some() && self.name == other.name
    }

    /// Returns `true` if another annotated function was given the name of this one, which `find` finds out once.
    #[inline]
    pub(crate) fn shares_its_name(&'static self, find: fn(&'static Self) -> bool) -> bool {
        *self.shares_its_name.get_or_init(|| find(self))
    }

    fn note_numbers(&self, ordinal: u8, numbers: Policy) {
        let entry = (ordinal, numbers);
        let known = |all: &Vec<_>| all.contains(&entry);
        if known(&self.numbers.read().unwrap_or_else(PoisonError::into_inner)) {
            return;
        }
        let mut all = self.numbers.write().unwrap_or_else(PoisonError::into_inner);
        if !known(&all) {
            all.push(entry);
        }
    }

    /// Returns the numbers that calls of this process had counters of their own for, by the ordinals of their rules.
    pub(crate) fn numbers(&self) -> Vec<(u8, Policy)> {
        self.numbers.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Returns the path of the function in which a closure stands whose type name is `item`: without the closure itself, what is around it,
/// and lifetimes.
fn enclosing_function(item: &'static str) -> Cow<'static, str> {
    let mut path = item;
    for own in ["::{{closure}}", "::__RATE_LIMIT_SITE", "::{{constant}}"] {
        path = path.strip_suffix(own).unwrap_or(path);
    }
    while let Some(outer) = path.strip_suffix("::{{closure}}") {
        path = outer;
    }
    // A trait registers its numbers by a function of its own.
    path = path.strip_suffix("::__limit_per_time_on_this_trait").unwrap_or(path);
    without_lifetimes(path)
}

/// Two functions of one derived name would share their counters unseen: nested functions in two blocks of one
/// function can, and so can two versions of a crate in one binary.
fn report_if_taken(method: Method, site: &'static Site) {
    static TAKEN: LazyLock<Mutex<HashMap<u64, (usize, bool)>>> = LazyLock::new(Mutex::default);
    let address = std::ptr::from_ref(site).addr();
    let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    let (first, reported) = taken.entry(method.hash()).or_insert((address, false));
    if *first != address && !*reported {
        *reported = true;
        tracing::error!(
            method = method.name(),
            "two limited functions have this one path, so they share their counters: give each a name of its own with `name = \"..\"`"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_item_and_what_is_around_it_is_stripped() {
        for (item, function) in [
            ("m::login::__RATE_LIMIT_SITE::{{closure}}", "m::login"),
            ("m::A::f::{{closure}}::__RATE_LIMIT_SITE::{{closure}}", "m::A::f"),
            (
                "m::f::{{closure}}::g::{{closure}}::{{closure}}::__RATE_LIMIT_SITE::{{closure}}",
                "m::f::{{closure}}::g",
            ),
            (
                "<m::A as m::Tr>::r::{{closure}}::__RATE_LIMIT_SITE::{{closure}}",
                "<m::A as m::Tr>::r",
            ),
            (
                "m::Tr::__limit_per_time_on_this_trait::__RATE_LIMIT_SITE::{{closure}}",
                "m::Tr",
            ),
            ("m::K<'_>::f::__RATE_LIMIT_SITE::{{closure}}", "m::K::f"),
            ("m::K<'_>::f::{{closure}}::{{constant}}::{{closure}}", "m::K::f"),
        ] {
            assert_eq!(enclosing_function(item), function);
        }
    }
}
