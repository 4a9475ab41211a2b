//! Attributes below ours that wrap the body, with the check in it.

use syn::{Error, Result};

use crate::attrs::Attr;

/// Attributes that keep what a function returns, by their last segment: those of the crates `cached`, `memoize` and `cachelito`.
const CACHING: [&str; 8] = [
    "cached",
    "io_cached",
    "concurrent_cached",
    "once",
    "memoize",
    "memoise",
    "memoized",
    "cache_async",
];

/// Refuses an attribute that answers calls without the check, and keeps refusals.
pub(crate) fn check(attrs: &[Attr]) -> Result<()> {
    let caching = |attr: &&Attr| {
        let name = attr.path().segments.last();
        name.is_some_and(|name| CACHING.iter().any(|caching| name.ident == caching))
    };
    match attrs.iter().find(caching) {
        None => Ok(()),
        Some(attr) => Err(Error::new_spanned(
            attr.path(),
            "this attribute would wrap the check: an answer from its cache would not be limited, and a refusal could be kept in it. Put \
             `limit_per_time` on a function of its own that calls this one, or, to limit only what is not in the cache, on one that this \
             one calls",
        )),
    }
}
