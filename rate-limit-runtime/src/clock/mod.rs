//! The clock of the embedded store. Intervals are of the kernel's monotonic clock, and the wall
//! clock of now is asked where a time comes from outside of the process or is shown to somebody.

mod anchor;
mod counter;
#[cfg(all(test, feature = "test-util"))]
mod emulated;
#[cfg(feature = "test-util")]
mod manual;
mod process;
mod sleep;
mod sources;
#[cfg(all(test, feature = "test-util"))]
mod tests;

use std::sync::OnceLock;

#[cfg(feature = "test-util")]
pub use self::manual::ManualClock;
use self::process::ProcessClock;
use self::sources::System;

/// Reads microseconds that never step back, and how the wall clock stands to them. They begin as
/// the microseconds since 1970.
#[derive(Clone, Debug)]
pub(crate) enum Clock {
    /// The one clock of this process.
    System(&'static ProcessClock<System>),
    #[cfg(feature = "test-util")]
    Manual(ManualClock),
    #[cfg(all(test, feature = "test-util"))]
    Emulated(std::sync::Arc<ProcessClock<emulated::Machine>>),
}

impl Clock {
    /// Returns the clock of this process. The first call decides which source it reads.
    pub(crate) fn system() -> Self {
        static PROCESS: OnceLock<ProcessClock<System>> = OnceLock::new();
        Self::System(PROCESS.get_or_init(|| ProcessClock::new(System::new())))
    }

    /// Returns the microseconds of now.
    #[inline]
    pub(crate) fn now(&self) -> u64 {
        match self {
            Self::System(clock) => clock.now(),
            #[cfg(feature = "test-util")]
            Self::Manual(clock) => clock.now(),
            #[cfg(all(test, feature = "test-util"))]
            Self::Emulated(clock) => clock.now(),
        }
    }

    /// Returns a time of this clock as the wall clock of now tells it, in microseconds since 1970.
    pub(crate) fn to_wall(&self, times: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let ahead = self.wall_ahead();
        times
            .into_iter()
            .map(|time| time.saturating_add_signed(ahead))
            .collect()
    }

    /// Returns the time of this clock at a time that the wall clock of now tells, in microseconds
    /// since 1970.
    pub(crate) fn of_wall(&self, time: u64) -> u64 {
        time.saturating_add_signed(-self.wall_ahead())
    }

    /// Returns how far the wall clock is ahead of this one, in microseconds.
    fn wall_ahead(&self) -> i64 {
        match self {
            Self::System(clock) => clock.wall_ahead(),
            #[cfg(feature = "test-util")]
            Self::Manual(clock) => clock.wall_ahead(),
            #[cfg(all(test, feature = "test-util"))]
            Self::Emulated(clock) => clock.wall_ahead(),
        }
    }

    /// Returns the time that was read, or a later one that another thread has read meanwhile: only
    /// a clock that tests turn steps back.
    #[inline]
    pub(crate) fn unless_it_steps_back(&self, read: u64, latest: u64) -> u64 {
        match self {
            #[cfg(feature = "test-util")]
            Self::Manual(_) => read,
            _ => read.max(latest),
        }
    }
}
