//! What is wrong with lines of a log that can be used all the same.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::text::Many;

/// What is wrong with one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// It is left out.
    NoClient,
    NoTime,
    Time(&'static str),
    Json(&'static str),
    /// It is left out, with all lines up to the next quotation mark.
    Quote,
    /// It is used, with those behind it.
    SeveralLines,
    /// It is used at its own time.
    OutOfOrder,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoClient => f.write_str("left out: they name no client"),
            Self::NoTime => f.write_str("left out: they have no time"),
            Self::Time(reason) => write!(f, "left out: their time {reason}"),
            Self::Json(reason) => write!(f, "left out: they are {reason}"),
            Self::Quote => f.write_str("left out: a quotation mark opened in their first is not closed there"),
            Self::SeveralLines => f.write_str("used as one event: they are within quotation marks"),
            Self::OutOfOrder => f.write_str("earlier than one before them, and used at their own time"),
        }
    }
}

/// How often each fault is, and where first.
#[derive(Debug, Default)]
pub struct Faults(BTreeMap<Fault, (u64, Vec<u64>)>);

/// How many lines are named for a fault.
const NAMED: usize = 3;

impl Faults {
    pub fn note(&mut self, line: u64, fault: Fault) {
        self.note_lines(line, 1, fault);
    }

    /// One fault of this line and those behind it.
    pub fn note_lines(&mut self, line: u64, lines: u64, fault: Fault) {
        let (count, first) = self.0.entry(fault).or_default();
        *count += lines;
        if first.len() < NAMED {
            first.push(line);
        }
    }

    /// How many lines are not used.
    pub fn left_out(&self) -> u64 {
        let is_used = |fault: &Fault| matches!(fault, Fault::SeveralLines | Fault::OutOfOrder);
        let left_out = self.0.iter().filter(|(fault, _)| !is_used(fault));
        left_out.map(|(_, (count, _))| count).sum()
    }

    pub fn list(&self) -> Vec<FaultyLines> {
        let lines = |(fault, (count, first)): (&Fault, &(u64, Vec<u64>))| FaultyLines {
            fault: fault.to_string(),
            lines: *count,
            first_lines: first.clone(),
        };
        self.0.iter().map(lines).collect()
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.list().iter().map(FaultyLines::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

/// Lines with one fault.
#[derive(Clone, Debug, Serialize)]
pub struct FaultyLines {
    fault: String,
    lines: u64,
    first_lines: Vec<u64>,
}

/// `2 lines left out: they name no client (3, 7)`.
impl fmt::Display for FaultyLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first: Vec<String> = self.first_lines.iter().map(u64::to_string).collect();
        let more = if self.lines > first.len() as u64 { ", .." } else { "" };
        write!(
            f,
            "{} {} ({}{more})",
            Many(self.lines, "line"),
            self.fault,
            first.join(", ")
        )
    }
}
