//! The time for which the machine was suspended, in which the monotonic clock of most kernels
//! stands still.

use super::sources::Sources;

/// The shortest sleep, or step of the wall clock, that is looked into, in microseconds.
const NOTICEABLE: i64 = 1_000_000;

/// How long the machine was suspended since this was created. A window that ends in ten minutes
/// ends then also if the machine sleeps for five of them.
///
/// The kernel tells for how long it was suspended where it tells the time since it was started.
/// That is read only when the wall clock has jumped forward, as it does in a sleep, and counts only
/// as far as that: a step of the wall clock alone is not taken for a sleep.
#[derive(Debug)]
pub(super) struct Sleep {
    /// How far the wall clock was ahead of the monotonic clock, in microseconds.
    wall_ahead: i64,
    /// How far the time since the start of the machine was ahead of the monotonic clock, in
    /// nanoseconds.
    boot_ahead: Option<i64>,
    /// How long it slept, in nanoseconds.
    total: u64,
}

impl Sleep {
    pub(super) fn new(sources: &impl Sources, monotonic: u64) -> Self {
        Self {
            wall_ahead: wall_ahead(sources, monotonic),
            boot_ahead: boot_ahead(sources, monotonic),
            total: 0,
        }
    }

    pub(super) const fn total(&self) -> u64 {
        self.total
    }

    /// Adds the time for which the machine was suspended since the last look, and returns whether
    /// it was. `monotonic` is the time of now.
    pub(super) fn look(&mut self, sources: &impl Sources, monotonic: u64) -> bool {
        let wall_ahead = wall_ahead(sources, monotonic);
        let stepped = wall_ahead - self.wall_ahead;
        if stepped.abs() < NOTICEABLE {
            return false;
        }
        self.wall_ahead = wall_ahead;
        let boot_ahead = boot_ahead(sources, monotonic);
        let slept = boot_ahead.zip(self.boot_ahead).map_or(0, |(now, before)| now - before);
        self.boot_ahead = boot_ahead;
        let slept = slept.min(stepped.saturating_mul(1_000));
        if slept < NOTICEABLE * 1_000 {
            return false;
        }
        self.total += slept as u64;
        true
    }
}

fn wall_ahead(sources: &impl Sources, monotonic: u64) -> i64 {
    sources.wall() as i64 - (monotonic / 1_000) as i64
}

fn boot_ahead(sources: &impl Sources, monotonic: u64) -> Option<i64> {
    Some(sources.since_boot()? as i64 - monotonic as i64)
}
