//! Checks a history.

use std::collections::BTreeMap;

use super::call::{Answer, Call, DecidedBy};
use super::finding::Finding;
use super::{hints, justified, within_bound};

/// What the store is held to.
#[derive(Clone, Debug)]
pub struct Checks {
    /// By when each call must be answered, if that is to be checked.
    pub deadline: Option<u64>,
    /// How long after its caller gave up a call may still be charged.
    pub lateness: u64,
    /// How much the clock of the store may run ahead or behind: it gives each hit of a key a microsecond of its own, so
    /// that of many at once the last is some microseconds ahead.
    pub slack: u64,
    pub disturbances: Vec<Disturbance>,
}

/// A time in which the store may lose what it kept of each key, once: a restart, or the promotion of a replica.
#[derive(Clone, Copy, Debug)]
pub struct Disturbance {
    pub from: u64,
    pub until: u64,
    /// How much more the store may then admit of a key, in any stretch of time that this one reaches into.
    pub extra: u32,
}

impl Default for Checks {
    fn default() -> Self {
        Self {
            deadline: None,
            lateness: 0,
            slack: 100,
            disturbances: Vec::new(),
        }
    }
}

impl Checks {
    /// Of each check, the first finding of each key.
    ///
    /// # Panics
    ///
    /// If calls of one key go by different windows.
    pub fn of(&self, calls: &[Call]) -> Vec<Finding> {
        let mut by_key: BTreeMap<&str, Vec<&Call>> = BTreeMap::new();
        for call in calls {
            by_key.entry(&call.key).or_default().push(call);
        }
        let mut findings = Vec::new();
        for calls in by_key.values_mut() {
            calls.sort_by_key(|call| call.sent_at);
            let window = calls[0].window;
            assert!(calls.iter().all(|call| call.window == window), "two windows of one key");
            findings.extend(self.late(calls));
            for admitted in admitted(calls) {
                findings.extend(within_bound::first_excess(self, window, &admitted));
            }
            findings.extend(justified::first_without_reason(self, window, calls));
            findings.extend(hints::first_broken(self, calls));
        }
        findings
    }

    fn late(&self, calls: &[&Call]) -> Option<Finding> {
        let deadline = self.deadline?;
        let late = calls.iter().find(|call| call.replied_at - call.sent_at > deadline)?;
        Some(Finding::Late { call: (*late).clone() })
    }

    /// Until when the store may have charged the call. `None` if it has not.
    pub(super) fn charged_until(&self, call: &Call) -> Option<u64> {
        match (call.answer, call.by) {
            (Answer::Refused { .. }, DecidedBy::Store) => None,
            (Answer::Admitted, DecidedBy::Store) => Some(call.replied_at),
            (Answer::Unknown, _) | (_, DecidedBy::Fallback) => Some(call.replied_at + self.lateness),
        }
    }
}

/// What was surely admitted: by the store, and by each process that decided by itself.
fn admitted<'a>(calls: &[&'a Call]) -> Vec<Vec<&'a Call>> {
    let mut groups: BTreeMap<(DecidedBy, u32), Vec<&Call>> = BTreeMap::new();
    for call in calls.iter().filter(|call| call.answer == Answer::Admitted) {
        let process = match call.by {
            DecidedBy::Store => 0,
            DecidedBy::Fallback => call.process,
        };
        groups.entry((call.by, process)).or_default().push(call);
    }
    groups.into_values().collect()
}
