//! What `replay` has to say.

use std::fmt;

use comfy_table::CellAlignment::{Left, Right};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::log::Summary;
use crate::replay::candidate::Candidate;
use crate::text::{self, Count, Share, shown};
use crate::trial::Outcome;
use crate::trial::slots::Slots;

/// The candidates, side by side.
#[derive(Debug, Serialize)]
pub struct Report {
    pub log: Summary,
    pub candidates: Vec<Tried>,
}

/// A candidate, and what it would have done.
#[derive(Debug, Serialize)]
pub struct Tried {
    name: String,
    #[serde(flatten)]
    refused: Refused,
    longest_wait_seconds: f64,
    first_refused: Option<Timestamp>,
    last_refused: Option<Timestamp>,
    policies: Vec<RefusedBy>,
    heaviest_clients: Vec<RefusedClient>,
    over_time: OverTime,
    neighbours: Vec<Neighbour>,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct Refused {
    events_refused: u64,
    events_refused_share: f64,
    clients_refused: u64,
    clients_refused_share: f64,
}

#[derive(Debug, Serialize)]
struct RefusedBy {
    policy: String,
    events_refused: u64,
}

#[derive(Debug, Serialize)]
struct RefusedClient {
    client: String,
    events_refused: u64,
}

/// What one lower or higher number would have done.
#[derive(Debug, Serialize)]
struct Neighbour {
    name: String,
    #[serde(flatten)]
    refused: Refused,
}

/// The slots in which events were refused.
#[derive(Debug, Serialize)]
struct OverTime {
    slot_seconds: f64,
    slots: Vec<Slot>,
}

#[derive(Debug, Serialize)]
struct Slot {
    begin: Timestamp,
    events_refused: u64,
}

impl Refused {
    fn new(outcome: &Outcome, whole: &Summary) -> Self {
        let share = |part: u64, of: u64| part as f64 / of as f64;
        Self {
            events_refused: outcome.events_refused,
            events_refused_share: share(outcome.events_refused, whole.events),
            clients_refused: outcome.clients_refused,
            clients_refused_share: share(outcome.clients_refused, whole.clients),
        }
    }

    fn cells(self) -> [String; 4] {
        [
            Count(self.events_refused).to_string(),
            Share(self.events_refused_share).to_string(),
            Count(self.clients_refused).to_string(),
            Share(self.clients_refused_share).to_string(),
        ]
    }
}

impl Tried {
    /// The outcomes of the neighbours are in their order.
    pub fn new(
        candidate: Candidate,
        outcome: &Outcome,
        neighbours: impl Iterator<Item = (Candidate, Outcome)>,
        whole: &Summary,
        slots: &Slots,
        name: impl Fn(usize) -> String,
    ) -> Self {
        let policies = candidate.policies.iter().zip(&outcome.refused_by);
        let in_slots = outcome
            .over_time
            .iter()
            .enumerate()
            .filter(|(_, refused)| **refused > 0);
        Self {
            refused: Refused::new(outcome, whole),
            longest_wait_seconds: outcome.longest_wait as f64 / 1e6,
            first_refused: outcome.first_and_last.map(|(first, _)| text::time(first)),
            last_refused: outcome.first_and_last.map(|(_, last)| text::time(last)),
            policies: policies
                .map(|(policy, refused)| RefusedBy {
                    policy: policy.to_string(),
                    events_refused: *refused,
                })
                .collect(),
            heaviest_clients: outcome
                .heaviest
                .iter()
                .map(|(client, refused)| RefusedClient {
                    client: name(*client),
                    events_refused: *refused,
                })
                .collect(),
            over_time: OverTime {
                slot_seconds: slots.width() as f64 / 1e6,
                slots: in_slots
                    .map(|(slot, refused)| Slot {
                        begin: text::time(slots.begin(slot)),
                        events_refused: *refused,
                    })
                    .collect(),
            },
            neighbours: neighbours
                .map(|(candidate, outcome)| Neighbour {
                    name: candidate.name,
                    refused: Refused::new(&outcome, whole),
                })
                .collect(),
            name: candidate.name,
        }
    }

    /// What the table has no room for.
    fn details(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n{}", self.name)?;
        if self.refused.events_refused == 0 {
            return writeln!(f, "  refuses nobody");
        }
        if let [_, _, ..] = &self.policies[..] {
            for by in &self.policies {
                writeln!(f, "  refused by {}: {}", by.policy, Count(by.events_refused))?;
            }
        }
        if let (Some(first), Some(last)) = (self.first_refused, self.last_refused) {
            writeln!(f, "  refused from {first} to {last}")?;
        }
        if let Some(most) = self.over_time.slots.iter().max_by_key(|slot| slot.events_refused) {
            let width = SignedDuration::from_secs(self.over_time.slot_seconds as i64);
            writeln!(
                f,
                "  most in the {width:#} from {}: {}",
                most.begin,
                Count(most.events_refused)
            )?;
        }
        let heaviest = self.heaviest_clients.iter();
        let heaviest: Vec<String> = heaviest
            .map(|one| format!("{} ({})", shown(&one.client), Count(one.events_refused)))
            .collect();
        writeln!(f, "  clients refused most: {}", heaviest.join(", "))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.log)?;
        let mut table = text::table([
            ("policy", Left),
            ("events refused", Right),
            ("", Right),
            ("clients refused", Right),
            ("", Right),
            ("longest wait", Right),
        ]);
        for tried in &self.candidates {
            let wait = SignedDuration::from_micros((tried.longest_wait_seconds * 1e6) as i64);
            let row = [tried.name.clone()]
                .into_iter()
                .chain(tried.refused.cells())
                .chain([format!("{wait:#}")]);
            table.add_row(row);
            for neighbour in &tried.neighbours {
                table.add_row(
                    [format!("  {}", neighbour.name)]
                        .into_iter()
                        .chain(neighbour.refused.cells()),
                );
            }
        }
        writeln!(f, "{}", table.trim_fmt())?;
        self.candidates.iter().try_for_each(|tried| tried.details(f))
    }
}
