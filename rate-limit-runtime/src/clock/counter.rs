//! Whether the processor's counter may be gone by, and at which rate.

use super::anchor::{PERIOD, Rate};
use super::sources::Sources;

/// A reading of both clocks that is wider than this, in nanoseconds, tells nothing of their rates:
/// the thread was interrupted.
const WIDEST: u64 = 5_000;
/// How often both clocks are read to find one that is narrow.
const TRIES: usize = 4;
/// By how much the counter may differ from the kernel's clock: by this many nanoseconds, and one
/// part in so many of the time.
const TOLERANCE: u64 = 20_000;
const TOLERANCE_PART: u64 = 1_000;

/// The counter and the kernel's monotonic clock at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    pub(super) ticks: Option<u64>,
    pub(super) monotonic: u64,
    /// How long it took, in nanoseconds.
    width: u64,
}

impl Reading {
    /// Reads both clocks, if need be several times, and returns the narrowest reading.
    pub(super) fn of(sources: &impl Sources) -> Self {
        let mut best = Self::once(sources);
        for _ in 1..TRIES {
            if best.width <= WIDEST {
                break;
            }
            let next = Self::once(sources);
            if next.width < best.width {
                best = next;
            }
        }
        best
    }

    fn once(sources: &impl Sources) -> Self {
        let before = sources.monotonic();
        let ticks = sources.ticks();
        // The later one, so that whoever goes by the counter from here on is not behind whoever
        // went by the kernel's clock.
        let monotonic = sources.monotonic();
        Self {
            ticks,
            monotonic,
            width: monotonic.saturating_sub(before),
        }
    }
}

/// Measures the processor's counter by the kernel's clock: once to know its rate, a second time to
/// confirm it, and from then on each period, by which its errors do not add up. A counter that
/// differs is given up for good, since it is not the same on all processors, or does not run
/// evenly.
#[derive(Debug)]
pub(super) struct Counter {
    state: State,
    /// The reading that the next one is measured from, and its counter.
    last: Option<(Reading, u64)>,
    /// What nobody was told of yet.
    difference: Option<Difference>,
}

/// Why a counter was given up: how long it was by each clock, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Difference {
    kernel_ns: u64,
    counter_ns: u64,
}

impl Difference {
    /// Logs it. The log is a program's own, which may ask for the time: no lock is held.
    #[cold]
    pub(super) fn log(self) {
        let Self { kernel_ns, counter_ns } = self;
        tracing::warn!(
            kernel_ns,
            counter_ns,
            "the time stamp counter differs from the kernel's monotonic clock, though it is the kernel's clocksource: this process \
             measures time by the kernel's clock from now on, which takes some nanoseconds more"
        );
    }
}

#[derive(Clone, Copy, Debug)]
enum State {
    Unknown,
    /// Measured once.
    Measured(Rate),
    Confirmed(Rate),
    GivenUp,
}

impl Counter {
    pub(super) const fn new() -> Self {
        Self {
            state: State::Unknown,
            last: None,
            difference: None,
        }
    }

    /// Returns why the counter was given up, once.
    pub(super) const fn take_difference(&mut self) -> Option<Difference> {
        self.difference.take()
    }

    /// Forgets what was measured: it does not hold beyond a sleep of the machine.
    pub(super) fn forget(&mut self) {
        self.last = None;
        if !matches!(self.state, State::GivenUp) {
            self.state = State::Unknown;
        }
    }

    /// Judges the counter by a new reading. Returns its value and its rate from here on, or `None`
    /// if the kernel's clock is to be read until the next one.
    pub(super) fn judge(&mut self, reading: Reading) -> Option<(u64, Rate)> {
        let ticks = reading.ticks?;
        if reading.width > WIDEST {
            return None;
        }
        self.state = self.next_state(reading, ticks);
        match self.state {
            State::Confirmed(rate) => Some((ticks, rate)),
            State::Unknown | State::Measured(_) | State::GivenUp => None,
        }
    }

    fn next_state(&mut self, reading: Reading, ticks: u64) -> State {
        let Some((last, last_ticks)) = self.last else {
            self.last = Some((reading, ticks));
            return self.state;
        };
        let passed = reading.monotonic - last.monotonic;
        let known = match self.state {
            State::GivenUp => return State::GivenUp,
            State::Unknown => None,
            State::Measured(rate) | State::Confirmed(rate) => Some(rate),
        };
        let Some(ticked) = ticks.checked_sub(last_ticks) else {
            return self.give_up(passed, 0);
        };
        if let Some(rate) = known
            && rate.nanos(ticked).abs_diff(passed) > TOLERANCE + passed / TOLERANCE_PART
        {
            return self.give_up(passed, rate.nanos(ticked));
        }
        if passed < PERIOD / 2 {
            // Too short to measure a rate by.
            return self.state;
        }
        self.last = Some((reading, ticks));
        match (Rate::measured(passed, ticked), known) {
            (None, _) => self.give_up(passed, 0),
            (Some(rate), None) => State::Measured(rate),
            (Some(rate), Some(_)) => State::Confirmed(rate),
        }
    }

    const fn give_up(&mut self, kernel_ns: u64, counter_ns: u64) -> State {
        self.difference = Some(Difference { kernel_ns, counter_ns });
        State::GivenUp
    }
}
