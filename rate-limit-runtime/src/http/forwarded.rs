//! Entries of the headers in which proxies report from whom they have a request.

use std::net::IpAddr;

use super::list::rsplit;

/// How many entries are read, from the right: a chain of proxies is shorter.
const MOST: usize = 64;

/// The entries of a header, the last first.
pub(super) fn entries<'a>(lines: impl DoubleEndedIterator<Item = &'a [u8]>) -> impl Iterator<Item = &'a [u8]> {
    let entries = lines.rev().flat_map(|line| rsplit(line, b','));
    entries.take(MOST).map(<[u8]>::trim_ascii)
}

/// The `for=` of an element of `Forwarded` (RFC 7239); `None` if it is not an address.
pub(super) fn for_of(element: &[u8], with_port: bool) -> Option<IpAddr> {
    let mut found = None;
    let pairs = rsplit(element, b';').map(<[u8]>::trim_ascii);
    for pair in pairs.filter(|pair| !pair.is_empty()) {
        let equals = pair.iter().position(|byte| *byte == b'=')?;
        if pair[..equals].trim_ascii().eq_ignore_ascii_case(b"for") {
            // One that is given twice says nothing.
            if found.is_some() {
                return None;
            }
            found = Some(address(&pair[equals + 1..], with_port)?);
        }
    }
    found
}

/// An address as proxies write it: in quotes or brackets, with a port, with space around. What may be an address or one with a port is
/// the one `with_port` says.
pub(super) fn address(text: &[u8], with_port: bool) -> Option<IpAddr> {
    let text = str::from_utf8(text.trim_ascii()).ok()?;
    let text = match text.strip_prefix('"') {
        Some(quoted) => quoted.strip_suffix('"')?,
        None => text,
    };
    let ip = match text.strip_prefix('[') {
        Some(bracketed) => {
            let (ip, port) = bracketed.split_once(']')?;
            if !port.is_empty() {
                is_port(port.strip_prefix(':')?).then_some(())?;
            }
            IpAddr::V6(ip.parse().ok()?)
        }
        None if with_port => before_port(text).or_else(|| text.parse().ok())?,
        None => text.parse().ok().or_else(|| before_port(text))?,
    };
    Some(ip.to_canonical())
}

fn before_port(text: &str) -> Option<IpAddr> {
    let (ip, port) = text.rsplit_once(':')?;
    is_port(port).then(|| ip.parse().ok()).flatten()
}

/// A number, or an obfuscated name (RFC 7239, 6.3).
fn is_port(port: &str) -> bool {
    match port.strip_prefix('_') {
        Some(name) => !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c)),
        None => port.parse::<u16>().is_ok() && port.bytes().all(|byte| byte.is_ascii_digit()),
    }
}
