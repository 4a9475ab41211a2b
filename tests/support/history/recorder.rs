//! Writes down what the callers of a process see.

use std::sync::{Mutex, PoisonError};

use super::call::{Answer, Call, DecidedBy, Window};

/// The calls of one process.
pub struct Recorder<C = fn() -> u64> {
    process: u32,
    clock: C,
    calls: Mutex<Vec<Call>>,
}

/// A call that is under way.
#[must_use]
pub struct Sent {
    key: String,
    window: Window,
    cost: u32,
    sent_at: u64,
}

impl Recorder {
    /// By the clock that all processes of this machine share.
    pub fn new(process: u32) -> Self {
        Self::by(process, monotonic)
    }
}

impl<C: Fn() -> u64> Recorder<C> {
    pub fn by(process: u32, clock: C) -> Self {
        Self {
            process,
            clock,
            calls: Mutex::default(),
        }
    }

    pub fn sent(&self, key: impl Into<String>, window: Window, cost: u32) -> Sent {
        Sent {
            key: key.into(),
            window,
            cost,
            sent_at: (self.clock)(),
        }
    }

    pub fn replied(&self, sent: Sent, answer: Answer, by: DecidedBy) {
        let Sent {
            key,
            window,
            cost,
            sent_at,
        } = sent;
        let call = Call {
            process: self.process,
            key,
            window,
            cost,
            sent_at,
            replied_at: (self.clock)(),
            answer,
            by,
        };
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).push(call);
    }

    pub fn into_calls(self) -> Vec<Call> {
        self.calls.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Microseconds since the machine started.
pub fn monotonic() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000 + now.tv_nsec as u64 / 1_000
}
