//! Whose address a request comes from.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Once};

use http::header::FORWARDED;
use http::{HeaderMap, HeaderName, HeaderValue};
use ipnet::IpNet;

use super::client_ip::ClientIp;
use super::forwarded;

/// Where the address of a client is found: the peer, or what trusted proxies report of theirs.
///
/// ```
/// use rate_limit_runtime::ClientIpSource;
/// use http::HeaderMap;
///
/// let behind_ingress = ClientIpSource::x_forwarded_for(["10.0.0.0/8".parse()?]);
/// let mut headers = HeaderMap::new();
/// headers.insert("x-forwarded-for", "6.6.6.6, 198.51.100.7, 10.0.0.2".parse()?);
/// let client = behind_ingress.resolve("10.0.0.3:4711".parse()?, &headers);
/// assert_eq!(client.ip(), "198.51.100.7".parse::<std::net::IpAddr>()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// One header is read, and no other: a proxy that does not set it would let a client set it. A peer that is not a trusted proxy is the
/// client, and its headers are not read. Otherwise the entries are walked from the right, where the nearest proxy added its own, past
/// those that are trusted proxies themselves, to the first that is not: that is the client. At most 64 entries are read.
///
/// * An entry may have a port, `203.0.113.7:443` or `[2001:db8::1]:443`, also without brackets where a ninth group or a number above
///   `ffff` tells the port from the address. For a proxy that always writes one without brackets there is
///   [`with_port`](Self::with_port).
/// * At an entry that is not an address the walk stops, and the proxy that reported it counts as the client: the client may have
///   written what is left of such an entry. A link-local address with a zone (`fe80::1%eth0`) is such an entry.
/// * Empty entries are skipped, as [RFC 9110] asks. A proxy must not add one for a client that it does not know.
///
/// Each of these is logged once for a source: an entry of a trusted proxy that is empty or not an address, and a trusted proxy without
/// the header.
///
/// # Proxies on the same machine
///
/// If loopback addresses are trusted, so is every program of this machine that connects without the proxy: it can write any address
/// into the header. Do that only where no client runs on the machine; otherwise have the proxy connect from an address that
/// clients do not have.
///
/// [RFC 9110]: https://www.rfc-editor.org/rfc/rfc9110#section-5.6.1.2
#[derive(Clone, Debug)]
pub struct ClientIpSource {
    /// `None` for the peer itself. Shared, since frameworks clone a source for each request.
    proxies: Option<Arc<Proxies>>,
    with_port: bool,
    ipv6_prefix: u8,
}

#[derive(Debug)]
struct Proxies {
    header: HeaderName,
    trusted: Vec<IpNet>,
    told: Told,
}

/// What has been logged.
#[derive(Debug)]
struct Told {
    unreadable: Once,
    empty: Once,
    missing: Once,
    loopback: Once,
}

impl ClientIpSource {
    const IPV6_PREFIX: u8 = 64;

    /// Returns the peer itself: for a service that clients reach directly.
    #[must_use]
    pub const fn peer() -> Self {
        Self {
            proxies: None,
            with_port: false,
            ipv6_prefix: Self::IPV6_PREFIX,
        }
    }

    /// Reads `X-Forwarded-For` as proxies with `trusted` addresses add to it.
    #[must_use]
    pub fn x_forwarded_for(trusted: impl IntoIterator<Item = IpNet>) -> Self {
        Self::header(HeaderName::from_static("x-forwarded-for"), trusted)
    }

    /// Reads `Forwarded` (RFC 7239) as proxies with `trusted` addresses add to it.
    #[must_use]
    pub fn forwarded(trusted: impl IntoIterator<Item = IpNet>) -> Self {
        Self::header(FORWARDED, trusted)
    }

    /// Reads a header that proxies with `trusted` addresses set or add to, such as `X-Real-IP` or `CF-Connecting-IP`.
    #[must_use]
    pub fn header(name: HeaderName, trusted: impl IntoIterator<Item = IpNet>) -> Self {
        let proxies = Proxies {
            header: name,
            trusted: trusted.into_iter().map(canonical).collect(),
            told: Told {
                unreadable: Once::new(),
                empty: Once::new(),
                missing: Once::new(),
                loopback: Once::new(),
            },
        };
        Self {
            proxies: Some(Arc::new(proxies)),
            ..Self::peer()
        }
    }

    /// Takes the last group of every IPv6 address without brackets for a port: for a proxy that always writes one, as CloudFront does in
    /// `CloudFront-Viewer-Address`. Without it `2001:db8::1:443` is an address.
    ///
    /// ```
    /// use rate_limit_runtime::ClientIpSource;
    /// use http::{HeaderMap, HeaderName};
    ///
    /// let header = HeaderName::from_static("cloudfront-viewer-address");
    /// let source = ClientIpSource::header(header.clone(), ["10.0.0.0/8".parse()?]).with_port();
    /// let headers = HeaderMap::from_iter([(header, "2001:db8::1:443".parse()?)]);
    /// let client = source.resolve("10.0.0.3:4711".parse()?, &headers);
    /// assert_eq!(client.ip(), "2001:db8::1".parse::<std::net::IpAddr>()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_port(self) -> Self {
        Self {
            with_port: true,
            ..self
        }
    }

    /// Sets how many leading bits of an IPv6 address make one client; 64 by default, at most 128. Some providers give a site a `/56`
    /// or `/48`.
    #[must_use]
    pub fn ipv6_prefix(self, bits: u8) -> Self {
        Self {
            ipv6_prefix: bits.min(128),
            ..self
        }
    }

    /// Returns the client of a request from `peer` with these headers.
    #[must_use]
    pub fn resolve(&self, peer: SocketAddr, headers: &HeaderMap) -> ClientIp {
        self.resolve_by(peer, |name| {
            headers.get_all(name).into_iter().map(HeaderValue::as_bytes)
        })
    }

    /// As [`resolve`](Self::resolve), for any type of headers: `lines` returns those of one header, and is not called for an untrusted
    /// peer.
    pub(crate) fn resolve_by<'a, L>(&self, peer: SocketAddr, lines: impl FnOnce(&HeaderName) -> L) -> ClientIp
    where
        L: DoubleEndedIterator<Item = &'a [u8]>,
    {
        let nearest = peer.ip().to_canonical();
        let proxies = self.proxies.as_deref().filter(|proxies| proxies.trust(nearest));
        match proxies.map(|proxies| proxies.walk(nearest, lines(&proxies.header), self.with_port)) {
            Some(client) if client != nearest => ClientIp::new(client, self.ipv6_prefix),
            _ => ClientIp::of_peer(peer, self.ipv6_prefix),
        }
    }

    /// Returns `true` if a forwarding header is present but no proxy is trusted: a service that stands behind a proxy without being
    /// told counts all its clients as one.
    #[must_use]
    pub fn ignores_proxies(&self, headers: &HeaderMap) -> bool {
        self.ignores_proxies_by(|name| headers.contains_key(name))
    }

    fn ignores_proxies_by(&self, has: impl Fn(&str) -> bool) -> bool {
        let trusts_none = self.proxies.as_ref().is_none_or(|proxies| proxies.trusted.is_empty());
        trusts_none && (has("x-forwarded-for") || has("forwarded"))
    }

    /// Logs once if a service seems to stand behind a proxy without being told. `has` tells which headers a request has.
    #[cfg(any(feature = "actix-web", feature = "axum"))]
    pub(crate) fn warn_if_it_ignores_proxies(&self, has: impl Fn(&str) -> bool) {
        static SAID: Once = Once::new();
        if self.ignores_proxies_by(has) {
            SAID.call_once(|| {
                tracing::warn!(
                    "requests come with a header of a proxy, and no proxy is trusted: if this service stands behind one, say so \
                     with `ClientIpSource::x_forwarded_for(..)`, or all its clients count as one"
                );
            });
        }
    }
}

impl Proxies {
    fn trust(&self, address: IpAddr) -> bool {
        self.trusted.iter().any(|net| net.contains(&address))
    }

    /// Returns the address that trusted proxies report, beginning with `peer`, which is one of them.
    fn walk<'a>(&self, peer: IpAddr, lines: impl DoubleEndedIterator<Item = &'a [u8]>, with_port: bool) -> IpAddr {
        let mut nearest = peer;
        let mut is_missing = true;
        for entry in forwarded::entries(lines) {
            if entry.is_empty() {
                self.warn(
                    &self.told.empty,
                    "a trusted proxy added an empty entry to this header, so the entry before it counts: if a proxy does so for \
                     clients that it does not know, they can choose the address that they are limited by",
                );
                continue;
            }
            is_missing = false;
            let address = match self.header == FORWARDED {
                true => forwarded::for_of(entry, with_port),
                false => forwarded::address(entry, with_port),
            };
            let Some(address) = address else {
                self.warn(
                    &self.told.unreadable,
                    "the entry that a trusted proxy added to this header is not an address, so all clients of that proxy share one \
                     limit: configure it to write addresses",
                );
                break;
            };
            nearest = address;
            if !self.trust(nearest) {
                break;
            }
        }
        if is_missing {
            self.warn_of_missing(peer);
        }
        nearest
    }

    fn warn_of_missing(&self, peer: IpAddr) {
        if peer.is_loopback() {
            self.warn(
                &self.told.loopback,
                "a request came from a loopback address, which is trusted as a proxy, without this header: programs on this machine \
                 that connect without the proxy can choose the address that they are limited by. Let only the proxy connect, or \
                 trust an address that no client has",
            );
        } else {
            self.warn(
                &self.told.missing,
                "a trusted proxy sent a request without this header, so all clients of that proxy share one limit: configure it to \
                 set the header, or name the one that it sets",
            );
        }
    }

    /// Logs a message once. It has no entry of the header, which may be a client.
    fn warn(&self, told: &Once, message: &str) {
        told.call_once(|| tracing::warn!(header = self.header.as_str(), "{message}"));
    }
}

/// The IPv4 network that a network of IPv4-mapped IPv6 addresses is: peers and entries are compared as IPv4 addresses.
fn canonical(net: IpNet) -> IpNet {
    match (net.network().to_canonical(), net.prefix_len().checked_sub(96)) {
        (ip @ IpAddr::V4(_), Some(bits)) if matches!(net, IpNet::V6(_)) => IpNet::new(ip, bits).unwrap_or(net),
        _ => net,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn source() -> ClientIpSource {
        ClientIpSource::x_forwarded_for(["10.0.0.0/8".parse().expect("a network")])
    }

    fn peer(text: &str) -> SocketAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn f_11_the_header_of_an_untrusted_peer_is_not_asked_for() {
        let lines = |_: &HeaderName| -> std::iter::Empty<&[u8]> { panic!("it is read") };
        assert_eq!(
            source().resolve_by(peer("192.0.2.1:1"), lines).ip(),
            peer("192.0.2.1:1").ip()
        );
        assert_eq!(
            ClientIpSource::peer().resolve_by(peer("10.0.0.3:1"), lines).ip(),
            peer("10.0.0.3:1").ip()
        );
    }

    #[test]
    fn f_11_lines_are_read_from_the_right_as_far_as_the_client_and_64_at_most() {
        let read = |line: &'static [u8], last: &'static [u8]| {
            let count = Cell::new(0);
            let lines = (0..100_u8).map(|n| {
                count.set(count.get() + 1);
                if n == 99 { last } else { line }
            });
            let _ = source().resolve_by(peer("10.0.0.3:1"), |_| lines);
            count.get()
        };
        assert_eq!(read(b"6.6.6.6", b"198.51.100.7"), 1);
        assert_eq!(read(b"10.0.0.2", b"10.0.0.2"), 64);
        assert_eq!(read(b"", b""), 64);
    }
}
