//! A store with a bug, or none.

use crate::checker::{Answer, Window};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    RecordsDenials,
    /// As a set does whose members are times in milliseconds.
    MergesEqualTimes,
    /// When no answer came, though it may have been charged.
    AsksAgain,
    NoDeadline,
    OneTooMany,
    OneTooFew,
    ShortHints,
    /// All, once.
    Forgets,
}

/// The log of one key.
pub(crate) struct Toy {
    window: Window,
    bug: Option<Bug>,
    hits: Vec<u64>,
}

impl Toy {
    pub(crate) fn new(window: Window, bug: Option<Bug>) -> Self {
        Self {
            window,
            bug,
            hits: Vec::new(),
        }
    }

    pub(crate) fn forget(&mut self) {
        self.hits.clear();
    }

    /// Times never run backwards, and no two are equal.
    pub(crate) fn decide(&mut self, now: u64) -> Answer {
        let last = self.hits.last().copied();
        let now = match self.bug {
            Some(Bug::MergesEqualTimes) => now / 1_000 * 1_000,
            _ => last.map_or(now, |last| now.max(last + 1)),
        };
        let length = self.window.length;
        self.hits.retain(|hit| hit + length > now);
        let count = match self.bug {
            Some(Bug::OneTooMany) => self.window.count + 1,
            Some(Bug::OneTooFew) => self.window.count - 1,
            _ => self.window.count,
        };
        let room = self.hits.len() < count as usize;
        let merged = self.bug == Some(Bug::MergesEqualTimes) && last == Some(now);
        if (room || self.bug == Some(Bug::RecordsDenials)) && !merged {
            self.hits.push(now);
        }
        if room {
            return Answer::Admitted;
        }
        let decides = self.hits.len() - count as usize;
        let wait = self.hits[decides] + length - now;
        Answer::Refused {
            retry_after: match self.bug {
                Some(Bug::ShortHints) => wait / 2,
                _ => wait,
            },
        }
    }
}
