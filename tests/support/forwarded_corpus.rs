//! A corpus of forwarding headers, each with the address that it comes to.

use std::net::IpAddr;

use http::HeaderName;
use rate_limit::ClientIpSource;

const CORPUS: &str = include_str!("forwarded.txt");

/// One request.
pub struct Row {
    pub source: ClientIpSource,
    pub header: HeaderName,
    pub peer: IpAddr,
    /// The lines of the header.
    pub lines: Vec<String>,
    pub resolved: IpAddr,
    /// As it stands in the corpus.
    pub text: &'static str,
}

pub fn rows() -> impl Iterator<Item = Row> {
    CORPUS.lines().filter(|row| !row.starts_with('#')).map(|text| {
        let cells: Vec<&str> = text.split(" | ").collect();
        let (source, header) = source(cells[0]);
        Row {
            source,
            header,
            peer: ip(cells[1]),
            lines: cells[3..].iter().map(|line| unescaped(line)).collect(),
            resolved: ip(cells[2]).to_canonical(),
            text,
        }
    })
}

/// `xff`, `fwd` or `real`, trusting 10.0.0.0/8 and fd00::/8.
pub fn source(header: &str) -> (ClientIpSource, HeaderName) {
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

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn unescaped(line: &str) -> String {
    let line = line.strip_prefix('<').and_then(|line| line.strip_suffix('>'));
    let line = line.expect("a line is in angles");
    line.replace("\\t", "\t").replace("\\p", "|").replace("\\\\", "\\")
}
