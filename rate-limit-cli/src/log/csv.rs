//! Comma-separated values.

use csv::{ByteRecord, ErrorKind, ReaderBuilder};

use super::faults::Fault;
use super::source::Source;
use super::times::Reader;
use super::{Log, LogArgs, Wrong};
use crate::nearest::nearest;

/// Quoted fields may go over lines, and not over a megabyte.
const MAX_RECORD: usize = 1 << 20;

pub fn read(source: &mut Source, args: &LogArgs, log: &mut Log) -> Result<(), Wrong> {
    let mut reader = ReaderBuilder::new()
        .delimiter(args.delimiter)
        .flexible(true)
        .from_reader(source);
    let header = reader.byte_headers().map_err(wrong)?.clone();
    if header.is_empty() {
        return Err(Wrong("it is empty".to_owned()));
    }
    let client = column(&header, &args.client, "--client")?;
    let time = column(&header, &args.time, "--time")?;
    let mut times = Reader::new(args.times);
    let mut record = ByteRecord::new();
    while reader.read_byte_record(&mut record).map_err(wrong)? {
        let line = record.position().map_or(0, csv::Position::line);
        if record.as_slice().len() > MAX_RECORD {
            return Err(Wrong(format!(
                "line {line}: a quotation mark is opened there and not closed"
            )));
        }
        match (record.get(client), record.get(time)) {
            (None, _) => log.faults.note(line, Fault::NoClient),
            (_, None | Some(b"")) => log.faults.note(line, Fault::NoTime),
            (Some(client), Some(time)) => {
                // What is no UTF-8 is no time.
                log.event(line, client, std::str::from_utf8(time).unwrap_or("?"), &mut times)?;
            }
        }
    }
    Ok(())
}

fn column(header: &ByteRecord, name: &str, option: &str) -> Result<usize, Wrong> {
    if let Some(place) = header.iter().position(|column| column.trim_ascii() == name.as_bytes()) {
        return Ok(place);
    }
    let columns: Vec<String> = header
        .iter()
        .map(|column| String::from_utf8_lossy(column.trim_ascii()).into_owned())
        .collect();
    let known = columns.join("`, `");
    Err(Wrong(match nearest(name, columns.iter().map(String::as_str)) {
        Some(near) => format!("there is no column `{name}`: did you mean {option} {near}? The columns are `{known}`"),
        None => format!("there is no column `{name}`: say with {option} which it is. The columns are `{known}`"),
    }))
}

fn wrong(error: csv::Error) -> Wrong {
    match error.into_kind() {
        ErrorKind::Io(error) => error.into(),
        kind => Wrong(format!("cannot be read as CSV: {kind:?}")),
    }
}
