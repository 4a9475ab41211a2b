//! Forwarding headers come to their address, also through axum.

#[path = "../support/forwarded_corpus.rs"]
mod corpus;

use std::net::{IpAddr, SocketAddr};

use axum::extract::{ConnectInfo, FromRequestParts as _};
use http::{HeaderMap, HeaderValue, Request};
use rate_limit::ClientIp;

use self::corpus::{Row, rows, source};

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn headers(row: &Row) -> HeaderMap {
    let value = |line: &String| HeaderValue::from_bytes(line.as_bytes()).expect("a value");
    row.lines.iter().map(|line| (row.header.clone(), value(line))).fold(
        HeaderMap::new(),
        |mut headers, (name, value)| {
            headers.append(name, value);
            headers
        },
    )
}

#[test]
fn ip_03_each_header_of_the_corpus_comes_to_its_address() {
    let mut seen = 0;
    for row in rows() {
        assert_eq!(
            row.source.resolve(SocketAddr::new(row.peer, 4711), &headers(&row)).ip(),
            row.resolved,
            "{}",
            row.text
        );
        seen += 1;
    }
    assert!(seen >= 200, "{seen}");
}

#[tokio::test]
async fn ip_03_and_so_it_does_through_axum() {
    for row in rows() {
        let (mut parts, ()) = Request::new(()).into_parts();
        parts.headers = headers(&row);
        parts.extensions.insert(ConnectInfo(SocketAddr::new(row.peer, 4711)));
        parts.extensions.insert(row.source.clone());
        let client = ClientIp::from_request_parts(&mut parts, &())
            .await
            .expect("the peer is known");
        assert_eq!(client.ip(), row.resolved, "{}", row.text);
    }
}

/// Whatever stands left, what the proxy adds is what counts, and nothing panics.
#[test]
fn ip_03_no_beginning_reaches_past_what_a_proxy_adds() {
    let beginnings: Vec<Vec<u8>> = (0..=255_u8)
        .filter(|byte| HeaderValue::from_bytes(&[*byte]).is_ok())
        .flat_map(|byte| {
            [
                vec![byte],
                vec![byte; 100],
                [b"1.2.3.4,", [byte].as_slice(), b"\"["].concat(),
                vec![byte; 70_000],
            ]
        })
        .collect();
    assert!(beginnings.len() > 800);
    for beginning in &beginnings {
        for header in ["xff", "fwd", "real"] {
            let (source, name) = source(header);
            let added = if header == "fwd" {
                ", for=198.51.100.7"
            } else {
                ", 198.51.100.7"
            };
            let value = HeaderValue::from_bytes(&[beginning.as_slice(), added.as_bytes()].concat()).expect("a value");
            let resolved = source.resolve(
                SocketAddr::new(ip("10.0.0.3"), 4711),
                &HeaderMap::from_iter([(name, value)]),
            );
            assert_eq!(
                resolved.ip(),
                ip("198.51.100.7"),
                "{:?} {header}",
                &beginning[..beginning.len().min(20)]
            );
        }
    }
}
