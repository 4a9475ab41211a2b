//! Which function is limited.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};

use crate::key::hash_method;
use crate::policy::Algorithm;
use crate::registry::{self, SiteRule};

/// The identity of a limited function: its full path, or a name given to it.
///
/// Methods of one name share their counters, which is how an HTTP and a gRPC handler come to one budget.
#[derive(Clone, Copy)]
pub struct Method {
    name: &'static str,
    hash: u64,
}

impl Method {
    /// The method of this name.
    #[must_use]
    pub fn named(name: &'static str) -> Self {
        Self {
            name,
            hash: hash_method(name),
        }
    }

    /// One that only its hash is known of, as it stands in store keys.
    #[cfg(any(feature = "redis", feature = "_sql"))]
    pub(crate) const fn hashed(hash: u64) -> Self {
        Self { name: "", hash }
    }

    /// The name: `my_service::login`, `<my_service::Portal as my_service::Api>::login`, or as given.
    #[inline]
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The last segment of the name, to be shown to callers: `login`.
    #[must_use]
    pub fn label(&self) -> &'static str {
        label(self.name)
    }

    /// The method as the counters of one rule know it.
    #[inline]
    #[must_use]
    pub(crate) const fn counted_by(self, algorithm: Algorithm, place: u8) -> Self {
        Self {
            hash: self.hash_counted_by(algorithm, place),
            ..self
        }
    }

    /// Its hash by the algorithm too, and by the place of the rule among those of a call, the first being 0, so that two rules never
    /// share a counter.
    #[inline]
    pub(crate) const fn hash_counted_by(&self, algorithm: Algorithm, place: u8) -> u64 {
        let algorithm = match algorithm {
            Algorithm::SlidingWindow => 0,
            Algorithm::TokenBucket => 1,
            Algorithm::FixedWindow => 2,
        };
        let variant = (place as u64) << 8 | algorithm;
        self.hash.wrapping_add(variant.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// The hash of the name, as it stands in store keys. It is the same on every machine, compiler and release.
    #[must_use]
    pub const fn hash(&self) -> u64 {
        self.hash
    }
}

/// The last segment of a name.
pub(crate) fn label(name: &'static str) -> &'static str {
    name.rsplit("::").next().unwrap_or(name)
}

impl PartialEq for Method {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash
    }
}

impl Eq for Method {}

impl Hash for Method {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl fmt::Debug for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Method({})", self.name)
    }
}

/// What the attribute knows of one function: the `static` in each expansion.
#[derive(Debug)]
pub struct Site {
    name: Origin,
    rules: &'static [SiteRule],
    /// The path of its module and the line of its attribute; empty and 0 of a layer.
    module: &'static str,
    line: u32,
    /// Whether it goes by the time of the event.
    at: bool,
    registered: AtomicBool,
    method: OnceLock<Method>,
}

#[derive(Debug)]
enum Origin {
    Derived(fn() -> &'static str),
    Named(&'static str),
}

impl Site {
    /// Returns the site of the function in which `here` is an item: the name of its type tells the function.
    #[must_use]
    pub const fn new<F: Copy>(_here: F, rules: &'static [SiteRule], module: &'static str, line: u32) -> Self {
        Self {
            name: Origin::Derived(std::any::type_name::<F>),
            rules,
            module,
            line,
            at: false,
            registered: AtomicBool::new(false),
            method: OnceLock::new(),
        }
    }

    /// Returns the site with the name of `name = ".."`.
    #[must_use]
    pub const fn named(mut self, name: &'static str) -> Self {
        self.name = Origin::Named(name);
        self
    }

    /// Returns the site of a function with `at`.
    #[must_use]
    pub const fn at(mut self) -> Self {
        self.at = true;
        self
    }

    /// Makes the function known to [`Limiter::verify`](crate::Limiter::verify). It is called before `main`, and more than once where a
    /// host runs the constructors of a module more than once.
    pub fn register(&'static self) {
        if !self.registered.swap(true, Ordering::Relaxed) {
            registry::add(self);
        }
    }

    #[inline]
    pub(crate) const fn rules(&self) -> &'static [SiteRule] {
        self.rules
    }

    pub(crate) const fn module(&self) -> &'static str {
        self.module
    }

    pub(crate) const fn line(&self) -> u32 {
        self.line
    }

    pub(crate) const fn goes_by_event_time(&self) -> bool {
        self.at
    }

    #[inline]
    pub(crate) fn method(&'static self) -> &'static Method {
        self.method.get_or_init(|| self.find_method())
    }

    #[cold]
    fn find_method(&'static self) -> Method {
        match self.name {
            Origin::Named(name) => Method::named(name),
            Origin::Derived(type_name) => {
                let method = Method::named(enclosing_function(type_name()).leak());
                report_if_taken(method, self);
                method
            }
        }
    }
}

trait Leak {
    fn leak(self) -> &'static str;
}

/// Once per annotated function, and only where something had to be cut out of the middle.
impl Leak for Cow<'static, str> {
    fn leak(self) -> &'static str {
        match self {
            Cow::Borrowed(name) => name,
            Cow::Owned(name) => String::leak(name),
        }
    }
}

/// The path of the function in which an item stands whose type name is `item`: without the item itself and the
/// closures around it, and without lifetimes, which compilers print differently.
fn enclosing_function(item: &'static str) -> Cow<'static, str> {
    let mut path = item;
    path = path.strip_suffix("::__rate_limit_register").unwrap_or(path);
    while let Some(outer) = path.strip_suffix("::{{closure}}") {
        path = outer;
    }
    // A trait registers its numbers by a function of its own.
    path = path.strip_suffix("::__limit_per_time_on_this_trait").unwrap_or(path);
    if path.contains('\'') {
        Cow::Owned(without_lifetimes(path))
    } else {
        Cow::Borrowed(path)
    }
}

/// `Out<'_, T>` is `Out<T>`, `Out<'_>` is `Out`, `&'a str` is `&str`.
fn without_lifetimes(path: &str) -> String {
    let mut plain = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(at) = rest.find('\'') {
        plain.push_str(&rest[..at]);
        let lifetime = &rest[at + 1..];
        let end = lifetime
            .find(|c: char| c != '_' && !c.is_alphanumeric())
            .unwrap_or(lifetime.len());
        rest = lifetime[end..].trim_start();
        if let Some(next) = rest.strip_prefix(',') {
            rest = next.trim_start();
        } else if rest.starts_with('>') {
            let open = plain.trim_end_matches([',', ' ']).len();
            plain.truncate(open);
            if plain.ends_with('<') {
                plain.pop();
                rest = &rest[1..];
            }
        }
    }
    plain.push_str(rest);
    plain
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
        let name = |item| enclosing_function(item).into_owned();
        assert_eq!(name("m::login::__rate_limit_register"), "m::login");
        assert_eq!(name("m::A::f::{{closure}}::__rate_limit_register"), "m::A::f");
        assert_eq!(
            name("m::f::{{closure}}::g::{{closure}}::{{closure}}::__rate_limit_register"),
            "m::f::{{closure}}::g"
        );
        assert_eq!(
            name("<m::A as m::Tr>::r::{{closure}}::__rate_limit_register"),
            "<m::A as m::Tr>::r"
        );
        assert_eq!(
            name("m::Tr::__limit_per_time_on_this_trait::__rate_limit_register"),
            "m::Tr"
        );
    }

    #[test]
    fn lifetimes_are_stripped() {
        assert_eq!(without_lifetimes("m::G<'_>::f"), "m::G::f");
        assert_eq!(without_lifetimes("m::G<'_, _>::f"), "m::G<_>::f");
        assert_eq!(without_lifetimes("m::G<'a, 'b, T>::f"), "m::G<T>::f");
        assert_eq!(without_lifetimes("<&'_ m::A as m::Tr>::f"), "<&m::A as m::Tr>::f");
        assert_eq!(without_lifetimes("m::G<T, '_>::f"), "m::G<T>::f");
    }

    #[test]
    fn a_label_is_the_last_segment() {
        assert_eq!(Method::named("<m::A as m::Tr>::login").label(), "login");
        assert_eq!(Method::named("login").label(), "login");
    }
}
