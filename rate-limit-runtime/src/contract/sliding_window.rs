//! The sliding window.

use std::time::Duration;

use super::{SECOND, Suite, fresh_key, hit, remaining, retry_after, seconds};
use crate::policy::Policy;
use crate::store::Change;
use crate::verdict::{Hit, Verdict};

impl Suite<'_> {
    pub(super) async fn a_window_is_half_open(&self) {
        let (key, policy) = (fresh_key(), Policy::sliding_window(5, seconds(10)));
        self.hit_each_second(key, policy, 5).await;
        self.clock.advance(Duration::from_micros(6 * SECOND - 1_000));
        let early = self.acquire(key, policy, 1).await;
        assert_eq!(
            retry_after(early),
            Some(1_000),
            "a hit counts until it is one window old: 9.999 s is refused"
        );
        self.clock.advance(Duration::from_millis(1));
        let first = self.acquire(key, policy, 1).await;
        assert_eq!(
            remaining(first),
            Some(0),
            "a hit that is one window old no longer counts: 10.000 s is admitted"
        );
        let second = self.acquire(key, policy, 1).await;
        assert_eq!(
            retry_after(second),
            Some(SECOND),
            "one hit left the window, so one is admitted"
        );
    }

    pub(super) async fn a_burst_at_the_edge_of_a_window_is_counted(&self) {
        let (key, policy) = (fresh_key(), Policy::sliding_window(5, seconds(10)));
        self.clock.advance(Duration::from_millis(9_900));
        for _ in 0..5 {
            hit(self.acquire(key, policy, 1).await);
        }
        self.clock.advance(Duration::from_millis(200));
        for _ in 0..5 {
            let refused = retry_after(self.acquire(key, policy, 1).await);
            // Hits of one instant may be told apart by some ticks.
            assert!(
                refused.is_some_and(|wait| wait.abs_diff(9_800_000) <= 5),
                "the window slides with each hit: the sixth waits 9.8 s, not {refused:?}"
            );
        }
    }

    pub(super) async fn a_refusal_records_nothing(&self) {
        let (key, policy) = (fresh_key(), Policy::sliding_window(5, seconds(10)));
        self.hit_each_second(key, policy, 5).await;
        for half_seconds in 0..11 {
            self.clock.advance(Duration::from_millis(500));
            let wait = retry_after(self.acquire(key, policy, 1).await);
            assert_eq!(
                wait,
                Some(5_500_000 - half_seconds * 500_000),
                "a refused hit must not put off the next"
            );
        }
        self.clock.advance(Duration::from_millis(500));
        hit(self.acquire(key, policy, 1).await);
    }

    pub(super) async fn a_wait_is_exact_to_the_tick(&self) {
        let (key, policy) = (fresh_key(), Policy::sliding_window(3, Duration::from_micros(7_654_321)));
        self.hit_each_second(key, policy, 3).await;
        let wait = retry_after(self.acquire(key, policy, 1).await).expect("the fourth is refused");
        self.clock.advance(Duration::from_micros(wait - 1));
        let early = self.acquire(key, policy, 1).await;
        assert_eq!(
            retry_after(early),
            Some(1),
            "one tick before the wait is over, the hit is refused"
        );
        self.clock.advance(Duration::from_micros(1));
        hit(self.acquire(key, policy, 1).await);
    }

    pub(super) async fn hits_of_one_instant_count_apart(&self) {
        let (key, policy) = (fresh_key(), Policy::sliding_window(50, seconds(10)));
        let mut last = Hit::from_raw(0);
        for left in (0..50).rev() {
            let verdict = self.acquire(key, policy, 1).await;
            assert_eq!(remaining(verdict.clone()), Some(left), "each hit of one instant counts");
            assert!(hit(verdict.clone()) > last, "a later hit has a higher id");
            last = hit(verdict);
        }
        assert!(
            retry_after(self.acquire(key, policy, 1).await).is_some(),
            "the 51st of 50 is refused"
        );
    }

    pub(super) async fn a_cost_is_hits_at_once(&self) {
        let (key, policy) = (fresh_key(), Policy::sliding_window(10, seconds(10)));
        assert_eq!(remaining(self.acquire(key, policy, 8).await), Some(2));
        self.clock.advance(seconds(1));
        assert_eq!(
            retry_after(self.acquire(key, policy, 3).await),
            Some(9 * SECOND),
            "3 do not fit beside 8 of 10"
        );
        assert_eq!(remaining(self.acquire(key, policy, 2).await), Some(0), "2 do");
        assert_eq!(
            retry_after(self.acquire(key, policy, 1).await),
            Some(9 * SECOND),
            "1 more waits until the 8 have left"
        );
        assert_eq!(remaining(self.acquire(key, policy, 0).await), Some(0), "0 always fits");
    }

    pub(super) async fn what_can_never_fit_is_said(&self) {
        let (key, policy) = (fresh_key(), Policy::sliding_window(10, seconds(10)));
        assert_eq!(self.acquire(key, policy, 11).await, Verdict::Impossible { which: 0 });
        assert_eq!(
            remaining(self.peek(key, policy).await),
            Some(10),
            "and nothing is charged"
        );
        let nothing = Policy::sliding_window(0, seconds(10));
        assert_eq!(self.acquire(key, nothing, 1).await, Verdict::Impossible { which: 0 });
        assert_eq!(self.peek(key, nothing).await, Verdict::Impossible { which: 0 });
    }

    pub(super) async fn a_peek_charges_nothing(&self) {
        let (key, policy) = (fresh_key(), Policy::sliding_window(2, seconds(10)));
        for _ in 0..3 {
            assert_eq!(
                remaining(self.peek(key, policy).await),
                Some(2),
                "nothing was charged yet"
            );
        }
        self.hit_each_second(key, policy, 2).await;
        assert_eq!(retry_after(self.peek(key, policy).await), Some(9 * SECOND));
        self.clock.advance(seconds(9));
        assert_eq!(remaining(self.peek(key, policy).await), Some(1));
        assert_eq!(remaining(self.acquire(key, policy, 1).await), Some(0));
    }

    pub(super) async fn a_reset_spares_later_hits(&self) {
        let (key, policy) = (fresh_key(), Policy::sliding_window(5, seconds(60)));
        let ids = self.hit_each_second(key, policy, 5).await;
        self.reset(key, policy, ids[2]).await;
        assert_eq!(
            remaining(self.peek(key, policy).await),
            Some(3),
            "two later hits stay counted"
        );
        self.reset(key, policy, ids[0]).await;
        assert_eq!(
            remaining(self.peek(key, policy).await),
            Some(3),
            "an older reset finds nothing left"
        );
        self.clock.advance(seconds(1));
        hit(self.acquire(key, policy, 1).await);
        self.reset(key, policy, ids[4]).await;
        assert_eq!(
            remaining(self.peek(key, policy).await),
            Some(4),
            "the hit after the fifth stays counted"
        );
    }

    /// `policy` admits three.
    pub(super) async fn a_reset_of_all_forgets_all(&self, policy: Policy) {
        let key = fresh_key();
        self.settle(key, policy, Change::Clear).await;
        self.hit_each_second(key, policy, 3).await;
        self.settle(key, policy, Change::Clear).await;
        assert_eq!(remaining(self.acquire(key, policy, 1).await), Some(2));
    }

    pub(super) async fn a_lowered_limit_counts_what_was_admitted(&self) {
        for count in [5, 200] {
            let (key, policy) = (fresh_key(), Policy::sliding_window(count, seconds(1_000)));
            self.hit_each_second(key, policy, count).await;
            let lowered = Policy::sliding_window(2, seconds(1_000));
            assert_eq!(
                retry_after(self.acquire(key, lowered, 1).await),
                Some(999 * SECOND),
                "2 of {count} hits may still count when one more is admitted: the wait is from the second from the end"
            );
        }
    }

    pub(super) async fn a_raised_limit_keeps_what_was_admitted(&self) {
        let (key, policy) = (fresh_key(), Policy::sliding_window(5, seconds(1_000)));
        self.hit_each_second(key, policy, 5).await;
        for raised in [8, 300, 9] {
            let raised = Policy::sliding_window(raised, seconds(1_000));
            let before = remaining(self.peek(key, raised).await).expect("there is room");
            assert_eq!(remaining(self.acquire(key, raised, 1).await), Some(before - 1));
        }
        let raised = Policy::sliding_window(9, seconds(1_000));
        assert_eq!(
            remaining(self.acquire(key, raised, 1).await),
            Some(0),
            "8 hits are kept through all changes"
        );
    }

    pub(super) async fn a_longer_window_keeps_what_was_admitted(&self) {
        let key = fresh_key();
        self.hit_each_second(key, Policy::sliding_window(3, seconds(10)), 3)
            .await;
        self.clock.advance(seconds(7));
        let longer = Policy::sliding_window(3, seconds(100));
        assert_eq!(
            retry_after(self.acquire(key, longer, 1).await),
            Some(91 * SECOND),
            "the same hits count for longer"
        );
    }

    pub(super) async fn a_clock_that_steps_back_locks_out_for_one_window_at_most(&self) {
        let (key, policy) = (fresh_key(), Policy::sliding_window(3, seconds(10)));
        self.hit_each_second(key, policy, 3).await;
        self.clock.step_back(seconds(3_600));
        let wait = retry_after(self.acquire(key, policy, 1).await).expect("a step back forgives nothing");
        assert!(
            wait <= 10 * SECOND,
            "a step back of an hour locks out for one window, not for {wait} microseconds"
        );
        self.clock.advance(seconds(4));
        let later = retry_after(self.acquire(key, policy, 1).await).expect("still within the window");
        assert_eq!(later, wait - 4 * SECOND, "the wait runs down");
        self.clock.advance(Duration::from_micros(later));
        for left in [2, 1, 0] {
            assert_eq!(
                remaining(self.acquire(key, policy, 1).await),
                Some(left),
                "and the limit is whole after it"
            );
        }
    }

    pub(super) async fn a_hit_from_the_future_names_nothing(&self) {
        let (key, policy) = (fresh_key(), Policy::sliding_window(3, seconds(10)));
        let before = self.hit_each_second(key, policy, 1).await;
        self.clock.step_back(seconds(60));
        hit(self.acquire(key, policy, 1).await);
        self.reset(key, policy, before[0]).await;
        assert_eq!(
            remaining(self.peek(key, policy).await),
            Some(1),
            "the id of a hit from before the step back must not take a later hit with it"
        );
    }

    pub(super) async fn a_refund_takes_back_one_hit(&self) {
        for count in [5, 200] {
            let (key, policy) = (fresh_key(), Policy::sliding_window(count, seconds(1_000)));
            let ids = self.hit_each_second(key, policy, count).await;
            self.refund(key, policy, ids[1], 1).await;
            assert_eq!(
                remaining(self.peek(key, policy).await),
                Some(1),
                "one of {count} is taken back"
            );
            self.refund(key, policy, ids[1], 1).await;
            assert_eq!(remaining(self.acquire(key, policy, 1).await), Some(0), "and not twice");
            self.clock.advance(seconds(1_001 - u64::from(count)));
            assert_eq!(
                remaining(self.peek(key, policy).await),
                Some(1),
                "the first is as old as it was, and the third younger by two seconds"
            );
        }
        let (key, policy) = (fresh_key(), Policy::sliding_window(5, seconds(10)));
        let heavy = hit(self.acquire(key, policy, 3).await);
        hit(self.acquire(key, policy, 2).await);
        self.refund(key, policy, heavy, 3).await;
        assert_eq!(
            remaining(self.peek(key, policy).await),
            Some(3),
            "all that the hit weighed"
        );
    }

    pub(super) async fn the_times_of_the_hits_that_count_are_told(&self) {
        for count in [3, 200] {
            let (key, policy) = (fresh_key(), Policy::sliding_window(count, seconds(1_000)));
            assert_eq!(self.inspect(key, policy).await, [0; 0]);
            let start = self.clock.now();
            self.hit_each_second(key, policy, count).await;
            let _ = self.acquire(key, policy, 1).await;
            let each: Vec<u64> = (0..u64::from(count)).map(|n| start + n * SECOND).collect();
            assert_eq!(self.inspect(key, policy).await, each, "each hit, and no refusal");
            self.clock.advance(seconds(1_001 - u64::from(count)));
            assert_eq!(
                self.inspect(key, policy).await,
                each[1..],
                "and only as long as it counts"
            );
        }
        let (key, bucket) = (fresh_key(), Policy::token_bucket(3, seconds(10)));
        hit(self.acquire(key, bucket, 1).await);
        assert_eq!(self.inspect(key, bucket).await, [0; 0], "a bucket keeps no times");
    }

    /// Of either kind of window.
    pub(super) async fn a_window_is_settled_after_its_policy_changed(&self) {
        for of in [Policy::sliding_window, Policy::fixed_window] {
            let (before, after) = (of(5, seconds(600)), of(5, seconds(3_600)));
            for change in [|hit| Change::Refund { hit, cost: 2 }, |hit| Change::Reset { upto: hit }] {
                let key = fresh_key();
                let charged = hit(self.acquire(key, before, 2).await);
                hit(self.acquire(key, after, 1).await);
                self.settle(key, before, change(charged)).await;
                for policy in [before, after] {
                    assert_eq!(
                        remaining(self.peek(key, policy).await),
                        Some(4),
                        "{policy}: one came later"
                    );
                }
            }
        }
    }

    /// What left the shorter window counts on in the longer one, whichever is asked by, also where it only refused.
    pub(super) async fn f_42_a_longer_window_is_kept_for_as_long_as_it_counts(&self) {
        let (long, short) = (
            Policy::sliding_window(5, seconds(600)),
            Policy::sliding_window(5, seconds(1)),
        );
        for by in [long, short] {
            let key = fresh_key();
            for _ in 0..4 {
                hit(self.acquire(key, by, 1).await);
            }
            self.acquire(key, long, 1).await;
            assert!(retry_after(self.acquire(key, long, 1).await).is_some());
            self.clock.advance(seconds(60));
            for _ in 0..3 {
                self.acquire(key, short, 1).await;
                self.clock.advance(seconds(5));
            }
            assert!(
                retry_after(self.acquire(key, long, 1).await).is_some(),
                "the calls of a minute ago count in ten"
            );
        }
    }
}
