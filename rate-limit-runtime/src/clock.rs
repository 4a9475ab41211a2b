//! The clock of the embedded store: microseconds since 1970.

#[cfg(feature = "test-util")]
use std::sync::Arc;
#[cfg(feature = "test-util")]
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

#[derive(Clone, Debug)]
pub(crate) enum Clock {
    /// Set by the system's clock once, and from then on independent of it. Where there is a time stamp counter that runs evenly, it is
    /// read in the place of the system's monotonic clock, in less than half of the time.
    Monotonic {
        counter: quanta::Clock,
        start: u64,
        epoch: u64,
    },
    #[cfg(feature = "test-util")]
    Manual(ManualClock),
}

impl Clock {
    pub(crate) fn monotonic() -> Self {
        let counter = quanta::Clock::new();
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self::Monotonic {
            start: counter.raw(),
            epoch: since.as_micros() as u64,
            counter,
        }
    }

    #[inline]
    pub(crate) fn now(&self) -> u64 {
        match self {
            Self::Monotonic { counter, start, epoch } => epoch + counter.delta_as_nanos(*start, counter.raw()) / 1_000,
            #[cfg(feature = "test-util")]
            Self::Manual(clock) => clock.now(),
        }
    }
}

impl Clock {
    /// What was read, or a later time that another thread has read meanwhile: only a clock that tests turn steps back.
    #[inline]
    pub(crate) fn unless_it_steps_back(&self, read: u64, latest: u64) -> u64 {
        match self {
            Self::Monotonic { .. } => read.max(latest),
            #[cfg(feature = "test-util")]
            Self::Manual(_) => read,
        }
    }
}

/// A clock that stands until a test turns it. Clones show the same time.
///
/// ```
/// use std::time::Duration;
/// use rate_limit_runtime::{Limiter, ManualClock, MemoryStore, Policy, Client, Key, Method, Rule};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let clock = ManualClock::new();
/// let limiter = Limiter::builder().store(MemoryStore::builder().clock(&clock).build()).build()?;
/// let rule = Rule::new(
///     Policy::sliding_window(1, Duration::from_secs(60)),
///     Key::new(Method::named("report"), Client::of("alice")?),
/// );
/// assert!(limiter.check(rule).await.is_ok());
/// assert!(limiter.check(rule).await.is_err());
/// clock.advance(Duration::from_secs(60));
/// assert!(limiter.check(rule).await.is_ok());
/// # Ok(()) }
/// ```
#[cfg(feature = "test-util")]
#[derive(Clone, Debug)]
pub struct ManualClock(Arc<AtomicU64>);

#[cfg(feature = "test-util")]
impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(feature = "test-util")]
impl ManualClock {
    /// One day after the start of its time, 1970, so that it can be set back.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(AtomicU64::new(86_400_000_000)))
    }

    /// The last time that it shows, in the year 2112: ids of hits are made from times, and have room for no later one.
    const LAST: u64 = (1 << 52) - 1;

    /// Goes on by `time`, in whole microseconds, to the year 2112 at the most.
    pub fn advance(&self, time: std::time::Duration) {
        let on = |now: u64| Some(now.saturating_add(whole_micros(time)).min(Self::LAST));
        let _ = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, on);
    }

    /// Steps back by `time`, to the start of its time at the most.
    pub fn step_back(&self, time: std::time::Duration) {
        let back = |now: u64| Some(now.saturating_sub(whole_micros(time)));
        let _ = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, back);
    }

    /// Microseconds since the start of its time.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

#[cfg(feature = "test-util")]
fn whole_micros(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(all(test, feature = "test-util"))]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn f_18_a_manual_clock_goes_neither_round_nor_the_wrong_way() {
        let clock = ManualClock::new();
        let start = clock.now();
        clock.advance(Duration::from_micros(7));
        assert_eq!(clock.now(), start + 7);
        for time in [
            Duration::MAX,
            Duration::from_micros(u64::MAX),
            Duration::from_secs(u64::MAX / 4),
        ] {
            clock.advance(time);
            assert_eq!(clock.now(), ManualClock::LAST, "{time:?}");
        }
        clock.step_back(Duration::from_micros(1));
        assert_eq!(clock.now(), ManualClock::LAST - 1);
        clock.step_back(Duration::MAX);
        assert_eq!(clock.now(), 0);
    }
}
