//! What a log has, for the head of a report.

use std::fmt;

use jiff::Timestamp;
use serde::Serialize;

use super::faults::{Faults, FaultyLines};
use crate::text::{self, Many};

/// How many events of how many clients, from when to when, and what was wrong with lines.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    pub events: u64,
    pub clients: u64,
    first: Timestamp,
    last: Timestamp,
    faults: Vec<FaultyLines>,
}

impl Summary {
    pub fn new(events: u64, clients: u64, first: u64, last: u64, faults: &Faults) -> Self {
        Self {
            events,
            clients,
            first: text::time(first),
            last: text::time(last),
            faults: faults.list(),
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            events,
            clients,
            first,
            last,
            ..
        } = self;
        writeln!(
            f,
            "{} of {}, from {first} to {last}",
            Many(*events, "event"),
            Many(*clients, "client")
        )?;
        self.faults.iter().try_for_each(|lines| writeln!(f, "{lines}"))
    }
}
