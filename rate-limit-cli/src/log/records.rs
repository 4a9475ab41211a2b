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
