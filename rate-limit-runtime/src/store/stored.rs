//! What tools read of a store that others charge: the rules that it has counters by, and how those stand.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;

use crate::decision::Decision;
use crate::error::StoreError;
use crate::key::{Client, Key, hash_method};
use crate::method::Method;
use crate::policy::{Algorithm, Policy};
use crate::printable::printable;
use crate::rule::Rule;

/// A rule of a function that a store has counters by, or had.
///
/// ```
/// use rate_limit_runtime::{Algorithm, StoredRule};
///
/// let rule = StoredRule::new("portal::login", Algorithm::SlidingWindow, 0);
/// // As it stands in the key `rl1:i4Hsy_7GkmU:{CLIENT}`.
/// assert_eq!(rule.id, "i4Hsy_7GkmU");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredRule {
    /// What it is called in the keys of its counters: a hash of the next three.
    pub id: String,
    /// The name of the function, as [`Method::name`] tells it. Other programs may write to the store, so control characters and characters
    /// that change the direction of text are escaped in this name, as `\u{1b}`.
    pub function: String,
    /// How it counts.
    pub algorithm: Algorithm,
    /// Which of the rules of the function it is, the first being 0.
    pub place: u8,
    /// What it was last judged by, if that was written down. It is of this algorithm.
    pub policy: Option<Policy>,
    /// Whether the numbers of the policy have counters of their own, as [`Rule::by_numbers`] says. The policy is then known.
    pub by_numbers: bool,
}

impl StoredRule {
    /// A rule of the function by this name, whose policy is not known.
    #[must_use]
    pub fn new(function: impl Into<String>, algorithm: Algorithm, place: u8) -> Self {
        let function = function.into();
        let method = Method::hashed(hash_method(&function)).counted_by(algorithm, place);
        Self {
            id: encode_method(method.hash()),
            function,
            algorithm,
            place,
            policy: None,
            by_numbers: false,
        }
    }

    /// As a store has it under this hash. `None` if the hash is none of the function's.
    pub(super) fn read(hash: u64, function: &str, policy: Option<&str>) -> Option<Self> {
        let all = [Algorithm::SlidingWindow, Algorithm::TokenBucket, Algorithm::FixedWindow]
            .into_iter()
            .flat_map(|algorithm| (0..Rule::MAX as u8).map(move |place| (algorithm, place)));
        let policy = policy.and_then(|policy| policy.parse::<Policy>().ok());
        let method = Method::hashed(hash_method(function));
        let find = |method: Method| {
            let is_it = |(algorithm, place): &(Algorithm, u8)| method.hash_counted_by(*algorithm, *place) == hash;
            all.clone().find(is_it)
        };
        let by_numbers = || find(method.counted_for(&policy?)).map(|found| (found, true));
        let ((algorithm, place), by_numbers) = find(method).map(|found| (found, false)).or_else(by_numbers)?;
        Some(Self {
            id: encode_method(hash),
            function: printable(function).into_owned(),
            algorithm,
            place,
            policy: policy.filter(|policy| policy.algorithm() == algorithm),
            by_numbers,
        })
    }

    /// In the order in which people look for them.
    pub(super) fn sort(rules: &mut [Self]) {
        rules.sort_by(|one, other| (&one.function, one.place, &one.id).cmp(&(&other.function, other.place, &other.id)));
    }
}

/// A counter that lies in a store, seen by the policy of its [`StoredRule`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredCounter {
    /// The [`id`](StoredRule::id) of its rule.
    pub rule: String,
    /// Whose it is: the hash, as it stands in keys.
    pub client: String,
    /// What a call that weighs 1 would be told now. `None` if the policy is not known, or if what lies there is no counter.
    pub decision: Option<Decision>,
    /// Whether it is refused since a [block](Policy::block) lasts.
    pub blocked: bool,
}

impl StoredCounter {
    pub(super) fn new(key: &Key, decision: Option<Decision>) -> Self {
        Self {
            rule: encode_method(key.method().hash()),
            client: encode_client(key.client()),
            decision,
            blocked: false,
        }
    }
}

/// The counters of a store, a page at a time.
#[derive(Debug)]
#[must_use]
pub struct StoredCounters(pub(super) Pages);

#[derive(Debug)]
pub(super) enum Pages {
    #[cfg(feature = "redis")]
    Redis(super::redis::Scan),
    #[cfg(feature = "_sql")]
    Sql(super::sql::Paging),
}

impl StoredCounters {
    /// The next page, of some hundred counters, fewer, or none. `None` after the last.
    ///
    /// A counter that is there all the time is told at least once, and may be told twice. One that comes or goes meanwhile may be told
    /// or not.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store does not answer. The same page is then asked for again.
    pub async fn next_page(&mut self) -> Result<Option<Vec<StoredCounter>>, StoreError> {
        match &mut self.0 {
            #[cfg(feature = "redis")]
            Pages::Redis(scan) => scan.next_page().await,
            #[cfg(feature = "_sql")]
            Pages::Sql(paging) => paging.next_page().await,
        }
    }
}

/// The policies of rules, by the hash of each.
pub(super) fn policies(rules: &[StoredRule]) -> HashMap<u64, Policy> {
    let policy = |rule: &StoredRule| Some((decode_method(rule.id.as_bytes())?, rule.policy?));
    rules.iter().filter_map(policy).collect()
}

/// The hash of a method, as it stands in keys.
pub(super) fn encode_method(hash: u64) -> String {
    BASE64.encode(hash.to_be_bytes())
}

/// The other way round. `None` if it is no such hash.
pub(super) fn decode_method(encoded: &[u8]) -> Option<u64> {
    let bytes = BASE64.decode(encoded).ok()?;
    Some(u64::from_be_bytes(bytes.try_into().ok()?))
}

/// The hash of a client, as it stands in keys.
pub(super) fn encode_client(client: Client) -> String {
    BASE64.encode(client.to_bytes())
}

/// The other way round. `None` if it is no such hash.
#[cfg(feature = "redis")]
pub(super) fn decode_client(encoded: &[u8]) -> Option<Client> {
    let bytes = BASE64.decode(encoded).ok()?;
    Some(Client::hashed(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_method_is_read_back_from_its_keys() {
        let hash = Method::named("portal::login").hash();
        assert_eq!(encode_method(hash), "i4Hsy_7GkmU");
        assert_eq!(decode_method(b"i4Hsy_7GkmU"), Some(hash));
        for foreign in [&b""[..], b"i4Hsy_7GkmUx", b"E8UhQRIWg06NHDgPx06rGg", b"not base64!"] {
            assert_eq!(decode_method(foreign), None);
        }
    }

    #[test]
    fn a_rule_is_told_by_its_hash() {
        let hash = Method::named("m::a").hash_counted_by(Algorithm::FixedWindow, 7);
        let rule = StoredRule::read(hash, "m::a", Some("5 in each 10m")).expect("it is its own");
        assert_eq!((rule.algorithm, rule.place), (Algorithm::FixedWindow, 7));
        assert_eq!(rule.policy, Some(Policy::fixed_window(5, Duration::from_secs(600))));
        assert_eq!(rule.id, encode_method(hash));
        for other in ["5 in 10m", "gibberish"] {
            let rule = StoredRule::read(hash, "m::a", Some(other)).expect("it is its own");
            assert_eq!(rule.policy, None, "`{other}` is no policy of it");
        }
        assert_eq!(StoredRule::read(hash, "m::b", None), None);
    }

    #[test]
    fn f_44_a_rule_of_some_numbers_alone_is_told_by_its_policy() {
        let numbers = Policy::token_bucket(3, Duration::from_micros(50_000_001)).block(Duration::from_millis(1));
        let hash = Method::named("m::a")
            .counted_for(&numbers)
            .hash_counted_by(Algorithm::TokenBucket, 1);
        let rule = StoredRule::read(hash, "m::a", Some(&numbers.to_string())).expect("it is its own");
        assert_eq!(
            (rule.algorithm, rule.place, rule.by_numbers),
            (Algorithm::TokenBucket, 1, true)
        );
        assert_eq!((rule.policy, rule.id), (Some(numbers), encode_method(hash)));
        assert_eq!(StoredRule::read(hash, "m::a", Some("4 and one more each 50s")), None);
        assert_eq!(StoredRule::read(hash, "m::a", None), None);
    }

    #[test]
    fn f_26_a_name_that_was_read_is_printable() {
        let written = "m::\x1b[2J\r\na\u{202e}\u{9b}";
        let hash = Method::hashed(hash_method(written)).hash_counted_by(Algorithm::SlidingWindow, 0);
        let rule = StoredRule::read(hash, written, Some("5 in 10m\x1b[2J")).expect("it is its own");
        assert_eq!(rule.function, r"m::\u{1b}[2J\r\na\u{202e}\u{9b}");
        assert_eq!(rule.id, encode_method(hash), "that of the name as it was written");
        assert_eq!(rule.policy, None, "no policy looks like this");
    }

    #[cfg(feature = "redis")]
    #[test]
    fn a_client_is_read_back_from_its_keys() {
        let client = Client::of("20230001").expect("it names somebody");
        let encoded = encode_client(client);
        assert_eq!(encoded, "E8UhQRIWg06NHDgPx06rGg");
        let read = decode_client(encoded.as_bytes()).expect("it is a hash");
        assert_eq!(read.to_bytes(), client.to_bytes());
        assert_eq!(decode_client(b"i4Hsy_7GkmU"), None);
    }
}
