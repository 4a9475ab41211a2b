//! The wall clock beside the clock that intervals are measured by.

use std::time::{Duration, UNIX_EPOCH};

use super::{SECOND, Suite, fresh_key, hit, remaining, retry_after, seconds};
use crate::clock::ManualClock;
use crate::policy::Policy;
use crate::store::{Change, Charge, Store};

/// The length of a step of the wall clock in microseconds. The check steps it forward and back.
const HOUR: i64 = 3_600 * SECOND as i64;

/// Checks a store that measures intervals by a clock of its own beside the wall clock, as the
/// embedded one does, while the wall clock jumps by an hour.
///
/// No decision changes by it. Times of hits are told by the wall clock of now, and times of events
/// are taken by it. A store that goes by the one clock of a server does not pass this: there a jump
/// of that clock is what [`ManualClock::advance`] and [`ManualClock::step_back`] do.
///
/// # Panics
///
/// If the store does not do so; the message says what.
pub async fn check_wall_clock(store: &dyn Store, clock: &ManualClock) {
    let suite = Suite { store, clock };
    for step in [HOUR, -HOUR, -HOUR, HOUR] {
        let sliding = Policy::sliding_window(3, seconds(50));
        for policy in [
            sliding,
            sliding.block(seconds(600)),
            Policy::token_bucket(3, seconds(50)),
            Policy::fixed_window(3, seconds(50)),
        ] {
            suite
                .f_70_a_wait_is_as_long_when_the_wall_clock_jumps(policy, step)
                .await;
            suite
                .f_70_a_hit_is_settled_after_the_wall_clock_jumped(policy, step)
                .await;
        }
        suite.f_70_times_are_told_by_the_wall_clock_of_now(sliding, step).await;
        suite.f_70_events_are_taken_by_the_wall_clock_of_now(step).await;
    }
}

impl Suite<'_> {
    fn jump(&self, micros: i64) {
        let time = Duration::from_micros(micros.unsigned_abs());
        if micros > 0 {
            self.clock.step_wall_clock(time);
        } else {
            self.clock.step_wall_clock_back(time);
        }
    }

    /// Microseconds since 1970 by the wall clock.
    fn wall(&self) -> u64 {
        let since = self.clock.wall_clock().duration_since(UNIX_EPOCH);
        since.expect("it is after 1970").as_micros() as u64
    }

    async fn f_70_a_wait_is_as_long_when_the_wall_clock_jumps(&self, policy: Policy, step: i64) {
        let key = fresh_key();
        for _ in 0..3 {
            hit(self.acquire(key, policy, 1).await);
        }
        let wait = retry_after(self.acquire(key, policy, 1).await).expect("the fourth is too many");
        self.jump(step);
        assert_eq!(
            retry_after(self.acquire(key, policy, 1).await),
            Some(wait),
            "{policy} after a jump of {step} us"
        );
        self.clock.advance(Duration::from_micros(wait - 1));
        self.jump(-step);
        assert_eq!(
            retry_after(self.acquire(key, policy, 1).await),
            Some(1),
            "{policy} after a jump of {step} us and back"
        );
        self.clock.advance(Duration::from_micros(1));
        hit(self.acquire(key, policy, 1).await);
    }

    async fn f_70_a_hit_is_settled_after_the_wall_clock_jumped(&self, policy: Policy, step: i64) {
        // A window of its own, where windows are fixed.
        self.clock.advance(seconds(50));
        let key = fresh_key();
        let before = hit(self.acquire(key, policy, 1).await);
        self.jump(step);
        let after = hit(self.acquire(key, policy, 1).await);
        assert!(after > before, "ids of hits do not step back: {policy}");
        self.settle(key, policy, Change::Reset { upto: before }).await;
        assert_eq!(
            remaining(self.peek(key, policy).await),
            Some(2),
            "one of two hits is forgotten: {policy}"
        );
        self.jump(-step);
    }

    async fn f_70_times_are_told_by_the_wall_clock_of_now(&self, policy: Policy, step: i64) {
        let (key, first) = (fresh_key(), self.wall());
        hit(self.acquire(key, policy, 1).await);
        self.clock.advance(seconds(1));
        hit(self.acquire(key, policy, 1).await);
        let times = |ahead: i64| [first, first + SECOND].map(|time| time.saturating_add_signed(ahead));
        assert_eq!(self.inspect(key, policy).await, times(0));
        self.jump(step);
        assert_eq!(self.inspect(key, policy).await, times(step));
        self.jump(-step);
        assert_eq!(self.inspect(key, policy).await, times(0));
    }

    async fn f_70_events_are_taken_by_the_wall_clock_of_now(&self, step: i64) {
        let policy = Policy::token_bucket(3, seconds(50));
        let event = |key, at| Charge {
            at: Some(at),
            ..Charge::new(key, policy, 1)
        };
        // One client's come as they happen, another one's all at once.
        let (live, backlog) = (fresh_key(), fresh_key());
        for _ in 0..3 {
            hit(self.acquire_all(&[event(live, self.wall())]).await);
        }
        self.jump(step);
        assert_eq!(
            retry_after(self.acquire_all(&[event(live, self.wall())]).await),
            Some(50 * SECOND),
            "the jump of {step} us refills nothing, and takes nothing"
        );
        self.clock.advance(seconds(50));
        hit(self.acquire_all(&[event(live, self.wall())]).await);
        let start = self.wall() - 10 * 50 * SECOND;
        for _ in 0..3 {
            hit(self.acquire_all(&[event(backlog, start)]).await);
        }
        for n in 1..=10 {
            let at = start + n * 50 * SECOND;
            assert_eq!(
                remaining(self.acquire_all(&[event(backlog, at)]).await),
                Some(0),
                "event {n} after a jump of {step} us"
            );
            assert_eq!(
                retry_after(self.acquire_all(&[event(backlog, at + SECOND)]).await),
                Some(if n < 10 { 49 } else { 50 } * SECOND),
                "one too many at event {n}; the last is ahead of now"
            );
        }
        self.jump(-step);
    }
}
