//! The clock that tests turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A clock that stands until a test turns it. Clones show the same time.
///
/// It is two clocks, as a machine has: the one that intervals are measured by, and the wall clock,
/// which goes on with it and can be [stepped](Self::step_wall_clock) beside it.
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
/// clock.step_wall_clock(Duration::from_secs(3600));
/// assert!(limiter.check(rule).await.is_err());
/// assert_eq!(limiter.inspect(rule).await?, [clock.wall_clock()]);
/// clock.advance(Duration::from_secs(60));
/// assert!(limiter.check(rule).await.is_ok());
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct ManualClock(Arc<Times>);

#[derive(Debug)]
struct Times {
    now: AtomicU64,
    wall_ahead: AtomicI64,
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}

impl ManualClock {
    /// Creates a clock that shows one day after the start of its time, 1970, so that it can be set
    /// back.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(Times {
            now: AtomicU64::new(86_400_000_000),
            wall_ahead: AtomicI64::new(0),
        }))
    }

    /// The last time that it shows, in the year 2112: ids of hits are made from times, and have
    /// room for no later one.
    const LAST: u64 = (1 << 52) - 1;

    /// Goes on by `time`, in whole microseconds, to the year 2112 at the most. The wall clock goes
    /// on with it.
    pub fn advance(&self, time: Duration) {
        let on = |now: u64| Some(now.saturating_add(whole_micros(time)).min(Self::LAST));
        let _ = self.0.now.fetch_update(Ordering::SeqCst, Ordering::SeqCst, on);
    }

    /// Steps back by `time`, to the start of its time at the most. The wall clock steps back with
    /// it.
    pub fn step_back(&self, time: Duration) {
        let back = |now: u64| Some(now.saturating_sub(whole_micros(time)));
        let _ = self.0.now.fetch_update(Ordering::SeqCst, Ordering::SeqCst, back);
    }

    /// Returns the microseconds since the start of its time.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.0.now.load(Ordering::SeqCst)
    }

    /// Steps the wall clock alone forward by `time`, in whole microseconds, as NTP does: no time
    /// passes. A store in memory shows times by the wall clock and reads the times of events (`at`)
    /// by it. Stores outside of the process have one clock, that of the server, and do not hear of
    /// this.
    pub fn step_wall_clock(&self, time: Duration) {
        self.change_wall(|ahead| ahead.saturating_add_unsigned(whole_micros(time)));
    }

    /// Steps the wall clock alone back by `time`, in whole microseconds: no time passes.
    pub fn step_wall_clock_back(&self, time: Duration) {
        self.change_wall(|ahead| ahead.saturating_sub_unsigned(whole_micros(time)));
    }

    fn change_wall(&self, change: impl Fn(i64) -> i64) {
        // Within the times that the clock itself can show.
        let within = |ahead| Some(change(ahead).clamp(-(Self::LAST as i64), Self::LAST as i64));
        let _ = self
            .0
            .wall_ahead
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, within);
    }

    /// Returns the time that the wall clock shows: what an application takes for the time of an
    /// event. It is 1970 at the earliest.
    #[must_use]
    pub fn wall_clock(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_micros(self.now().saturating_add_signed(self.wall_ahead()))
    }

    pub(super) fn wall_ahead(&self) -> i64 {
        self.0.wall_ahead.load(Ordering::SeqCst)
    }
}

fn whole_micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn f_70_the_wall_clock_is_stepped_beside_the_other_one() {
        let clock = ManualClock::new();
        let (start, hour) = (clock.now(), Duration::from_secs(3_600));
        let shows = |micros| UNIX_EPOCH + Duration::from_micros(micros);
        assert_eq!(clock.wall_clock(), shows(start));
        clock.step_wall_clock(hour);
        assert_eq!((clock.now(), clock.wall_clock()), (start, shows(start) + hour));
        clock.advance(hour);
        assert_eq!(clock.wall_clock(), shows(start) + 2 * hour);
        clock.step_wall_clock_back(3 * hour);
        assert_eq!(clock.wall_clock(), shows(start) - hour);
        for _ in 0..2 {
            clock.step_wall_clock_back(Duration::MAX);
        }
        assert_eq!(clock.wall_clock(), UNIX_EPOCH);
        clock.step_wall_clock(Duration::MAX);
        clock.step_wall_clock(Duration::MAX);
        assert_eq!(clock.wall_clock(), shows(clock.now() + ManualClock::LAST));
    }
}
