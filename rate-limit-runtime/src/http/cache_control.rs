//! `Cache-Control` of an answer that is one client's alone.

use http::HeaderValue;

use super::list::rsplit;

/// The directives of these lines, made private; `None` if no shared cache may keep the answer as they are (RFC 9111).
pub(crate) fn made_private<'a>(lines: impl DoubleEndedIterator<Item = &'a [u8]>) -> Option<HeaderValue> {
    let directives = lines.rev().flat_map(|line| rsplit(line, b','));
    let mut kept: Vec<&[u8]> = Vec::new();
    for directive in directives.map(<[u8]>::trim_ascii) {
        // One with fields after it, as in `private="set-cookie"`, is of those fields alone.
        let name = directive.split(|byte| *byte == b'=').next().unwrap_or_default();
        let is = |other: &str| name.trim_ascii().eq_ignore_ascii_case(other.as_bytes());
        if directive.eq_ignore_ascii_case(b"private") || is("no-store") {
            return None;
        }
        let is_for_shared_caches = is("public") || is("s-maxage") || is("private");
        if !directive.is_empty() && !is_for_shared_caches {
            kept.push(directive);
        }
    }
    kept.push(b"private");
    kept.reverse();
    HeaderValue::from_bytes(&kept.join(&b", "[..])).ok()
}
