//! Lists in header fields.

/// Splits a list at the separators that are not within quotes, the last element first. Quotes that a client left open do not reach
/// into what proxies added after them. Escapes are not looked at: neither an address nor a directive has one.
pub(super) fn rsplit(list: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(list);
    std::iter::from_fn(move || {
        let list = rest?;
        let mut quoted = false;
        for (at, byte) in list.iter().enumerate().rev() {
            if *byte == b'"' {
                quoted = !quoted;
            } else if *byte == separator && !quoted {
                rest = Some(&list[..at]);
                return Some(&list[at + 1..]);
            }
        }
        rest = None;
        Some(list)
    })
}
