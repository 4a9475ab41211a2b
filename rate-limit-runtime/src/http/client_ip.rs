//! Whose address a request comes from.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use http::{HeaderMap, HeaderName};
use ipnet::IpNet;

use super::forwarded;
use crate::key::KeyHasher;
use crate::to_key::ToKey;

/// The address of a client, and the addresses that count as one with it.
///
/// As a key it is the IPv4 address, or the IPv6 network: a host has a whole `/64` to choose addresses from. An IPv4 address
/// that is written in IPv6 (mapped, compatible, 6to4, or translated by `64:ff9b::/96`) is that IPv4 address.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClientIp {
    ip: IpAddr,
    group: IpAddr,
}

impl ClientIp {
    /// The address, grouped with those that share its first `ipv6_prefix` bits if it is an IPv6 address.
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
        Self { ip, group }
    }

    /// The address itself.
    #[must_use]
    pub const fn ip(&self) -> IpAddr {
        self.ip
    }

    /// The first address of those that count as one.
    #[must_use]
    pub const fn group(&self) -> IpAddr {
        self.group
    }
}

impl ToKey for ClientIp {
    fn to_key(&self, hasher: &mut KeyHasher) {
        hasher.address(self.group);
    }
}

/// Shows no address: it is an identity. [`ip`](ClientIp::ip) gives it to those who ask.
impl fmt::Debug for ClientIp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientIp(..)")
    }
}

/// Where the address of a client is found: the peer, or what trusted proxies say of theirs.
///
/// ```
/// use rate_limit_runtime::ClientIpSource;
/// use http::HeaderMap;
///
/// let behind_ingress = ClientIpSource::x_forwarded_for(["10.0.0.0/8".parse()?]);
/// let mut headers = HeaderMap::new();
/// headers.insert("x-forwarded-for", "6.6.6.6, 198.51.100.7, 10.0.0.2".parse()?);
/// let client = behind_ingress.resolve("10.0.0.3".parse()?, &headers);
/// assert_eq!(client.ip(), "198.51.100.7".parse::<std::net::IpAddr>()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// One header is read, and no other: a proxy that does not set it would let a client set it. Its entries are walked from the right, the
/// one that the nearest proxy added, past those that are trusted proxies themselves, to the first that is not: that is the
/// client. At an entry that is no address the walk stops, and the proxy that reported it counts as the client: what stands left of
/// such an entry may be the client's own invention. A peer that is no trusted proxy is the client, whatever it says.
#[derive(Clone, Debug)]
pub struct ClientIpSource {
    header: Option<Header>,
    trusted: Vec<IpNet>,
    ipv6_prefix: u8,
}

#[derive(Clone, Debug)]
enum Header {
    /// Addresses, separated by commas.
    List(HeaderName),
    /// `Forwarded` (RFC 7239).
    Forwarded,
}

impl ClientIpSource {
    const IPV6_PREFIX: u8 = 64;

    /// The peer itself: for a service that clients reach directly.
    #[must_use]
    pub const fn peer() -> Self {
        Self {
            header: None,
            trusted: Vec::new(),
            ipv6_prefix: Self::IPV6_PREFIX,
        }
    }

    /// Behind proxies with these addresses that add to `X-Forwarded-For`.
    #[must_use]
    pub fn x_forwarded_for(trusted: impl IntoIterator<Item = IpNet>) -> Self {
        Self::header(HeaderName::from_static("x-forwarded-for"), trusted)
    }

    /// Behind proxies with these addresses that add to `Forwarded` (RFC 7239).
    #[must_use]
    pub fn forwarded(trusted: impl IntoIterator<Item = IpNet>) -> Self {
        Self {
            header: Some(Header::Forwarded),
            ..Self::behind(trusted)
        }
    }

    /// Behind proxies with these addresses that set this header, such as `X-Real-IP` or `CF-Connecting-IP`, or add to it.
    #[must_use]
    pub fn header(name: HeaderName, trusted: impl IntoIterator<Item = IpNet>) -> Self {
        Self {
            header: Some(Header::List(name)),
            ..Self::behind(trusted)
        }
    }

    fn behind(trusted: impl IntoIterator<Item = IpNet>) -> Self {
        Self {
            trusted: trusted.into_iter().collect(),
            ..Self::peer()
        }
    }

    /// How many leading bits of an IPv6 address make one client; 64 by default, at most 128. Some providers give a site a `/56` or
    /// `/48`.
    #[must_use]
    pub fn ipv6_prefix(self, bits: u8) -> Self {
        Self {
            ipv6_prefix: bits.min(128),
            ..self
        }
    }

    /// The client of a request from `peer` with these headers.
    #[must_use]
    pub fn resolve(&self, peer: IpAddr, headers: &HeaderMap) -> ClientIp {
        ClientIp::new(self.walk(peer.to_canonical(), headers), self.ipv6_prefix)
    }

    fn walk(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut nearest = peer;
        let Some(header) = &self.header else {
            return nearest;
        };
        let entries = match header {
            Header::List(name) => forwarded::list(headers, name),
            Header::Forwarded => forwarded::forwarded(headers),
        };
        let mut entries = entries.into_iter();
        while self.is_trusted(nearest) {
            match entries.next() {
                Some(Some(address)) => nearest = address,
                Some(None) | None => break,
            }
        }
        nearest
    }

    fn is_trusted(&self, address: IpAddr) -> bool {
        self.trusted.iter().any(|net| net.contains(&address))
    }

    /// The header that is read.
    #[cfg(feature = "actix-web")]
    pub(crate) fn header_name(&self) -> Option<HeaderName> {
        match self.header.as_ref()? {
            Header::List(name) => Some(name.clone()),
            Header::Forwarded => Some(http::header::FORWARDED),
        }
    }

    /// Says so once, if a service seems to stand behind a proxy without being told.
    #[cfg(any(feature = "actix-web", feature = "axum"))]
    pub(crate) fn warn_if_it_ignores_proxies(&self, headers: &HeaderMap) {
        static SAID: std::sync::Once = std::sync::Once::new();
        if self.ignores_proxies(headers) {
            SAID.call_once(|| {
                tracing::warn!(
                    "requests come with a header of a proxy, and no proxy is trusted: if this service stands behind one, say so \
                     with `ClientIpSource::x_forwarded_for(..)`, or all its clients count as one"
                );
            });
        }
    }

    /// Whether a header that says where a request comes from is there and not read, because no proxy is trusted: a service that
    /// stands behind a proxy without being told counts all its clients as one.
    #[must_use]
    pub fn ignores_proxies(&self, headers: &HeaderMap) -> bool {
        self.trusted.is_empty() && (headers.contains_key("x-forwarded-for") || headers.contains_key("forwarded"))
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
