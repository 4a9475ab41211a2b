//! A machine whose clocks and processors a test turns.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::sources::Sources;

/// One start of the machine; clocks are in nanoseconds.
#[derive(Debug)]
pub(crate) struct Machine {
    state: Mutex<State>,
    /// The processor that the thread runs on.
    processor: AtomicUsize,
}

#[derive(Clone, Debug)]
struct State {
    monotonic: u64,
    slept: u64,
    /// Ahead of the monotonic clock.
    wall_ahead: i64,
    boot_is_known: bool,
    /// Of each processor.
    counters: Vec<Ticking>,
    /// Whether the kernel reads the counter.
    is_trusted: bool,
}

/// A time stamp counter of 3 GHz, more or less.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticking {
    /// How far it is ahead of the kernel's clock, in nanoseconds.
    pub(crate) ahead: i64,
    /// By how many millionths it runs faster.
    pub(crate) faster: i64,
    /// What it gained by that, in millionths of a nanosecond.
    gained: i64,
}

impl Ticking {
    pub(crate) const RIGHT: Self = Self::new(0, 0);

    pub(crate) const fn new(ahead: i64, faster: i64) -> Self {
        Self {
            ahead,
            faster,
            gained: 0,
        }
    }
}

/// What each clock shows at the start.
const START: u64 = 5_000_000_000;
const WALL_START: i64 = 1_800_000_000_000_000_000;

impl Machine {
    /// A machine whose kernel reads the counters of these processors.
    pub(crate) fn trusting(counters: impl IntoIterator<Item = Ticking>) -> Self {
        Self {
            state: Mutex::new(State {
                monotonic: START,
                slept: 0,
                wall_ahead: WALL_START,
                boot_is_known: true,
                counters: counters.into_iter().collect(),
                is_trusted: true,
            }),
            processor: AtomicUsize::new(0),
        }
    }

    /// One whose kernel reads another clock, because they differ.
    pub(crate) fn distrusting(counters: impl IntoIterator<Item = Ticking>) -> Self {
        let machine = Self::trusting(counters);
        machine.with(|state| state.is_trusted = false);
        machine
    }

    /// The same machine, as it stands.
    pub(crate) fn again(&self) -> Self {
        Self {
            state: Mutex::new(self.with(|state| state.clone())),
            processor: AtomicUsize::new(0),
        }
    }

    pub(crate) fn is_trusted(&self) -> bool {
        self.with(|state| state.is_trusted)
    }

    /// Lets this many nanoseconds pass.
    pub(crate) fn run(&self, nanos: u64) {
        self.with(|state| {
            state.monotonic += nanos;
            for counter in &mut state.counters {
                counter.gained += nanos as i64 * counter.faster;
            }
        });
    }

    /// Moves the thread to another processor.
    pub(crate) fn move_to(&self, processor: usize) {
        self.processor.store(processor, Ordering::SeqCst);
    }

    /// Changes the counter of a processor.
    pub(crate) fn change(&self, processor: usize, change: impl FnOnce(&mut Ticking)) {
        self.with(|state| change(&mut state.counters[processor]));
    }

    /// Steps the wall clock.
    pub(crate) fn step_wall(&self, nanos: i64) {
        self.with(|state| state.wall_ahead += nanos);
    }

    /// Suspends the machine for so long. The counters start again from nothing.
    pub(crate) fn suspend(&self, nanos: u64) {
        self.with(|state| {
            state.slept += nanos;
            state.wall_ahead += nanos as i64;
            for counter in &mut state.counters {
                *counter = Ticking::new(-(state.monotonic as i64), counter.faster);
            }
        });
    }

    /// Makes the machine report no time since boot, so that the clock cannot tell how long the machine was suspended.
    pub(crate) fn hide_boot(&self) {
        self.with(|state| state.boot_is_known = false);
    }

    fn with<T>(&self, go_on: impl FnOnce(&mut State) -> T) -> T {
        go_on(&mut self.state.lock().expect("no test panics here"))
    }
}

impl Sources for Machine {
    fn ticks(&self) -> Option<u64> {
        let processor = self.processor.load(Ordering::SeqCst);
        self.with(|state| {
            let counter = &state.counters[processor];
            let nanos = state.monotonic as i64 + counter.ahead + counter.gained / 1_000_000;
            state.is_trusted.then_some((nanos * 3) as u64)
        })
    }

    fn monotonic(&self) -> u64 {
        self.with(|state| state.monotonic)
    }

    fn wall(&self) -> u64 {
        self.with(|state| (state.monotonic as i64 + state.wall_ahead) as u64 / 1_000)
    }

    fn since_boot(&self) -> Option<u64> {
        self.with(|state| state.boot_is_known.then(|| state.monotonic + state.slept))
    }
}
