//! One place at which the attribute stands.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError, RwLock};

use crate::method::Method;
use crate::policy::Policy;
use crate::type_name::without_lifetimes;

/// Tells the name of a type.
pub type TypeName = fn() -> &'static str;

/// The type of a closure, by which it tells the function around it.
#[must_use]
pub const fn type_name<F: Copy>(_here: F) -> TypeName {
    std::any::type_name::<F>
}

/// What the attribute knows of one function, found once: the `static` in each expansion.
#[derive(Debug)]
pub struct Site {
    name: Option<&'static str>,
    /// The name of a closure in the `static`: it tells the enclosing function as it is declared.
    declared: Option<TypeName>,
    method: OnceLock<Method>,
    is_generic: OnceLock<bool>,
    shares_its_name: OnceLock<bool>,
    /// The numbers that were called with, by the ordinal of their rule, where each set of them has counters of its own.
    numbers: RwLock<Vec<(u8, Policy)>>,
}

impl Site {
    /// The site whose `static` holds the closure `here`: its type name tells the enclosing function.
    #[must_use]
    pub const fn derived<F: Copy>(here: F) -> Self {
        Self::new(None, Some(type_name(here)))
    }

    /// The site of a function with `name = ".."`.
    #[must_use]
    pub const fn named(name: &'static str) -> Self {
        Self::new(Some(name), None)
    }

    /// A site with a name whose numbers are constant expressions: the type name of the closure `here` tells the enclosing function.
    #[must_use]
    pub const fn in_function<F: Copy>(mut self, here: F) -> Self {
        self.declared = Some(type_name(here));
        self
    }

    const fn new(name: Option<&'static str>, declared: Option<TypeName>) -> Self {
        Self {
            name,
            declared,
            method: OnceLock::new(),
            is_generic: OnceLock::new(),
            shares_its_name: OnceLock::new(),
            numbers: RwLock::new(Vec::new()),
        }
    }

    #[inline]
    pub(crate) fn method(&'static self) -> &'static Method {
        self.method.get_or_init(|| self.find_method())
    }

    #[cold]
    fn find_method(&'static self) -> Method {
        match (self.name, self.declared) {
            (Some(name), _) => Method::named(name),
            (None, declared) => {
                let name = enclosing_function(declared.map_or("", |name| name()));
                // Once per annotated function, and only where something had to be cut out of the middle.
                let method = Method::named(match name {
                    Cow::Borrowed(name) => name,
                    Cow::Owned(name) => name.leak(),
                });
                report_if_taken(method, self);
                method
            }
        }
    }
}

impl Site {
    /// Whether each set of numbers of this rule has counters of its own: where they are those of one instance of a generic function,
    /// which `here` tells by the name of a closure in it. It is so of all its instances, in each process alike.
    pub(crate) fn counts_by_numbers(&'static self, ordinal: u8, numbers: Policy, here: TypeName) -> bool {
        let is_generic = *self.is_generic.get_or_init(|| {
            let declared = self.declared.map(|name| enclosing_function(name()));
            declared.is_some_and(|declared| declared != enclosing_function(here()))
        });
        if is_generic {
            self.note_numbers(ordinal, numbers);
        }
        is_generic
    }

    /// Whether both were given one name.
    pub(crate) fn is_named_as(&self, other: &Self) -> bool {
        self.name.is_some() && self.name == other.name
    }

    /// Whether another annotated function was given the name of this one, which `find` finds out once.
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

    /// The numbers that calls of this process had counters of their own for, by the ordinals of their rules.
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
