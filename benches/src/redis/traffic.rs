//! What the clients of a cell have called before, and what becomes of their next call.

use std::fmt;
use std::time::Duration;

/// How far apart the calls of a client were, in microseconds: so far that nothing is sooner over than it is measured.
pub const STEP: u64 = 10_000_000;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Few or many calls count, and this one does not fill the limit.
    Growing,
    /// The limit was full, and one call has just left the window.
    Sliding,
    /// The limit is full.
    Refused,
    /// Every other client slides, the others are refused.
    Mixed,
}

impl Phase {
    pub const ALL: [Self; 4] = [Self::Growing, Self::Sliding, Self::Refused, Self::Mixed];
}

/// One call of each of some clients, under a limit.
#[derive(Clone, Copy)]
pub struct Cell {
    pub limit: u32,
    pub phase: Phase,
    pub clients: usize,
}

impl Cell {
    /// How many calls the client has made, one each step, the last one step ago.
    pub fn calls(&self, client: usize) -> u32 {
        match self.phase {
            // Ten lengths, evenly from none to all but one.
            Phase::Growing => (u64::from(self.limit) * (2 * (client as u64 % 10) + 1) / 20) as u32,
            _ => self.limit,
        }
    }

    pub fn admits(&self, client: usize) -> bool {
        match self.phase {
            Phase::Growing | Phase::Sliding => true,
            Phase::Refused => false,
            Phase::Mixed => client.is_multiple_of(2),
        }
    }

    /// The window of the client's next call: with the oldest of as many calls as are allowed just outside, or just inside.
    pub fn window(&self, client: usize) -> Duration {
        let full = u64::from(self.limit) * STEP;
        let slides = self.phase != Phase::Growing && self.admits(client);
        Duration::from_micros(if slides { full - STEP / 2 } else { full + STEP / 2 })
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let phase = match self.phase {
            Phase::Growing => "growing",
            Phase::Sliding => "sliding",
            Phase::Refused => "refused",
            Phase::Mixed => "mixed",
        };
        write!(f, "limit {}, {phase}", self.limit)
    }
}
