//! Peers: the scopes of link-local addresses, and what the log says of proxies.

use std::net::SocketAddr;

use axum::extract::{ConnectInfo, FromRequestParts as _};
use http::{HeaderValue, Request};
use rate_limit::{Client, ClientIp, ClientIpSource};

use crate::log;

/// The client of a request from this peer, with these lines of a header.
async fn client(source: &ClientIpSource, peer: &str, header: &'static str, lines: &[&'static str]) -> ClientIp {
    let peer: SocketAddr = peer.parse().expect("an address");
    let (mut parts, ()) = Request::new(()).into_parts();
    for line in lines {
        parts.headers.append(header, HeaderValue::from_static(line));
    }
    parts.extensions.insert(ConnectInfo(peer));
    parts.extensions.insert(source.clone());
    ClientIp::from_request_parts(&mut parts, &())
        .await
        .expect("the peer is known")
}

fn key(client: &impl rate_limit::ToKey) -> Client {
    Client::of(client).expect("an address names somebody")
}

fn behind(trusted: &str) -> ClientIpSource {
    ClientIpSource::x_forwarded_for([trusted.parse().expect("a network")])
}

#[tokio::test]
async fn f_24_the_scope_of_a_link_local_address_is_part_of_the_client() {
    for source in [ClientIpSource::peer(), behind("10.0.0.0/8")] {
        let of = async |peer: &str| key(&client(&source, peer, "x-forwarded-for", &[]).await);
        assert_ne!(of("[fe80::1%2]:1").await, of("[fe80::1%3]:1").await);
        assert_eq!(of("[fe80::1%2]:1").await, of("[fe80::1%2]:2").await);
        assert_eq!(
            of("[fe80::1%2]:1").await,
            of("[fe80::2%2]:1").await,
            "one link is one network"
        );
        assert_ne!(of("[fe80::1%2]:1").await, of("[fe80::1]:1").await);
        assert_eq!(
            of("[2001:db8::1%2]:1").await,
            of("[2001:db8::1]:1").await,
            "it means nothing there"
        );
    }
    // A proxy on the link, trusted, whose client is told: that has no scope.
    let told = client(
        &behind("fe80::/10"),
        "[fe80::1%2]:1",
        "x-forwarded-for",
        &["198.51.100.7"],
    )
    .await;
    assert_eq!(
        told.ip(),
        "198.51.100.7".parse::<std::net::IpAddr>().expect("an address")
    );
}

#[test]
fn f_24_a_socket_address_as_a_key_has_its_scope() {
    let of = |peer: &str| key(&peer.parse::<SocketAddr>().expect("an address"));
    assert_ne!(of("[fe80::1%2]:1"), of("[fe80::1%3]:1"));
    assert_ne!(of("[fe80::1%2]:1"), of("[fe80::2%2]:1"));
    assert_eq!(of("[fe80::1%2]:1"), of("[fe80::1%2]:2"));
    assert_eq!(of("[2001:db8::1%2]:1"), of("[2001:db8::1]:1"));
    let SocketAddr::V6(v6) = "[fe80::1%2]:1".parse().expect("an address") else {
        panic!("it is one of IPv6");
    };
    assert_eq!(key(&v6), of("[fe80::1%2]:1"));
    assert_eq!(
        Client::as_written(&["fe80::1%2"]).expect("it names somebody")[1..],
        [of("[fe80::1%2]:1"), key(&ClientIp::of_peer(v6.into(), 64))]
    );
}

#[tokio::test]
async fn f_33_an_entry_that_is_no_address_is_warned_of_once() {
    log::install();
    let source = behind("10.0.0.0/8");
    log::take();
    for lines in [&["203.0.113.5"][..], &["unknown, 203.0.113.5"]] {
        client(&source, "10.0.0.3:1", "x-forwarded-for", lines).await;
    }
    client(&source, "192.0.2.1:1", "x-forwarded-for", &["unknown"]).await;
    assert_eq!(log::take(), [""; 0], "what a client invents is no fault of a proxy");
    for lines in [
        &["secret-of-a-client"][..],
        &["203.0.113.5, _hidden"],
        &["203.0.113.5, unknown, 10.0.0.2"],
    ] {
        client(&source, "10.0.0.3:1", "x-forwarded-for", lines).await;
    }
    let log = log::take();
    assert_eq!(log.len(), 1, "{log:?}");
    assert!(
        log[0].contains("WARN") && log[0].contains("header=\"x-forwarded-for\""),
        "{log:?}"
    );
    assert!(log[0].contains("is not an address"), "{log:?}");
    assert!(!log[0].contains("secret"), "{log:?}");
}

#[tokio::test]
async fn f_33_an_empty_entry_of_a_proxy_is_warned_of_once() {
    log::install();
    let source = behind("10.0.0.0/8");
    log::take();
    for lines in [&[", 203.0.113.5"][..], &["203.0.113.6,"], &["203.0.113.7", ""]] {
        client(&source, "10.0.0.3:1", "x-forwarded-for", lines).await;
    }
    let log = log::take();
    assert_eq!(log.len(), 1, "{log:?}");
    assert!(log[0].contains("WARN") && log[0].contains("an empty entry"), "{log:?}");
    assert!(!log[0].contains("203.0.113"), "{log:?}");
}

#[tokio::test]
async fn f_61_a_trusted_loopback_peer_without_the_header_is_warned_of_once() {
    log::install();
    for peer in ["127.0.0.1:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
        let source =
            ClientIpSource::x_forwarded_for(["127.0.0.0/8", "::1/128"].map(|net| net.parse().expect("a network")));
        log::take();
        client(&source, peer, "x-forwarded-for", &["203.0.113.5"]).await;
        client(&source, "192.0.2.1:1", "x-forwarded-for", &[]).await;
        assert_eq!(log::take(), [""; 0]);
        for _ in 0..3 {
            client(&source, peer, "x-forwarded-for", &[]).await;
        }
        let log = log::take();
        assert_eq!(log.len(), 1, "{log:?}");
        assert!(log[0].contains("WARN") && log[0].contains("loopback"), "{log:?}");
    }
}

#[tokio::test]
async fn f_61_a_trusted_proxy_that_sets_another_header_is_warned_of_once() {
    log::install();
    let source = behind("10.0.0.0/8");
    log::take();
    for _ in 0..3 {
        client(&source, "10.0.0.3:1", "forwarded", &["for=203.0.113.5"]).await;
    }
    let log = log::take();
    assert_eq!(log.len(), 1, "{log:?}");
    assert!(log[0].contains("WARN") && log[0].contains("share one limit"), "{log:?}");
}
