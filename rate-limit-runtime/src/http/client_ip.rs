//! A client by its address.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::key::KeyHasher;
use crate::to_key::ToKey;

/// A client's IP address, grouped with the addresses that count as one client with it.
///
/// As a key it is the IPv4 address or the IPv6 network, since one host can choose among all addresses of its `/64`. An IPv4 address
/// that is written in IPv6 (mapped, compatible, 6to4, or translated by `64:ff9b::/96`) is that IPv4 address. A link-local address
/// counts together with the link that it is on: `fe80::1%2` and `fe80::1%3` are two clients.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClientIp {
    ip: IpAddr,
    group: IpAddr,
    /// The link of a link-local address, as this machine numbers it; 0 if it is not known.
    scope: u32,
}

impl ClientIp {
    /// Creates the client with this address. An IPv6 address is grouped with those that share its first `ipv6_prefix` bits.
    ///
    /// ```
    /// use rate_limit_runtime::{Client, ClientIp};
    ///
    /// let client = |ip: &str| Ok::<_, Box<dyn std::error::Error>>(Client::of(&ClientIp::new(ip.parse()?, 64))?);
    /// assert_eq!(client("2001:db8:1:2::1")?, client("2001:db8:1:2:ffff::7")?);
    /// assert_ne!(client("192.0.2.1")?, client("192.0.2.2")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn new(ip: IpAddr, ipv6_prefix: u8) -> Self {
        let ip = ip.to_canonical();
        let group = match ip {
            IpAddr::V4(_) => ip,
            IpAddr::V6(v6) => match embedded(v6) {
                Some(v4) => v4.into(),
                None => network(v6, ipv6_prefix).into(),
            },
        };
        Self { ip, group, scope: 0 }
    }

    /// Creates the client at the other end of a connection, as [`new`](Self::new) does, with the link that a link-local address is on.
    #[must_use]
    pub fn of_peer(peer: SocketAddr, ipv6_prefix: u8) -> Self {
        Self {
            scope: match peer {
                SocketAddr::V6(peer) => peer.scope_id(),
                SocketAddr::V4(_) => 0,
            },
            ..Self::new(peer.ip(), ipv6_prefix)
        }
    }

    /// Returns the address itself.
    #[must_use]
    pub const fn ip(&self) -> IpAddr {
        self.ip
    }

    /// Returns the network address of the group: the first of the addresses that count as one client.
    #[must_use]
    pub const fn group(&self) -> IpAddr {
        self.group
    }
}

#[diagnostic::do_not_recommend]
impl ToKey for ClientIp {
    fn to_key(&self, hasher: &mut KeyHasher) {
        hasher.host(self.group, self.scope);
    }
}

/// Shows no address: it is an identity. [`ip`](ClientIp::ip) gives it to those who ask.
impl fmt::Debug for ClientIp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientIp(..)")
    }
}

fn network(address: Ipv6Addr, prefix: u8) -> Ipv6Addr {
    let mask = u128::MAX.checked_shl(128 - u32::from(prefix)).unwrap_or(0);
    Ipv6Addr::from_bits(address.to_bits() & mask)
}

/// The IPv4 address that stands in an IPv6 address, but for a mapped one, which is canonical already.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let bits = address.to_bits();
    let (low, high) = (bits as u32, bits >> 32);
    let translated = high == 0x0064_ff9b_0000_0000_0000_0000;
    let compatible = high == 0 && low > 1;
    if translated || compatible {
        Some(low.into())
    } else if bits >> 112 == 0x2002 {
        Some(((bits >> 80) as u32).into())
    } else {
        None
    }
}
