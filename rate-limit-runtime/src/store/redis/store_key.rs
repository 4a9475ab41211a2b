//! Where a counter lies in Redis.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;

use crate::key::{Client, Key};
use crate::method::Method;
use crate::store::stored::{decode_client, decode_method};

/// The version of the layout and of the hashes. Another version never meets these counters.
const VERSION: &str = "rl1";

/// `rl1:METHOD:{CLIENT}`, 40 bytes after the prefix: the hashes of both in base64. The client is the hash tag, so
/// that in a cluster the counters of one client lie together, and no slot has all clients of one function.
pub(super) fn store_key(prefix: &str, key: &Key) -> String {
    key_of(prefix, key.method().hash(), key.client())
}

/// As [`store_key`], of a method that only its hash is known of.
pub(super) fn key_of(prefix: &str, method: u64, client: Client) -> String {
    let mut name = String::with_capacity(prefix.len() + 40);
    name.push_str(prefix);
    name.push_str(VERSION);
    name.push(':');
    BASE64.encode_string(method.to_be_bytes(), &mut name);
    name.push_str(":{");
    BASE64.encode_string(client.to_bytes(), &mut name);
    name.push('}');
    name
}

/// What stands between the braces of a client's keys, which is what their slot in a cluster goes by.
#[cfg(feature = "redis-cluster")]
pub(super) fn hash_tag(client: Client) -> String {
    BASE64.encode(client.to_bytes())
}

/// Where the names of methods lie.
pub(super) fn methods_key(prefix: &str) -> String {
    format!("{prefix}{VERSION}:methods")
}

/// Where the policies lie that they are judged by.
pub(super) fn policies_key(prefix: &str) -> String {
    format!("{prefix}{VERSION}:policies")
}

/// What `SCAN` finds counters by, and little else.
pub(super) fn pattern(prefix: &str) -> String {
    let mut pattern = String::with_capacity(prefix.len() + 40);
    for character in prefix.chars() {
        if matches!(character, '*' | '?' | '[' | ']' | '^' | '-' | '\\') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern.push_str(VERSION);
    pattern.push_str(":???????????:{??????????????????????}");
    pattern
}

/// Reads the key of a counter under a prefix. `None` if it is none of ours.
pub(super) fn read_key(prefix: &str, name: &[u8]) -> Option<Key> {
    let rest = name.strip_prefix(prefix.as_bytes())?.strip_prefix(VERSION.as_bytes())?;
    let (method, rest) = rest.strip_prefix(b":")?.split_at_checked(11)?;
    let client = rest.strip_prefix(b":{")?.strip_suffix(b"}")?;
    Some(Key::new(Method::hashed(decode_method(method)?), decode_client(client)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// These bytes lie in stores: a change here forgets every counter of a running deployment.
    #[test]
    fn a_store_key_is_pinned() {
        let client = Client::of("20230001").expect("it names somebody");
        let key = Key::new(Method::named("portal::login"), client);
        let name = store_key("staging:", &key);
        assert_eq!(name, "staging:rl1:i4Hsy_7GkmU:{E8UhQRIWg06NHDgPx06rGg}");
        assert_eq!(name.len(), "staging:".len() + 40);
    }

    #[test]
    fn a_key_is_read_back() {
        let name = "[a]*:rl1:i4Hsy_7GkmU:{E8UhQRIWg06NHDgPx06rGg}";
        let key = read_key("[a]*:", name.as_bytes()).expect("it is ours");
        assert_eq!(store_key("[a]*:", &key), name);
        assert_eq!(pattern("[a]*:"), "\\[a\\]\\*:rl1:???????????:{??????????????????????}");
        for foreign in [
            "rl1:i4Hsy_7GkmU:{E8UhQRIWg06NHDgPx06rGg}",
            "[a]*:rl1:methods",
            "[a]*:rl1:i4Hsy_7GkmU:{E8UhQRIWg06NHDgPx06rGg}:b",
            "[a]*:rl1:i4Hsy_7Gk!U:{E8UhQRIWg06NHDgPx06rGg}",
            "[a]*:rl1:i4Hsy_7GkmU:{E8UhQRIWg06NHDgPx06rGgx",
        ] {
            assert!(read_key("[a]*:", foreign.as_bytes()).is_none(), "{foreign}");
        }
    }
}
