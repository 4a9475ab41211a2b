//! Text that was read from a store, made safe to print.

use std::borrow::Cow;

/// Escapes the characters of a text that steer a terminal, turn the direction of text or are not seen.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut printable = String::with_capacity(text.len());
    for character in text.chars() {
        match is_unsafe(character) {
            true => printable.extend(character.escape_default()),
            false => printable.push(character),
        }
    }
    Cow::Owned(printable)
}

fn is_unsafe(character: char) -> bool {
    matches!(
        character,
        '\0'..='\x1f'
            | '\x7f'..='\u{9f}'
            | '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f_26_what_steers_a_terminal_is_escaped() {
        assert_eq!(printable("\x1b[2Jm::a\r\n"), r"\u{1b}[2Jm::a\r\n");
        assert_eq!(printable("m::\u{202e}nigol"), r"m::\u{202e}nigol");
        assert_eq!(printable("a\u{9b}2J\u{feff}\u{e0041}"), r"a\u{9b}2J\u{feff}\u{e0041}");
        let plain = "<portal::Prüfung as m::\u{65e5}\u{672c}>::login \u{1f600}";
        assert!(matches!(printable(plain), Cow::Borrowed(same) if same == plain));
    }
}
