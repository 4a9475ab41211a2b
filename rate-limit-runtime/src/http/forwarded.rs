//! Headers in which proxies say from whom they have a request.

use std::net::IpAddr;

use http::{HeaderMap, HeaderName};

/// How much of a header is looked at, from its right end: what is further left than some hundred proxies is nobody's business.
const MOST: usize = 8 * 1024;

/// The entries of a header of addresses, the last first; `None` for one that is no address.
pub(super) fn list(headers: &HeaderMap, name: &HeaderName) -> Vec<Option<IpAddr>> {
    rsplit_outside_quotes(&joined(headers, name), ',')
        .map(address)
        .collect()
}

/// The `for=` of each element of `Forwarded` (RFC 7239), the last first; `None` for one that is no address.
pub(super) fn forwarded(headers: &HeaderMap) -> Vec<Option<IpAddr>> {
    let joined = joined(headers, &HeaderName::from_static("forwarded"));
    rsplit_outside_quotes(&joined, ',').map(for_of).collect()
}

fn for_of(element: &str) -> Option<IpAddr> {
    let mut found = None;
    for pair in rsplit_outside_quotes(element, ';') {
        let (name, value) = pair.split_once('=')?;
        if name.trim().eq_ignore_ascii_case("for") {
            // One that is given twice says nothing.
            if found.is_some() {
                return None;
            }
            found = Some(address(value)?);
        }
    }
    found
}

/// All lines of a header as one, in their order; of one that is too long the right end.
fn joined(headers: &HeaderMap, name: &HeaderName) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut left = MOST;
    for line in headers.get_all(name).iter().rev() {
        // What is not ASCII is no address, and stays one entry.
        let text = String::from_utf8_lossy(line.as_bytes());
        let from = text.len().saturating_sub(left);
        let from = (from..=text.len())
            .find(|at| text.is_char_boundary(*at))
            .unwrap_or(text.len());
        lines.push(text[from..].to_owned());
        if from > 0 {
            // The cut may have made an address out of the end of something else.
            if let Some(cut) = lines.last_mut() {
                cut.insert(0, '?');
            }
            break;
        }
        left = left.saturating_sub(text.len() + 1);
        if left == 0 {
            break;
        }
    }
    lines.reverse();
    lines.join(",")
}

/// An address as proxies write it: in quotes or brackets, with a port, with space around.
fn address(text: &str) -> Option<IpAddr> {
    let text = text.trim_matches([' ', '\t']);
    let text = match text.strip_prefix('"') {
        Some(quoted) => quoted.strip_suffix('"')?,
        None => text,
    };
    let ip = if let Some(bracketed) = text.strip_prefix('[') {
        let (ip, port) = bracketed.split_once(']')?;
        if !port.is_empty() {
            is_port(port.strip_prefix(':')?).then_some(())?;
        }
        IpAddr::V6(ip.parse().ok()?)
    } else if let Ok(ip) = text.parse() {
        ip
    } else {
        let (ip, port) = text.split_once(':')?;
        is_port(port).then_some(())?;
        IpAddr::V4(ip.parse().ok()?)
    };
    Some(ip.to_canonical())
}

/// A number, or an obfuscated name (RFC 7239, 6.3).
fn is_port(port: &str) -> bool {
    match port.strip_prefix('_') {
        Some(name) => !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c)),
        None => port.parse::<u16>().is_ok() && port.bytes().all(|byte| byte.is_ascii_digit()),
    }
}

/// Splits where the separator is not within quotes, from the right: quotes that a client left open do not reach into what proxies
/// added after them. Escapes are not looked at: no address has one.
fn rsplit_outside_quotes(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut rest = (!text.is_empty()).then_some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let mut quoted = false;
        for (at, c) in text.char_indices().rev() {
            if c == '"' {
                quoted = !quoted;
            } else if c == separator && !quoted {
                rest = Some(&text[..at]);
                return Some(&text[at + c.len_utf8()..]);
            }
        }
        rest = None;
        Some(text)
    })
}
