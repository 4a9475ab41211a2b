//! One call, as its caller saw it.

use std::fmt;
use std::str::SplitWhitespace;

/// A sliding window. Times are in microseconds, here and everywhere in a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub count: u32,
    pub length: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub process: u32,
    pub key: String,
    pub window: Window,
    pub cost: u32,
    pub sent_at: u64,
    /// When the answer was there, or was waited for no longer.
    pub replied_at: u64,
    pub answer: Answer,
    pub by: DecidedBy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Admitted,
    Refused {
        retry_after: u64,
    },
    /// The caller does not know whether it was charged.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DecidedBy {
    Store,
    /// The process by itself, as the store had not answered. The store may have charged the call all the same.
    Fallback,
}

impl Call {
    pub fn is_admitted_by(&self, by: DecidedBy) -> bool {
        self.answer == Answer::Admitted && self.by == by
    }

    /// As it was written.
    pub fn read(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let call = Self {
            process: number(&mut words)?,
            key: words.next()?.to_owned(),
            window: Window {
                count: number(&mut words)?,
                length: number(&mut words)?,
            },
            cost: number(&mut words)?,
            sent_at: number(&mut words)?,
            replied_at: number(&mut words)?,
            by: match words.next()? {
                "store" => DecidedBy::Store,
                "fallback" => DecidedBy::Fallback,
                _ => return None,
            },
            answer: match words.next()? {
                "admitted" => Answer::Admitted,
                "refused" => Answer::Refused {
                    retry_after: number(&mut words)?,
                },
                "unknown" => Answer::Unknown,
                _ => return None,
            },
        };
        words.next().is_none().then_some(call)
    }
}

fn number<T: std::str::FromStr>(words: &mut SplitWhitespace<'_>) -> Option<T> {
    words.next()?.parse().ok()
}

/// One line, without its end.
impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Window { count, length } = self.window;
        let by = match self.by {
            DecidedBy::Store => "store",
            DecidedBy::Fallback => "fallback",
        };
        let (process, key, cost) = (self.process, &self.key, self.cost);
        let (sent, replied) = (self.sent_at, self.replied_at);
        write!(f, "{process} {key} {count} {length} {cost} {sent} {replied} {by} ")?;
        match self.answer {
            Answer::Admitted => write!(f, "admitted"),
            Answer::Refused { retry_after } => write!(f, "refused {retry_after}"),
            Answer::Unknown => write!(f, "unknown"),
        }
    }
}
