//! Where a counter lies in Redis.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;

use crate::key::{Client, Key};

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

/// The hash of a method, as it stands in keys.
pub(super) fn encode_method(hash: u64) -> String {
    BASE64.encode(hash.to_be_bytes())
}

/// The other way round. `None` if it is no such hash.
pub(super) fn decode_method(encoded: &[u8]) -> Option<u64> {
    let bytes = BASE64.decode(encoded).ok()?;
    Some(u64::from_be_bytes(bytes.try_into().ok()?))
}

/// Where the names of methods lie.
pub(super) fn methods_key(prefix: &str) -> String {
    format!("{prefix}{VERSION}:methods")
}

/// Where the block of a counter lies: beside it, under the same hash tag.
pub(super) fn block_key(prefix: &str, key: &Key) -> String {
    block_of(store_key(prefix, key))
}

pub(super) fn block_of(mut counter: String) -> String {
    counter.push_str(":b");
    counter
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::Method;

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
    fn a_method_is_read_back_from_its_keys() {
        let hash = Method::named("portal::login").hash();
        assert_eq!(encode_method(hash), "i4Hsy_7GkmU");
        assert_eq!(decode_method(b"i4Hsy_7GkmU"), Some(hash));
        for foreign in [&b""[..], b"i4Hsy_7GkmUx", b"E8UhQRIWg06NHDgPx06rGg", b"not base64!"] {
            assert_eq!(decode_method(foreign), None);
        }
    }
}
