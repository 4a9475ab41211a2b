//! `advise`: which policy fits the events of a log.

mod advice;
mod bursts;
mod gaps;
mod needs;
mod plot;
mod report;

use std::path::PathBuf;

use clap::Args;
use jiff::SignedDuration;

use self::advice::{Advice, Aim};
use self::bursts::Bursts;
use self::gaps::Gaps;
use self::report::Report;
use crate::failure::Failure;
use crate::log::{self, LogArgs};
use crate::output::Output;

/// Find a policy that fits the events of a log
///
/// Tells how many events of a client come in a row (bursts), how long he is away in between (gaps), and who has the most events; then a token
/// bucket and a window, ready to paste, each with whom it would have refused on this log.
///
/// The capacity of the bucket is the smallest that lets the stated share of bursts pass whole, and its refill is near the 25th percentile of
/// gaps. If that would refuse more clients than stated, a larger capacity is told that does not. The count of the window is the smallest
/// that never refuses the stated share of clients.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rate-limit advise reads.csv --client member --time read_at
  rate-limit advise access.jsonl.gz --client remote_addr --protect 99 --plot advice.svg
  psql -c \"COPY (SELECT member, read_at FROM reads) TO STDOUT CSV HEADER\" | rate-limit advise - --client member --time read_at

A percentile is by nearest rank: p20 is the shortest gap such that 20 % of all gaps are no longer.")]
pub struct Advise {
    #[command(flatten)]
    log: LogArgs,
    /// Events of a client are of one burst if they are no further apart
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = micros)]
    gap: u64,
    /// The share of bursts, and of clients, that is not to be refused, in percent
    #[arg(long, value_name = "PERCENT", default_value = "97", value_parser = percent)]
    protect: f64,
    /// The length of the window to be advised
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = milliseconds)]
    window: u64,
    /// How many of the clients with the most events are listed
    #[arg(long, value_name = "NUMBER", default_value_t = 10)]
    top: usize,
    /// Draw bursts, gaps and the advised numbers into this SVG file
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
}

fn micros(text: &str) -> Result<u64, String> {
    let time: SignedDuration = text
        .parse()
        .map_err(|_| "write for example 500ms, 60s or 1h30m".to_owned())?;
    match u64::try_from(time.as_micros()) {
        Ok(micros) if micros > 0 && time.as_hours() <= 24 * 36_500 => Ok(micros),
        _ => Err("it is more than nothing, and at most 36,500 days".to_owned()),
    }
}

/// As the attribute takes it.
fn milliseconds(text: &str) -> Result<u64, String> {
    micros(text).and_then(|micros| match micros % 1_000 {
        0 => Ok(micros),
        _ => Err("a window is of whole milliseconds".to_owned()),
    })
}

fn percent(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').trim().parse::<f64>() {
        Ok(percent) if (1.0..=100.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err("it is a percentage from 1 to 100, as 97 for 97 %".to_owned()),
    }
}

impl Advise {
    pub fn run(self, output: &Output) -> Result<(), Failure> {
        let log = log::read(&self.log)?;
        let summary = log.summary();
        let timelines = log.timelines();
        let bursts = Bursts::of(timelines.each(), self.gap);
        let gaps = Gaps::of(timelines.each());
        let aim = Aim {
            protect: self.protect,
            window: self.window,
        };
        let advice = Advice::new(&timelines, &bursts, &gaps, aim);
        if let Some(path) = &self.plot {
            plot::write(path, &bursts, &gaps, &advice)?;
        }
        output.report(&Report::new(
            summary, &timelines, &bursts, &gaps, advice, self.gap, self.top,
        ))
    }
}
