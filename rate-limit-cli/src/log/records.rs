//! The records of comma-separated values, and the lines that they are on.

use std::io::BufRead as _;

use csv_core::{ReadRecordResult, Reader, ReaderBuilder, Terminator};

use super::Wrong;
use super::source::{BYTE_ORDER_MARK, MAX_LINE, Source};

/// Reads records line by line, so that one that does not end is known by its first line, and never held.
pub struct Records<'s> {
    source: &'s mut Source,
    reader: Reader,
    /// How many were read.
    lines: u64,
    line: Vec<u8>,
    /// The text of all fields of a record.
    text: Vec<u8>,
    /// Where each ends.
    ends: Vec<usize>,
}

/// An event, or the header.
pub struct Record<'r> {
    /// The first that it is on, from 1.
    pub line: u64,
    /// On how many lines it is: quoted fields may go over several.
    pub lines: u64,
    text: &'r [u8],
    ends: &'r [usize],
}

impl<'s> Records<'s> {
    pub fn new(source: &'s mut Source, delimiter: u8) -> Self {
        Self {
            source,
            reader: ReaderBuilder::new()
                .delimiter(delimiter)
                .terminator(Terminator::Any(b'\n'))
                .build(),
            lines: 0,
            line: Vec::new(),
            text: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// The next record, or `None` at the end. Blank lines are passed over.
    pub fn next(&mut self) -> Result<Option<Record<'_>>, Wrong> {
        let (mut first, mut text, mut ends) = (self.lines + 1, 0, 0);
        let unclosed = |first| Wrong(format!("line {first}: a quotation mark is opened there and not closed"));
        loop {
            if !self.read_line()? {
                return if self.lines < first {
                    Ok(None)
                } else {
                    Err(unclosed(first))
                };
            }
            if self.lines == first && self.line.trim_ascii().is_empty() {
                first += 1;
                continue;
            }
            // No line has more of either than bytes.
            self.text.resize(self.text.len().max(text + self.line.len()), 0);
            self.ends.resize(self.ends.len().max(ends + self.line.len()), 0);
            let (result, _, more_text, more_ends) =
                self.reader
                    .read_record(&self.line, &mut self.text[text..], &mut self.ends[ends..]);
            (text, ends) = (text + more_text, ends + more_ends);
            if matches!(result, ReadRecordResult::Record) {
                return Ok(Some(Record {
                    line: first,
                    lines: self.lines + 1 - first,
                    text: &self.text[..text],
                    ends: &self.ends[..ends],
                }));
            }
            if text as u64 > MAX_LINE {
                return Err(unclosed(first));
            }
        }
    }

    /// Reads one that ends with a line feed and nothing else. `false` at the end.
    fn read_line(&mut self) -> Result<bool, Wrong> {
        self.line.clear();
        if self.source.read_until(b'\n', &mut self.line)? == 0 {
            return Ok(false);
        }
        self.lines += 1;
        if self.lines == 1 && self.line.starts_with(BYTE_ORDER_MARK) {
            self.line.drain(..BYTE_ORDER_MARK.len());
        }
        let feed = self.line.ends_with(b"\n");
        self.line.truncate(self.line.len() - usize::from(feed));
        let carriage_return = self.line.ends_with(b"\r");
        self.line.truncate(self.line.len() - usize::from(carriage_return));
        self.line.push(b'\n');
        Ok(true)
    }
}

impl<'r> Record<'r> {
    pub fn field(&self, place: usize) -> Option<&'r [u8]> {
        let end = *self.ends.get(place)?;
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some(&self.text[start..end])
    }

    pub fn fields(&self) -> impl Iterator<Item = &'r [u8]> {
        (0..self.ends.len()).map_while(|place| self.field(place))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::log::source;

    /// The fields of each record, and the lines that it is on.
    fn records(text: &str) -> Vec<(Vec<String>, u64, u64)> {
        let mut source = source::given(text);
        let mut records = Records::new(&mut source, b',');
        let mut read = Vec::new();
        while let Some(record) = records.next().expect("it is well-formed") {
            let fields = record.fields().map(|field| String::from_utf8_lossy(field).into_owned());
            read.push((fields.collect(), record.line, record.lines));
        }
        read
    }

    #[test]
    fn a_carriage_return_ends_no_line() {
        let fields = |fields: &[&str]| fields.iter().map(|field| (*field).to_owned()).collect();
        assert_eq!(
            records("a\rb,c\r\nd\r,e"),
            [(fields(&["a\rb", "c"]), 1, 1), (fields(&["d\r", "e"]), 2, 1)]
        );
    }

    proptest! {
        /// Whatever is within quotation marks, and however many blank lines are between.
        #[test]
        fn records_are_read_as_they_were_written(
            written in prop::collection::vec((prop::collection::vec("[a-c,\"\n ]{0,6}", 2..5), 0..3_usize), 1..8),
            ends in prop::sample::select(vec!["\n", "\r\n"]),
        ) {
            let (mut text, mut expected, mut line) = (String::new(), Vec::new(), 1);
            for (fields, blank) in written {
                let quoted: Vec<String> = fields.iter().map(|field| format!("\"{}\"", field.replace('"', "\"\""))).collect();
                let record = quoted.join(",");
                let lines = 1 + record.matches('\n').count() as u64;
                text += &(record.replace('\n', ends) + ends + &ends.repeat(blank));
                expected.push((fields, line, lines));
                line += lines + blank as u64;
            }
            prop_assert_eq!(records(&text), expected.clone());
            prop_assert_eq!(records(text.trim_end_matches(['\r', '\n'])), expected);
        }
    }
}
