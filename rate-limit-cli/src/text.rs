//! Numbers, times and tables as reports have them.

use std::fmt;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use jiff::Timestamp;

/// A number in groups of three digits.
#[derive(Clone, Copy, Debug)]
pub struct Count(pub u64);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (place, digit) in digits.char_indices() {
            if place > 0 && (digits.len() - place).is_multiple_of(3) {
                f.write_str(",")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

/// So many of these, or one of them.
#[derive(Clone, Copy, Debug)]
pub struct Many(pub u64, pub &'static str);

impl fmt::Display for Many {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(count, noun) = *self;
        write!(f, "{} {noun}{}", Count(count), if count == 1 { "" } else { "s" })
    }
}

/// A part of 1, in hundredths of a percent.
#[derive(Clone, Copy, Debug)]
pub struct Share(pub f64);

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} %", self.0 * 100.0)
    }
}

/// A time in microseconds since 1970. One beyond the year 9999 is the last of it.
pub fn time(micros: u64) -> Timestamp {
    let micros = i64::try_from(micros).unwrap_or(i64::MAX);
    Timestamp::from_microsecond(micros).unwrap_or(Timestamp::MAX)
}

/// What somebody else wrote, as it may be printed: without characters that steer a terminal, and not all of it if it is long.
pub fn shown(text: &str) -> String {
    match text.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => escaped(&text[..end]) + "..",
        None => escaped(text),
    }
}

/// The same of a text of any length.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            // Control characters, and those that turn the direction of text or are not seen.
            '\0'..='\x1f'
            | '\x7f'..='\u{9f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' => {
                escaped.extend(character.escape_default());
            }
            plain => escaped.push(plain),
        }
    }
    escaped
}

const MOST_SHOWN: usize = 60;

/// `a`, `b`, and how many more if they are many.
pub fn list(names: &[&str]) -> String {
    const MOST: usize = 20;
    let quoted: Vec<String> = names
        .iter()
        .take(MOST)
        .map(|name| format!("`{}`", shown(name)))
        .collect();
    match names.len().saturating_sub(MOST) {
        0 => quoted.join(", "),
        more => format!("{} and {} more", quoted.join(", "), Count(more as u64)),
    }
}

/// A table without lines, the columns of which begin with these words.
pub fn table<const N: usize>(columns: [(&str, CellAlignment); N]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(columns.map(|(header, _)| header));
    for (column, (_, alignment)) in table.column_iter_mut().zip(columns) {
        column.set_cell_alignment(alignment);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_easily() {
        let written = |number| Count(number).to_string();
        assert_eq!(
            [0, 999, 1_000, 12_345_678].map(written),
            ["0", "999", "1,000", "12,345,678"]
        );
        assert_eq!(
            [0, 1, 1_000].map(|count| Many(count, "event").to_string()),
            ["0 events", "1 event", "1,000 events"]
        );
        assert_eq!(Share(0.97114).to_string(), "97.11 %");
    }

    #[test]
    fn what_others_wrote_is_harmless() {
        assert_eq!(shown("Zoë\u{1b}[31m\n\u{202e}"), r"Zoë\u{1b}[31m\n\u{202e}");
        assert_eq!(shown(&"x".repeat(60)), "x".repeat(60));
        assert_eq!(shown(&"x".repeat(61)), format!("{}..", "x".repeat(60)));
        assert_eq!(list(&["a", "b"]), "`a`, `b`");
        assert!(list(&["a"; 1_021]).ends_with("`a` and 1,001 more"));
    }

    #[test]
    fn a_time_is_read_as_it_is_written() {
        assert_eq!(time(1_764_460_800_000_000).to_string(), "2025-11-30T00:00:00Z");
        assert_eq!(time(u64::MAX), Timestamp::MAX);
    }
}
