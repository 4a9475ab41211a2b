//! Headers that tell a client how it stands.

use http::{HeaderMap, HeaderName, HeaderValue};
use sfv::{KeyRef, ListSerializer, StringRef};

use crate::decision::Decision;
use crate::span::Span;

/// Which headers tell a client how it stands with a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HeaderDialect {
    /// None: what a client does not need to know, an attacker does not learn.
    None,
    /// `X-RateLimit-Limit`, `-Remaining` and `-Reset`, the last in seconds from now.
    XRateLimit,
    /// `RateLimit-Policy` and `RateLimit` of draft-ietf-httpapi-ratelimit-headers-11, structured fields (RFC 9651).
    #[default]
    Draft11,
}

impl HeaderDialect {
    /// The names of its headers.
    const fn names(self) -> &'static [&'static str] {
        match self {
            Self::None => &[],
            Self::XRateLimit => &["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"],
            Self::Draft11 => &["ratelimit-policy", "ratelimit"],
        }
    }

    /// Whether it has something to tell on an answer with these headers: one that has any of its own is left as it is.
    #[cfg(any(feature = "actix-web", feature = "axum"))]
    pub(crate) fn is_to_be_written(self, has: impl Fn(&'static str) -> bool) -> bool {
        self != Self::None && !self.names().iter().any(|name| has(name))
    }

    /// Writes what was decided for the limit `name`, in place of what stands there.
    pub fn write(self, name: &str, decision: &Decision, headers: &mut HeaderMap) {
        // Whole seconds, rounded up: a client that waits this long is not too early.
        let seconds = |time| Span::from_duration(time).0.div_ceil(1_000_000);
        let wait = seconds(decision.retry_after.unwrap_or(decision.reset_after));
        match self {
            Self::None => {}
            Self::XRateLimit => {
                let values = [decision.limit().into(), decision.remaining.into(), wait];
                for (name, value) in self.names().iter().zip(values) {
                    headers.insert(HeaderName::from_static(name), HeaderValue::from(value));
                }
            }
            Self::Draft11 => {
                let window = seconds(decision.policy.window());
                let quota = [("q", decision.limit().into()), ("w", window)];
                let left = [("r", decision.remaining.into()), ("t", wait)];
                for (header, parameters) in self.names().iter().zip([&quota, &left]) {
                    insert_item(headers, header, name, parameters);
                }
            }
        }
    }
}

/// A list of one string with parameters. Times of more than 31 million years do not occur, so no number is out of range.
fn insert_item(headers: &mut HeaderMap, header: &'static str, name: &str, parameters: &[(&str, u64)]) {
    // A structured string is printable ASCII.
    let name: String = name
        .chars()
        .map(|c| if matches!(c, ' '..='~') { c } else { '?' })
        .collect();
    let mut list = ListSerializer::new();
    if let Ok(name) = StringRef::from_str(&name) {
        let mut item = list.bare_item(name);
        for (key, value) in parameters {
            if let (Ok(key), Ok(value)) = (KeyRef::from_str(key), sfv::Integer::try_from(*value)) {
                item = item.parameter(key, value);
            }
        }
    }
    if let Some(Ok(value)) = list.finish().map(|text| HeaderValue::from_str(&text)) {
        headers.insert(HeaderName::from_static(header), value);
    }
}
