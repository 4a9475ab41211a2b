//! Which function is limited.

use std::fmt;
use std::hash::{Hash, Hasher};

use crate::key::hash_method;
use crate::policy::{Algorithm, Policy};
use crate::type_name::last_segment;

/// 2^64 by the golden ratio: multiples of it lie far apart.
const GOLDEN_RATIO: u64 = 0x9e37_79b9_7f4a_7c15;

/// The identity of a limited function: its full path, or a name given to it.
///
/// Methods of one name share their counters, which is how an HTTP and a gRPC handler come to one budget.
#[derive(Clone, Copy)]
pub struct Method {
    name: &'static str,
    hash: u64,
}

impl Method {
    /// Returns the method of this name.
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

    /// Returns the name: `my_service::login`, `<my_service::Portal as my_service::Api>::login`, or as given.
    #[inline]
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the last segment of the name, to be shown to callers: `login`.
    #[must_use]
    pub fn label(&self) -> &'static str {
        last_segment(self.name)
    }

    /// Returns the method as the counters of one rule know it.
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
        self.hash.wrapping_add(variant.wrapping_mul(GOLDEN_RATIO))
    }

    /// Returns the method whose counters hold calls judged by these numbers only.
    #[must_use]
    pub(crate) const fn counted_for(self, numbers: &Policy) -> Self {
        Self {
            hash: Self::hash_counted_for(self.hash, numbers),
            ..self
        }
    }

    /// Returns the hash of a method's counters for these numbers, given the hash of its counters for all numbers.
    #[cold]
    pub(crate) const fn hash_counted_for(hash: u64, numbers: &Policy) -> u64 {
        hash.wrapping_add(hash_numbers(numbers))
    }

    /// Returns the hash of the name, as it stands in store keys. It is the same on every machine, compiler and release.
    #[must_use]
    pub const fn hash(&self) -> u64 {
        self.hash
    }
}

/// Mixes the numbers of a policy into a word. It is the same on every machine, compiler and release.
/// Source: Steele, Lea, Flood, *Fast Splittable Pseudorandom Number Generators*.
const fn hash_numbers(policy: &Policy) -> u64 {
    const fn mix(word: u64) -> u64 {
        let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }
    let word = mix(GOLDEN_RATIO.wrapping_add(policy.count() as u64));
    let word = mix(word.wrapping_add(policy.span()));
    mix(word.wrapping_add(policy.block_span()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_the_last_segment() {
        assert_eq!(Method::named("<m::A as m::Tr>::login").label(), "login");
        assert_eq!(Method::named("m::C<'::'>::login").label(), "login");
        assert_eq!(Method::named("login").label(), "login");
    }
}
