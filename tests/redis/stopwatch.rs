//! Times calls on a machine that others use too.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::common::ms;

/// Measures a call, and beside it how late a thread is woken that does nothing but sleep: that much the machine is
/// busy with others, and no fault of the store.
pub(crate) struct Stopwatch {
    start: Instant,
    stop: Arc<AtomicBool>,
    sleeper: std::thread::JoinHandle<Duration>,
}

pub(crate) struct Took {
    all: Duration,
    late: Duration,
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let sleeper = std::thread::spawn(move || {
            let mut late = Duration::ZERO;
            while !stopped.load(Ordering::SeqCst) {
                let asleep = Instant::now();
                std::thread::sleep(ms(1));
                late += asleep.elapsed().saturating_sub(ms(2));
            }
            late
        });
        Self {
            start: Instant::now(),
            stop,
            sleeper,
        }
    }

    pub(crate) fn stop(self) -> Took {
        let all = self.start.elapsed();
        self.stop.store(true, Ordering::SeqCst);
        let late = self.sleeper.join().expect("it only sleeps");
        Took { all, late }
    }
}

impl Took {
    /// Whether it took no longer than this, and than the machine was late.
    pub(crate) fn is_within(&self, time: Duration) -> bool {
        self.all <= time + self.late
    }
}

/// `101.2ms`, or `130.5ms (21.0ms late)`.
impl fmt::Debug for Took {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.all.fmt(f)?;
        if !self.late.is_zero() {
            f.write_str(" (")?;
            self.late.fmt(f)?;
            f.write_str(" late)")?;
        }
        Ok(())
    }
}
