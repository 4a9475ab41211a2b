//! Comma-separated values.

use super::faults::Fault;
use super::records::{Record, Records};
use super::source::Source;
use super::times::Reader;
use super::{Log, LogArgs, Wrong};
use crate::nearest::nearest;
use crate::text;

pub fn read(source: &mut Source, args: &LogArgs, log: &mut Log) -> Result<(), Wrong> {
    let mut records = Records::new(source, args.delimiter);
    let Some(header) = records.next()? else {
        return Err(Wrong("it is empty".to_owned()));
    };
    let client = column(&header, &args.client, "--client")?;
    let time = column(&header, &args.time, "--time")?;
    let mut times = Reader::new(args.times);
    while let Some(record) = records.next()? {
        let (line, lines) = (record.line, record.lines);
        let fields = (record.field(client), record.field(time));
        let goes_on = |field: Option<&[u8]>| field.is_none_or(|field| field.contains(&b'\n'));
        if lines > 1 && (goes_on(fields.0) || goes_on(fields.1)) {
            log.faults.note_lines(line, lines, Fault::Quote);
            continue;
        }
        match fields {
            (None, _) => log.faults.note(line, Fault::NoClient),
            (_, None) => log.faults.note(line, Fault::NoTime),
            (Some(client), Some(time)) => {
                if lines > 1 {
                    log.faults.note_lines(line, lines, Fault::SeveralLines);
                }
                // What is no UTF-8 is no time.
                log.event(line, client, std::str::from_utf8(time).unwrap_or("?"), &mut times)?;
            }
        }
    }
    Ok(())
}

fn column(header: &Record<'_>, name: &str, option: &str) -> Result<usize, Wrong> {
    let columns: Vec<&[u8]> = header.fields().map(<[u8]>::trim_ascii).collect();
    if let Some(place) = columns.iter().position(|column| *column == name.as_bytes()) {
        return Ok(place);
    }
    let columns: Vec<_> = columns.into_iter().map(String::from_utf8_lossy).collect();
    let columns: Vec<&str> = columns.iter().map(AsRef::as_ref).collect();
    let hint = match nearest(name, columns.iter().copied()) {
        Some(near) => format!("did you mean {option} {}?", text::shown(near)),
        None => format!("say with {option} which it is."),
    };
    Err(Wrong(format!(
        "there is no column `{name}`: {hint} The columns are {}",
        text::list(&columns)
    )))
}
