//! Where a counter lies in Redis.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;

#[cfg(feature = "redis-cluster")]
use crate::key::Client;
use crate::key::Key;

/// The version of the layout and of the hashes. Another version never meets these counters.
const VERSION: &str = "rl1";

/// `rl1:METHOD:{CLIENT}`, 40 bytes after the prefix: the hashes of both in base64. The client is the hash tag, so
/// that in a cluster the counters of one client lie together, and no slot has all clients of one function.
pub(super) fn store_key(prefix: &str, key: &Key) -> String {
    let mut name = String::with_capacity(prefix.len() + 40);
    name.push_str(prefix);
    name.push_str(VERSION);
    name.push(':');
    BASE64.encode_string(key.method().hash().to_be_bytes(), &mut name);
    name.push_str(":{");
    BASE64.encode_string(key.client().to_bytes(), &mut name);
    name.push('}');
    name
}

/// What stands between the braces of a client's keys, which is what their slot in a cluster goes by.
#[cfg(feature = "redis-cluster")]
pub(super) fn hash_tag(client: Client) -> String {
    BASE64.encode(client.to_bytes())
}

/// Where the block of a counter lies: beside it, under the same hash tag.
pub(super) fn block_key(prefix: &str, key: &Key) -> String {
    let mut name = store_key(prefix, key);
    name.push_str(":b");
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Client;
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
}
