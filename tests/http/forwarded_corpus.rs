//! A corpus of forwarding headers, each with the address that it comes to.

use std::net::IpAddr;

use http::{HeaderMap, HeaderName, HeaderValue};
use rate_limit::ClientIpSource;

const CORPUS: &str = include_str!("forwarded.txt");

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn source(header: &str) -> (ClientIpSource, HeaderName) {
    let trusted = || ["10.0.0.0/8", "fd00::/8"].map(|net| net.parse().expect("a network"));
    match header {
        "xff" => (
            ClientIpSource::x_forwarded_for(trusted()),
            HeaderName::from_static("x-forwarded-for"),
        ),
        "fwd" => (
            ClientIpSource::forwarded(trusted()),
            HeaderName::from_static("forwarded"),
        ),
        "real" => {
            let name = HeaderName::from_static("x-real-ip");
            (ClientIpSource::header(name.clone(), trusted()), name)
        }
        other => panic!("no such header: {other}"),
    }
}

fn unescaped(line: &str) -> String {
    let line = line
        .strip_prefix('<')
        .and_then(|line| line.strip_suffix('>'))
        .expect("a line is in angles");
    line.replace("\\t", "\t").replace("\\p", "|").replace("\\\\", "\\")
}

#[test]
fn ip_03_each_header_of_the_corpus_comes_to_its_address() {
    let mut seen = 0;
    for row in CORPUS.lines().filter(|row| !row.starts_with('#')) {
        let cells: Vec<&str> = row.split(" | ").collect();
        let (source, name) = source(cells[0]);
        let mut headers = HeaderMap::new();
        for line in &cells[3..] {
            let value = HeaderValue::from_bytes(unescaped(line).as_bytes()).expect("a value");
            headers.append(name.clone(), value);
        }
        let resolved = source.resolve(ip(cells[1]), &headers);
        assert_eq!(resolved.ip(), ip(cells[2]).to_canonical(), "{row}");
        seen += 1;
    }
    assert!(seen >= 200, "{seen}");
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
            let resolved = source.resolve(ip("10.0.0.3"), &HeaderMap::from_iter([(name, value)]));
            assert_eq!(
                resolved.ip(),
                ip("198.51.100.7"),
                "{:?} {header}",
                &beginning[..beginning.len().min(20)]
            );
        }
    }
}
