//! Policies as configuration has them.

use serde::{Serialize, Serializer, ser::SerializeMap as _};

use crate::policies::Policies;
use crate::policy::{Algorithm, Policy};
use crate::span::Span;

/// As it is read, with the algorithm where that is not plain from the numbers.
///
/// ```
/// use rate_limit_runtime::Policy;
/// use std::time::Duration;
///
/// let policy = Policy::token_bucket(3, Duration::from_secs(50));
/// assert_eq!(serde_json::to_string(&policy)?, r#"{"capacity":3,"refill":"50s"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
impl Serialize for Policy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let (count, span) = match self.algorithm() {
            Algorithm::SlidingWindow => ("count", "window"),
            Algorithm::FixedWindow => {
                map.serialize_entry("algorithm", "fixed_window")?;
                ("count", "window")
            }
            Algorithm::TokenBucket => ("capacity", "refill"),
        };
        map.serialize_entry(count, &self.count())?;
        map.serialize_entry(span, &Span(self.span()).to_string())?;
        if self.block_span() > 0 {
            map.serialize_entry("block", &Span(self.block_span()).to_string())?;
        }
        map.end()
    }
}

/// A map of names to policies.
impl Serialize for Policies {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_written_as_they_are_read() {
        let policies: Policies = [
            "5 in 10m",
            "100 in each 1d",
            "3 and one more each 50s",
            "1 in 1ms, then blocked for 1h30m",
            "7 and one more each 1us, then blocked for 1d",
        ]
        .into_iter()
        .map(|text| (text, text.parse().expect("a policy")))
        .collect();
        let json = serde_json::to_string(&policies).expect("JSON");
        assert_eq!(serde_json::from_str::<Policies>(&json).expect("policies"), policies);
        assert!(
            json.contains(r#""100 in each 1d":{"algorithm":"fixed_window","count":100,"window":"1d"}"#),
            "{json}"
        );
    }
}
