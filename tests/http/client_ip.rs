//! Whose address a request comes from.

use std::net::{IpAddr, SocketAddr};

use http::{HeaderMap, HeaderName, HeaderValue};
use rate_limit::{Client, ClientIp, ClientIpSource};

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn peer(text: &str) -> SocketAddr {
    SocketAddr::new(ip(text), 4711)
}

fn headers(lines: &[(&str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        let name: HeaderName = name.parse().expect("a name");
        headers.append(name, HeaderValue::from_str(value).expect("a value"));
    }
    headers
}

fn behind(trusted: &[&str]) -> ClientIpSource {
    ClientIpSource::x_forwarded_for(trusted.iter().map(|net| net.parse().expect("a network")))
}

fn key(ip: ClientIp) -> Client {
    Client::of(&ip).expect("an address names somebody")
}

#[test]
fn ip_01_what_an_untrusted_peer_says_is_not_heard() {
    let source = behind(&["10.0.0.0/8"]);
    for n in 0..200 {
        let rotating = headers(&[("x-forwarded-for", &format!("192.0.2.{n}"))]);
        assert_eq!(source.resolve(peer("203.0.113.9"), &rotating).ip(), ip("203.0.113.9"));
    }
}

#[test]
fn ip_02_trusted_proxies_are_passed_from_the_right() {
    let headers = headers(&[("x-forwarded-for", "6.6.6.6, 198.51.100.7, 10.0.0.2")]);
    assert_eq!(
        behind(&["10.0.0.0/8"]).resolve(peer("10.0.0.3"), &headers).ip(),
        ip("198.51.100.7")
    );
    let all_trusted = behind(&["0.0.0.0/0"]).resolve(peer("10.0.0.3"), &headers);
    assert_eq!(
        all_trusted.ip(),
        ip("6.6.6.6"),
        "where every entry is a proxy's, the first is the client"
    );
}

#[test]
fn ip_03_an_entry_that_is_no_address_ends_the_walk() {
    let proxy = ip("10.0.0.3");
    let forwarded = ClientIpSource::forwarded(["10.0.0.0/8".parse().expect("a network")]);
    let hidden = headers(&[("forwarded", "for=1.2.3.4, for=_hidden")]);
    assert_eq!(forwarded.resolve(peer("10.0.0.3"), &hidden).ip(), proxy);
    let unknown = headers(&[("x-forwarded-for", "1.2.3.4, unknown")]);
    assert_eq!(behind(&["10.0.0.0/8"]).resolve(peer("10.0.0.3"), &unknown).ip(), proxy);
    let behind_another = headers(&[("x-forwarded-for", "1.2.3.4, unknown, 10.0.0.2")]);
    assert_eq!(
        behind(&["10.0.0.0/8"]).resolve(peer("10.0.0.3"), &behind_another).ip(),
        ip("10.0.0.2")
    );
}

#[test]
fn ip_05_all_lines_of_a_header_are_one() {
    let source = behind(&["10.0.0.0/8"]);
    let two = headers(&[
        ("x-forwarded-for", "1.2.3.4"),
        ("x-forwarded-for", "198.51.100.7, 10.0.0.2"),
    ]);
    assert_eq!(source.resolve(peer("10.0.0.3"), &two).ip(), ip("198.51.100.7"));
    let mut hundred: Vec<(&str, &str)> = vec![("x-forwarded-for", "1.2.3.4"); 99];
    hundred.push(("x-forwarded-for", "198.51.100.7"));
    assert_eq!(
        source.resolve(peer("10.0.0.3"), &headers(&hundred)).ip(),
        ip("198.51.100.7")
    );
    let long = format!("{}, 198.51.100.7", "1.2.3.4, ".repeat(7_000));
    assert_eq!(
        source
            .resolve(peer("10.0.0.3"), &headers(&[("x-forwarded-for", &long)]))
            .ip(),
        ip("198.51.100.7")
    );
    // All the way through a chain of trusted ones, there is an end to the work and no address is made up of half of one.
    let chain = format!("1.2.3.4{}", ", 10.0.0.2".repeat(7_000));
    assert_eq!(
        source
            .resolve(peer("10.0.0.3"), &headers(&[("x-forwarded-for", &chain)]))
            .ip(),
        ip("10.0.0.2")
    );
}

#[test]
fn f_11_at_most_64_entries_are_read() {
    let source = behind(&["10.0.0.0/8"]);
    let behind_so_many = |proxies: usize| {
        let chain = format!("198.51.100.7{}", ", 10.0.0.2".repeat(proxies));
        let one_line = headers(&[("x-forwarded-for", &chain)]);
        let mut lines = vec![("x-forwarded-for", "198.51.100.7")];
        lines.extend(vec![("x-forwarded-for", "10.0.0.2"); proxies]);
        [one_line, headers(&lines)].map(|headers| source.resolve(peer("10.0.0.3"), &headers).ip())
    };
    assert_eq!(behind_so_many(63), [ip("198.51.100.7"); 2]);
    assert_eq!(behind_so_many(64), [ip("10.0.0.2"); 2]);
    let empty = format!("198.51.100.7{}", ",".repeat(64));
    let empty = headers(&[("x-forwarded-for", &empty)]);
    assert_eq!(source.resolve(peer("10.0.0.3"), &empty).ip(), ip("10.0.0.3"));
}

#[test]
fn f_33_a_source_that_always_has_a_port_reads_the_last_group_as_one() {
    let header = HeaderName::from_static("cloudfront-viewer-address");
    let source = ClientIpSource::header(header, ["10.0.0.0/8".parse().expect("a network")]);
    let of = |source: &ClientIpSource, entry: &str| {
        let headers = headers(&[("cloudfront-viewer-address", entry)]);
        source.resolve(peer("10.0.0.3"), &headers).ip()
    };
    let with_port = source.clone().with_port();
    assert_eq!(of(&source, "2001:db8::1:443"), ip("2001:db8::1:443"));
    for entry in [
        "2001:db8::1:443",
        "2001:db8::1:65535",
        "[2001:db8::1]:443",
        "2001:db8:0:0:0:0:0:1:443",
    ] {
        assert_eq!(of(&with_port, entry), ip("2001:db8::1"), "{entry}");
    }
    for (entry, address) in [
        ("203.0.113.7:443", "203.0.113.7"),
        ("203.0.113.7", "203.0.113.7"),
        ("::ffff:203.0.113.7:443", "203.0.113.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2:3:4:5:6"),
        ("2001:db8::1:face", "2001:db8::1:face"),
    ] {
        assert_eq!(of(&with_port, entry), ip(address), "{entry}");
    }
    let forwarded = ClientIpSource::forwarded(["10.0.0.0/8".parse().expect("a network")]).with_port();
    let headers = headers(&[("forwarded", "for=\"2001:db8::1:443\"")]);
    assert_eq!(forwarded.resolve(peer("10.0.0.3"), &headers).ip(), ip("2001:db8::1"));
}

/// A source that names the header `Forwarded` reads it by the syntax of RFC 7239, also if `header` made the source.
#[test]
fn f_33_forwarded_by_its_name_is_forwarded() {
    let source = ClientIpSource::header(http::header::FORWARDED, ["10.0.0.0/8".parse().expect("a network")]);
    let headers = headers(&[("forwarded", "for=198.51.100.7")]);
    assert_eq!(source.resolve(peer("10.0.0.3"), &headers).ip(), ip("198.51.100.7"));
}

#[test]
fn ip_07_ports_brackets_and_quotes_make_no_other_client() {
    let source = behind(&["10.0.0.0/8"]);
    let of = |entry: &str| {
        source
            .resolve(peer("10.0.0.3"), &headers(&[("x-forwarded-for", entry)]))
            .ip()
    };
    for entry in [
        "203.0.113.7:54321",
        "\"203.0.113.7\"",
        "\"203.0.113.7:1\"",
        " 203.0.113.7 ",
        "::ffff:203.0.113.7",
    ] {
        assert_eq!(of(entry), ip("203.0.113.7"), "{entry}");
    }
    for entry in [
        "[2001:db8::1]:443",
        "[2001:db8::1]",
        "\"[2001:db8::1]:443\"",
        "2001:db8::1",
    ] {
        assert_eq!(of(entry), ip("2001:db8::1"), "{entry}");
    }
}

#[test]
fn ip_09_mapped_addresses_are_the_ones_they_stand_for() {
    let of = |text: &str| key(ClientIp::new(ip(text), 64));
    assert_ne!(of("::ffff:1.2.3.4"), of("::ffff:5.6.7.8"));
    assert_eq!(of("::ffff:1.2.3.4"), of("1.2.3.4"));
    let source = behind(&["10.0.0.0/8"]);
    let headers = headers(&[("x-forwarded-for", "198.51.100.7")]);
    assert_eq!(
        source.resolve(peer("::ffff:10.0.0.3"), &headers).ip(),
        ip("198.51.100.7"),
        "a mapped proxy is trusted"
    );
}

#[test]
fn ip_11_a_network_is_one_client() {
    let grouped = |text: &str, prefix| key(ClientIp::new(ip(text), prefix));
    let one = grouped("2001:db8:1:2::1", 64);
    for n in 0..10_000_u32 {
        assert_eq!(grouped(&format!("2001:db8:1:2:{:x}::{n:x}", n % 7 + 1), 64), one);
    }
    assert_ne!(grouped("2001:db8:1:3::1", 64), one);
    assert_eq!(grouped("2001:db8:1:3::1", 56), grouped("2001:db8:1:2::1", 56));
    assert_ne!(grouped("2001:db8:1:2::1", 128), grouped("2001:db8:1:2::2", 128));
    assert_eq!(grouped("2001:db8::1", 0), grouped("fe80::1", 0));
    // What is trusted is the address, not its network.
    let source = behind(&["2001:db8:1:2::1/128"]);
    let headers = headers(&[("x-forwarded-for", "198.51.100.7")]);
    assert_eq!(
        source.resolve(peer("2001:db8:1:2::2"), &headers).ip(),
        ip("2001:db8:1:2::2")
    );
}

#[test]
fn ip_12_an_ipv4_address_within_an_ipv6_one_tells_clients_apart() {
    let of = |text: &str| key(ClientIp::new(ip(text), 64));
    assert_eq!(of("64:ff9b::808:808"), of("8.8.8.8"));
    assert_ne!(of("64:ff9b::808:808"), of("64:ff9b::909:909"));
    assert_eq!(of("::9.9.9.9"), of("9.9.9.9"));
    assert_eq!(of("2002:c000:0204::1"), of("192.0.2.4"));
    assert_ne!(of("::1"), of("0.0.0.1"), "the loopback address is none");
}

#[test]
fn ip_13_a_service_that_is_not_told_of_its_proxy_can_tell() {
    let headers = headers(&[("x-forwarded-for", "198.51.100.7")]);
    assert!(ClientIpSource::peer().ignores_proxies(&headers));
    assert!(!behind(&["10.0.0.0/8"]).ignores_proxies(&headers));
    assert!(!ClientIpSource::peer().ignores_proxies(&HeaderMap::new()));
}

#[test]
fn key_10_an_address_is_not_shown() {
    assert_eq!(format!("{:?}", ClientIp::new(ip("203.0.113.7"), 64)), "ClientIp(..)");
}

#[test]
fn f_18_a_network_of_mapped_addresses_is_the_ipv4_network() {
    let headers = headers(&[("x-forwarded-for", "198.51.100.7")]);
    for (net, proxy, passed) in [
        ("::ffff:10.0.0.0/104", "10.9.9.9", true),
        ("::ffff:10.0.0.0/104", "::ffff:10.9.9.9", true),
        ("::ffff:10.0.0.0/104", "11.0.0.1", false),
        ("::ffff:10.0.0.3/128", "10.0.0.3", true),
        ("::ffff:10.0.0.3/128", "10.0.0.4", false),
        ("::ffff:0.0.0.0/96", "10.0.0.3", true),
        // With its host bits, as interfaces are written.
        ("::ffff:10.1.2.3/104", "10.9.9.9", true),
        // Wider ones are no network of IPv4 addresses.
        ("::ffff:0.0.0.0/95", "10.0.0.3", false),
        ("::/0", "10.0.0.3", false),
        ("::/0", "2001:db8::1", true),
        ("10.0.0.0/8", "::ffff:10.9.9.9", true),
    ] {
        let client = behind(&[net]).resolve((ip(proxy), 1).into(), &headers).ip();
        assert_eq!(client == ip("198.51.100.7"), passed, "{net} {proxy}: {client}");
    }
}
