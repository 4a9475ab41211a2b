//! What `advise` has to say.

use std::cmp::Reverse;
use std::fmt;

use comfy_table::CellAlignment::{Left, Right};
use serde::Serialize;

use super::advice::{Advice, Advised, span};
use super::bursts::{Bursts, Size};
use super::gaps::Gaps;
use crate::log::{Summary, Timelines};
use crate::text::{self, Count, Many, Share};

/// The analysis of a log, and the advice.
#[derive(Debug, Serialize)]
pub struct Report {
    log: Summary,
    burst_gap_seconds: f64,
    bursts: Vec<Size>,
    gaps: u64,
    percentiles: Vec<Percentile>,
    heaviest_clients: Vec<Heavy>,
    token_bucket: Option<Advised>,
    larger_token_bucket: Option<Advised>,
    window: Option<Advised>,
}

/// A gap, and what a bucket with it as its refill, and of the advised capacity, would allow.
#[derive(Debug, Serialize)]
struct Percentile {
    percent: u32,
    gap_seconds: f64,
    allowed_in_5_minutes: Option<u64>,
    allowed_in_an_hour: Option<u64>,
}

#[derive(Debug, Serialize)]
struct Heavy {
    client: String,
    events: u64,
    share: f64,
}

impl Report {
    pub fn new(
        log: Summary,
        timelines: &Timelines,
        bursts: &Bursts,
        gaps: &Gaps,
        advice: Advice,
        burst_gap: u64,
        top: usize,
    ) -> Self {
        let capacity = advice.bucket.as_ref().map(|bucket| u64::from(bucket.numbers.count()));
        let allowed = |gap: u64, time: u64| Some(capacity? + (time * 1_000_000).checked_div(gap)?);
        let percentiles = (5..=95).step_by(5).filter_map(|percent| {
            let gap = gaps.percentile(percent)?;
            Some(Percentile {
                percent,
                gap_seconds: gap as f64 / 1e6,
                allowed_in_5_minutes: allowed(gap, 300),
                allowed_in_an_hour: allowed(gap, 3_600),
            })
        });
        Self {
            burst_gap_seconds: burst_gap as f64 / 1e6,
            bursts: bursts.sizes().collect(),
            gaps: gaps.count() as u64,
            percentiles: percentiles.collect(),
            heaviest_clients: heaviest(timelines, top),
            token_bucket: advice.bucket,
            larger_token_bucket: advice.larger_bucket,
            window: advice.window,
            log,
        }
    }
}

/// The clients with the most events, most first; of equal ones, the one that came first.
fn heaviest(timelines: &Timelines, top: usize) -> Vec<Heavy> {
    let mut clients: Vec<usize> = (0..timelines.clients()).collect();
    let order = |client: &usize| (Reverse(timelines.of(*client).len()), *client);
    if top < clients.len() {
        clients.select_nth_unstable_by_key(top, order);
        clients.truncate(top);
    }
    clients.sort_unstable_by_key(order);
    let heavy = |client| {
        let events = timelines.of(client).len() as u64;
        Heavy {
            client: timelines.name(client),
            events,
            share: events as f64 / timelines.events() as f64,
        }
    };
    clients.into_iter().map(heavy).collect()
}

/// How many sizes of bursts are listed, beside the largest.
const SIZES: usize = 12;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.log)?;
        self.bursts(f)?;
        self.percentiles(f)?;
        self.heaviest(f)?;
        for (kind, advised) in [
            ("Token bucket, by bursts", &self.token_bucket),
            ("Token bucket with room for the clients", &self.larger_token_bucket),
            ("Window, by clients", &self.window),
        ] {
            if let Some(advised) = advised {
                writeln!(f, "{kind}: {advised}")?;
            }
        }
        if self.token_bucket.is_none() {
            let why = match self.percentiles.last() {
                Some(longest) if longest.gap_seconds > 0.0 => "it would be too large to be full within 36,500 days",
                _ => "there are no gaps to take a refill from",
            };
            writeln!(f, "No token bucket is advised: {why}.")?;
        }
        Ok(())
    }
}

impl Report {
    fn bursts(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.bursts.iter().map(|size| size.bursts).sum();
        let gap = span((self.burst_gap_seconds * 1e6) as u64);
        writeln!(f, "{} of events at most {gap} apart", Many(total, "burst"))?;
        let mut table = text::table([
            ("events", Right),
            ("bursts", Right),
            ("share", Right),
            ("or fewer", Right),
        ]);
        let last = self.bursts.len().saturating_sub(1);
        for (place, size) in self.bursts.iter().enumerate() {
            if place < SIZES || place == last {
                table.add_row([
                    Count(size.events).to_string(),
                    Count(size.bursts).to_string(),
                    Share(size.share).to_string(),
                    Share(size.coverage).to_string(),
                ]);
            } else if place == SIZES {
                table.add_row(["..", "", "", ""]);
            }
        }
        writeln!(f, "{}\n", table.trim_fmt())
    }

    fn percentiles(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.percentiles.is_empty() {
            return writeln!(f, "No gaps: every client has a single event\n");
        }
        writeln!(
            f,
            "{} between events of a client, and what a bucket with that refill allows",
            Many(self.gaps, "gap")
        )?;
        let mut table = text::table([
            ("", Right),
            ("gap", Right),
            ("in 5 minutes", Right),
            ("in an hour", Right),
        ]);
        let number = |allowed: Option<u64>| {
            allowed.map_or_else(|| "any number".to_owned(), |allowed| Count(allowed).to_string())
        };
        for one in &self.percentiles {
            table.add_row([
                format!("p{}", one.percent),
                span((one.gap_seconds * 1e6).round() as u64),
                number(one.allowed_in_5_minutes),
                number(one.allowed_in_an_hour),
            ]);
        }
        writeln!(f, "{}\n", table.trim_fmt())
    }

    fn heaviest(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.heaviest_clients.is_empty() {
            return Ok(());
        }
        writeln!(f, "Clients with the most events")?;
        let mut table = text::table([("events", Right), ("share", Right), ("client", Left)]);
        for heavy in &self.heaviest_clients {
            table.add_row([
                Count(heavy.events).to_string(),
                Share(heavy.share).to_string(),
                text::shown(&heavy.client),
            ]);
        }
        writeln!(f, "{}\n", table.trim_fmt())
    }
}

impl fmt::Display for Advised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.policy)?;
        self.why.iter().try_for_each(|why| writeln!(f, "  {why}"))?;
        let (events, clients) = (Share(self.events_refused_share), Share(self.clients_refused_share));
        writeln!(
            f,
            "  it would have refused {events} of events, and {clients} of clients at least once"
        )?;
        writeln!(f, "  {}", self.attribute)?;
        writeln!(f, "  {}", self.configuration)
    }
}
