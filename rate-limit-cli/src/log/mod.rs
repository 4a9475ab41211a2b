//! Events, by client and time, as a log has them.

mod clients;
mod csv;
mod faults;
mod json;
mod records;
mod source;
mod summary;
mod timelines;
mod times;

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use self::clients::Clients;
use self::faults::{Fault, Faults};
pub use self::summary::Summary;
pub use self::timelines::Timelines;
use self::times::Times;
use crate::failure::{Code, Failure};
use crate::text::Count;

/// Where the events are, and how they are written.
#[derive(Debug, Args)]
pub struct LogArgs {
    /// The log: CSV with a header or JSON lines, plain or gzip; - for standard input
    log: PathBuf,
    /// The column, or the field, that names the client
    #[arg(long, value_name = "COLUMN", default_value = "client")]
    client: String,
    /// The column, or the field, with the time of the event
    #[arg(long, value_name = "COLUMN", default_value = "time")]
    time: String,
    /// How the log is written; found out from its first character if not given
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// What separates the columns of CSV
    #[arg(long, value_name = "CHARACTER", default_value = ",", value_parser = delimiter)]
    delimiter: u8,
    /// How times are written; found out from the first event if not given. Given, events with other times are counted as malformed, and
    /// else they end the command
    #[arg(long, value_enum)]
    times: Option<Times>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Comma-separated values, the first line of which names the columns
    Csv,
    /// An object a line
    Json,
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text {
        "tab" | "\\t" => Ok(b'\t'),
        _ => match text.as_bytes() {
            [delimiter] if delimiter.is_ascii() && !delimiter.is_ascii_alphanumeric() && *delimiter != b'"' => {
                Ok(*delimiter)
            }
            _ => Err("it is one character such as , or ; or the word tab".to_owned()),
        },
    }
}

/// All events of a log, in its order.
#[derive(Debug)]
pub struct Log {
    clients: Clients,
    /// Whose event, and when, in microseconds since 1970.
    events: Vec<Event>,
    faults: Faults,
    /// The latest time so far.
    latest: u64,
}

/// Packed, since there are millions.
#[derive(Clone, Copy, Debug)]
#[repr(Rust, packed(4))]
struct Event {
    at: u64,
    client: u32,
}

/// Reads a log to its end. What is wrong with single lines is told by the summary.
///
/// # Errors
///
/// If it cannot be read to its end, has no such columns, or has less to use than to leave out.
pub fn read(args: &LogArgs) -> Result<Log, Failure> {
    let (start, mut source) = source::open(&args.log)?;
    let mut log = Log {
        clients: Clients::new(),
        events: Vec::new(),
        faults: Faults::default(),
        latest: 0,
    };
    let read = match args.format.map_or_else(|| detect(&start), Ok) {
        Ok(Format::Csv) => csv::read(&mut source, args, &mut log),
        Ok(Format::Json) => json::read(&mut source, args, &mut log),
        Err(wrong) => Err(wrong),
    };
    read.map_err(|wrong| Failure::new(Code::Input, format!("{}: {}", args.log.display(), wrong.0)))?;
    let (used, left_out) = (log.events.len() as u64, log.faults.left_out());
    let why = if used == 0 && left_out == 0 {
        "there are no events in it, only a header".to_owned()
    } else if used == 0 {
        format!("no event in it can be used\n{}", log.faults)
    } else if left_out > used {
        let (left_out, used) = (Count(left_out), Count(used));
        format!(
            "more lines are left out, {left_out}, than can be used, {used}\n{}",
            log.faults
        )
    } else {
        return Ok(log);
    };
    Err(Failure::new(Code::Input, format!("{}: {why}", args.log.display())))
}

/// What makes a whole log useless, and what to do about it.
#[derive(Debug)]
struct Wrong(String);

impl From<std::io::Error> for Wrong {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

fn detect(start: &[u8]) -> Result<Format, Wrong> {
    match source::first_of(start) {
        None => Err(Wrong("it is empty".to_owned())),
        Some(b'{') => Ok(Format::Json),
        // No text has a zero in it, and anything else a client may have sent.
        Some(_) if start.contains(&0) => Err(Wrong(
            "it is no text: give CSV or JSON lines, plain or compressed by gzip".to_owned(),
        )),
        Some(_) => Ok(Format::Csv),
    }
}

impl Log {
    /// Adds an event in this line, as it is written.
    fn event(&mut self, line: u64, client: &[u8], time: &str, times: &mut times::Reader) -> Result<(), Wrong> {
        if client.trim_ascii().is_empty() {
            self.faults.note(line, Fault::NoClient);
            return Ok(());
        }
        if time.trim_ascii().is_empty() {
            self.faults.note(line, Fault::NoTime);
            return Ok(());
        }
        let at = match times.read(time) {
            Ok(at) => at,
            Err(times::Unread::Malformed(reason)) => {
                self.faults.note(line, Fault::Time(reason));
                return Ok(());
            }
            Err(times::Unread::Mixed(reason)) => return Err(Wrong(format!("line {line}: {reason}"))),
        };
        if at < self.latest {
            self.faults.note(line, Fault::OutOfOrder);
        }
        self.latest = self.latest.max(at);
        let client = self.clients.number(client).ok_or_else(|| {
            Wrong(format!(
                "line {line}: the names of all clients are more than 4 GB: split the log by client"
            ))
        })?;
        self.events.push(Event { at, client });
        Ok(())
    }

    /// What there is, for the head of a report.
    pub fn summary(&self) -> Summary {
        let times = || self.events.iter().map(|event| event.at);
        Summary::new(
            self.events.len() as u64,
            self.clients.len() as u64,
            times().min().unwrap_or(0),
            self.latest,
            &self.faults,
        )
    }

    /// The events of each client in the order of time, whatever their order in the log.
    pub fn timelines(self) -> Timelines {
        Timelines::new(self.clients, &self.events)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_takes_twelve_bytes() {
        assert_eq!(size_of::<Event>(), 12);
    }
}
