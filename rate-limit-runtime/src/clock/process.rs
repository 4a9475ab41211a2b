//! The clock of a process.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::anchor::{Anchor, Anchors, PERIOD};
use super::counter::{Counter, Reading};
use super::sleep::Sleep;
use super::sources::Sources;

/// By how much the wall clock may stray from where it was found, in microseconds, before it counts
/// as having been stepped. Until then times are converted by one and the same number, so that what
/// lies 50 s apart by one clock does by the other, to the microsecond.
const STEP: i64 = 1_000;

/// Measures intervals by the kernel's monotonic clock and the time for which the machine was
/// suspended. Where the kernel itself goes by the time stamp counter, it is read in the place of
/// that clock, in less than half of the time, and corrected by it each [`PERIOD`].
#[derive(Debug)]
pub(crate) struct ProcessClock<S> {
    pub(super) sources: S,
    anchors: Anchors,
    discipline: Mutex<Discipline>,
    /// How far the wall clock was ahead when somebody last asked, in microseconds.
    wall_ahead: AtomicI64,
}

/// What the next anchor is made from.
#[derive(Debug)]
struct Discipline {
    /// The nanoseconds since 1970 when the monotonic clock was at 0, by the wall clock of the
    /// start.
    epoch: u64,
    sleep: Sleep,
    counter: Counter,
    current: Option<Anchor>,
}

impl<S: Sources> ProcessClock<S> {
    pub(super) fn new(sources: S) -> Self {
        let (monotonic, wall) = (sources.monotonic(), sources.wall());
        let mut discipline = Discipline {
            epoch: (wall * 1_000).saturating_sub(monotonic),
            sleep: Sleep::new(&sources, monotonic),
            counter: Counter::new(),
            current: None,
        };
        let anchor = discipline.next(&sources);
        Self {
            anchors: Anchors::new(&anchor),
            sources,
            discipline: Mutex::new(discipline),
            wall_ahead: AtomicI64::new(0),
        }
    }

    /// Returns the microseconds of now. They begin as the microseconds since 1970, and never step
    /// back.
    #[inline(never)]
    pub(crate) fn now(&self) -> u64 {
        let now = self.anchors.by_counter(&self.sources);
        now.unwrap_or_else(|| self.by_kernel())
    }

    #[inline(never)]
    fn by_kernel(&self) -> u64 {
        let now = self.anchors.by_kernel(&self.sources);
        now.unwrap_or_else(|| self.set_anchor())
    }

    /// Sets the next anchor, and returns its time.
    #[cold]
    fn set_anchor(&self) -> u64 {
        let mut discipline = self.discipline.lock().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have set it meanwhile.
        let set = self.anchors.by_counter(&self.sources);
        if let Some(now) = set.or_else(|| self.anchors.by_kernel(&self.sources)) {
            return now;
        }
        let anchor = discipline.next(&self.sources);
        self.anchors.set(&anchor);
        let difference = discipline.counter.take_difference();
        drop(discipline);
        if let Some(difference) = difference {
            difference.log();
        }
        anchor.micros()
    }

    /// Whether the processor's counter is read.
    #[cfg(all(test, feature = "test-util"))]
    pub(super) fn is_by_counter(&self) -> bool {
        let discipline = self.discipline.lock().expect("no test panics here");
        discipline.current.is_some_and(|anchor| anchor.is_counter())
    }

    /// Returns how far the wall clock is ahead of this one, in microseconds.
    pub(super) fn wall_ahead(&self) -> i64 {
        let before = self.now() as i64;
        let wall = self.sources.wall() as i64;
        let after = self.now() as i64;
        let kept = self.wall_ahead.load(Ordering::Relaxed);
        // A thread that was interrupted between its readings knows it less exactly.
        if (wall - after - STEP..=wall - before + STEP).contains(&kept) {
            return kept;
        }
        self.wall_ahead.store(wall - before, Ordering::Relaxed);
        wall - before
    }
}

impl Discipline {
    /// Reads the clocks. Returns an anchor at which this clock neither steps back nor, after a
    /// period, is ahead any more.
    fn next(&mut self, sources: &impl Sources) -> Anchor {
        let reading = Reading::of(sources);
        if self.sleep.look(sources, reading.monotonic) {
            self.counter.forget();
        }
        let right = self.epoch + reading.monotonic + self.sleep.total();
        let told = self.current.and_then(|anchor| match anchor.is_counter() {
            true => anchor.told(reading.ticks?),
            false => anchor.told(reading.monotonic),
        });
        // More than half of a period is not made up for: it is what another processor's counter
        // makes of it.
        let ahead = told.map_or(0, |told| told.saturating_sub(right));
        let ahead = if ahead < PERIOD / 2 { ahead } else { 0 };
        let counter = self.counter.judge(reading);
        // A little more, for who reads by the current anchor until the next one is set.
        let anchor = Anchor::new(right + ahead + ahead / 32, counter, reading.monotonic, ahead);
        self.current = Some(anchor);
        anchor
    }
}
