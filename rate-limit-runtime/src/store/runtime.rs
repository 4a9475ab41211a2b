//! What stores outside of the process need of the runtime.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Once;
use std::time::{Duration, Instant};

/// The longest deadline of a call. Nobody waits for a day, and clocks have room for it.
pub(super) const MAX_DEADLINE: Duration = Duration::from_secs(86_400);

/// How long one attempt to connect may take. No call waits for it: each has a deadline of its own.
pub(super) const ATTEMPT: Duration = Duration::from_secs(1);
pub(super) const FIRST_PAUSE: Duration = Duration::from_millis(10);
/// After an attempt that failed, and before another one is made beside one that is not answered.
pub(super) const LONGEST_PAUSE: Duration = Duration::from_millis(200);

/// Warns once if a deadline ended by a paused clock: Tokio then goes on to the next deadline at once, however fast the server is. Its clock
/// differs from the system's only after a pause, so no call has to be timed for this.
pub(crate) fn warn_if_clock_is_paused() {
    static WARNED: Once = Once::new();
    let (before, tokio, after) = (Instant::now(), tokio::time::Instant::now().into_std(), Instant::now());
    if !(before..=after).contains(&tokio) {
        WARNED.call_once(|| {
            tracing::warn!(
                "a deadline of the store ended by the paused clock of Tokio, before the store could answer, and `on_store_error` decides such \
                 calls: do not pause the clock in a test with a store outside of the process; turn a `ManualClock`, or limit in memory"
            );
        });
    }
}

/// Returns between half of a pause and all of it, so that instances that lost one server do not return together.
pub(super) fn jittered(pause: Duration) -> Duration {
    let half = pause / 2;
    half + half.mul_f64(random())
}

/// From 0 to 1, so that those who failed together do not try again together.
pub(super) fn random() -> f64 {
    RandomState::new().hash_one(0_u8) as f64 / u64::MAX as f64
}
