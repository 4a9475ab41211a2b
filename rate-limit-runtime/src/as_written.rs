//! Which clients an operator means who writes down what he knows one by.

use std::net::IpAddr;

use crate::http::client_ip::ClientIp;
use crate::key::{Client, KeyError, KeyHasher};
use crate::to_key::ToKey;

impl Client {
    /// The clients that may be meant by the parts of a key as they are written: `20230001` is text and may be a number, `2001:db8::7` is text
    /// and may be an address or the network that [`ClientIp`](crate::ClientIp) makes of it, and a UUID may be its bytes. The first takes all
    /// parts as text. To look up or release a client of whom only this is known, ask for each. Parts
    /// that may be read in more than 4,096 ways are taken as text alone. A key with a tuple or a list within a tuple cannot be written so.
    ///
    /// ```
    /// use rate_limit_runtime::Client;
    ///
    /// let meant = Client::as_written(&["alice", "7"])?;
    /// assert_eq!(meant[0], Client::of(&("alice", "7"))?);
    /// assert!(meant.contains(&Client::of(&("alice", 7))?));
    /// # Ok::<(), rate_limit_runtime::KeyError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`Client::of`]; [`KeyError::Missing`] also if there are no parts.
    pub fn as_written<S: AsRef<str>>(parts: &[S]) -> Result<Vec<Self>, KeyError> {
        if parts.is_empty() {
            return Err(KeyError::Missing);
        }
        let parts: Vec<Vec<Part<'_>>> = parts.iter().map(|part| Part::readings(part.as_ref())).collect();
        let all: usize = parts
            .iter()
            .map(Vec::len)
            .try_fold(1, usize::checked_mul)
            .unwrap_or(usize::MAX);
        let count = if all <= MOST { all } else { 1 };
        (0..count).map(|which| Self::reading(&parts, which)).collect()
    }

    /// One of the products of all readings of the parts.
    fn reading(parts: &[Vec<Part<'_>>], mut which: usize) -> Result<Self, KeyError> {
        let mut hasher = KeyHasher::new();
        for readings in parts {
            // Each feeds one part, so none has to be grouped.
            readings[which % readings.len()].to_key(&mut hasher);
            which /= readings.len();
        }
        hasher.finish().copied()
    }
}

/// More keys are not asked for.
const MOST: usize = 4_096;

/// What a part of a key may be.
enum Part<'a> {
    Text(&'a str),
    Unsigned(u128),
    Signed(i128),
    /// With the number of its link, if it has one.
    Host(IpAddr, u32),
    Bytes([u8; 16]),
}

impl<'a> Part<'a> {
    /// The text, then what else it may be.
    fn readings(text: &'a str) -> Vec<Self> {
        let mut readings = vec![Self::Text(text)];
        if let Ok(number) = text.parse() {
            readings.push(Self::Unsigned(number));
        } else if let Ok(number) = text.parse() {
            readings.push(Self::Signed(number));
        }
        match text {
            "true" => readings.push(Self::Unsigned(1)),
            "false" => readings.push(Self::Unsigned(0)),
            _ => {}
        }
        if let Some((address, scope)) = host(text) {
            readings.push(Self::Host(address, scope));
            let group = ClientIp::new(address, 64).group();
            if group != address.to_canonical() {
                readings.push(Self::Host(group, scope));
            }
        }
        if let Some(number) = uuid(text) {
            readings.extend([Self::Bytes(number.to_be_bytes()), Self::Unsigned(number)]);
        }
        readings
    }
}

impl ToKey for Part<'_> {
    fn to_key(&self, hasher: &mut KeyHasher) {
        match self {
            Self::Text(text) => text.to_key(hasher),
            Self::Unsigned(number) => number.to_key(hasher),
            Self::Signed(number) => number.to_key(hasher),
            Self::Host(address, scope) => hasher.host(*address, *scope),
            Self::Bytes(bytes) => bytes.to_key(hasher),
        }
    }
}

/// An address, with the number of its link as in `fe80::1%2`.
fn host(text: &str) -> Option<(IpAddr, u32)> {
    match text.split_once('%') {
        Some((address, scope)) => Some((address.parse().ok()?, scope.parse().ok()?)),
        None => Some((text.parse().ok()?, 0)),
    }
}

/// The number of a UUID as it is written, 8-4-4-4-12.
fn uuid(text: &str) -> Option<u128> {
    let groups: Vec<&str> = text.split('-').collect();
    let is_hex = |group: &&str| group.bytes().all(|byte| byte.is_ascii_hexdigit());
    let lengths = groups.iter().map(|group| group.len());
    (lengths.eq([8, 4, 4, 4, 12]) && groups.iter().all(is_hex))
        .then(|| u128::from_str_radix(&groups.concat(), 16).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meant(parts: &[&str]) -> Vec<Client> {
        Client::as_written(parts).expect("they name somebody")
    }

    fn of<T: ToKey + ?Sized>(client: &T) -> Client {
        Client::of(client).expect("it names somebody")
    }

    #[test]
    fn a_part_is_text_first_and_then_what_it_may_be() {
        assert_eq!(meant(&["alice"]), [of("alice")]);
        assert_eq!(meant(&["007"]), [of("007"), of(&7)]);
        assert_eq!(meant(&["-7"]), [of("-7"), of(&-7)]);
        assert_eq!(meant(&["true"]), [of("true"), of(&true)]);
        let v4: IpAddr = "192.0.2.7".parse().expect("an address");
        assert_eq!(meant(&["192.0.2.7"]), [of("192.0.2.7"), of(&v4)]);
        assert_eq!(meant(&["::ffff:192.0.2.7"]), [of("::ffff:192.0.2.7"), of(&v4)]);
        let v6: IpAddr = "2001:db8::7".parse().expect("an address");
        assert_eq!(
            meant(&["2001:db8::7"]),
            [of("2001:db8::7"), of(&v6), of(&ClientIp::new(v6, 64))]
        );
        let uuid = "67e55044-10b1-426f-9247-bb680e5fe0c8";
        let number = 0x67e5_5044_10b1_426f_9247_bb68_0e5f_e0c8_u128;
        assert_eq!(meant(&[uuid]), [of(uuid), of(&number.to_be_bytes()), of(&number)]);
        for text in [
            "67e55044-10b1-426f-9247",
            "67e5504-410b1-426f-9247-bb680e5fe0c8",
            "g7e55044-10b1-426f-9247-bb680e5fe0c8",
        ] {
            assert_eq!(meant(&[text]), [of(text)]);
        }
    }

    #[test]
    fn parts_are_read_in_every_combination() {
        let both = meant(&["7", "8"]);
        assert_eq!(both, [of(&("7", "8")), of(&(7, "8")), of(&("7", 8)), of(&(7, 8))]);
        let text = ["7"; 13];
        assert_eq!(meant(&text).len(), 1, "8,192 are not asked for");
    }

    #[test]
    fn who_names_nobody_is_told_so() {
        let missing: [&[&str]; 4] = [&[], &[""], &["alice", " "], &["\u{a0}"]];
        for parts in missing {
            assert_eq!(Client::as_written(parts), Err(KeyError::Missing), "{parts:?}");
        }
    }
}
