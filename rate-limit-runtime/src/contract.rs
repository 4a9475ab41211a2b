//! What every store must do, as a suite to run against it.
//!
//! ```no_run
//! use rate_limit_runtime::{ManualClock, MemoryStore, contract};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let clock = ManualClock::new();
//! let store = MemoryStore::builder().clock(&clock).build();
//! contract::check(&store, &clock).await;
//! # }
//! ```

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::clock::ManualClock;
use crate::key::{Client, Key};
use crate::method::Method;
use crate::policy::Policy;
use crate::store::{Change, Charge, Settlement, Store};
use crate::verdict::{Hit, Verdict};

const SECOND: u64 = 1_000_000;

/// Runs the whole suite against an empty store that decides by `clock`.
///
/// # Panics
///
/// If the store does not do as it must; the message says what.
pub async fn check(store: &dyn Store, clock: &ManualClock) {
    let suite = Suite { store, clock };
    suite.a_window_is_half_open().await;
    suite.a_burst_at_the_edge_of_a_window_is_counted().await;
    suite.a_refusal_records_nothing().await;
    suite.a_wait_is_exact_to_the_tick().await;
    suite.hits_of_one_instant_count_apart().await;
    suite.a_cost_is_hits_at_once().await;
    suite.what_can_never_fit_is_said().await;
    suite.a_peek_charges_nothing().await;
    suite.a_reset_spares_later_hits().await;
    suite.a_reset_of_all_forgets_all().await;
    suite.keys_do_not_meet().await;
    suite.a_lowered_limit_counts_what_was_admitted().await;
    suite.a_raised_limit_keeps_what_was_admitted().await;
    suite.a_longer_window_keeps_what_was_admitted().await;
    suite.a_clock_that_steps_back_locks_out_for_one_window_at_most().await;
    suite.a_hit_from_the_future_names_nothing().await;
    suite.a_refund_takes_back_one_hit().await;
    suite.a_block_begins_once_and_lasts_its_time().await;
    suite.a_reset_ends_a_block().await;
    suite.a_bucket_refills_to_the_tick().await;
    suite.a_bucket_settles().await;
    suite.a_bucket_keeps_what_is_missing_when_its_numbers_change().await;
    suite.a_bucket_goes_by_the_time_of_the_event().await;
    suite.a_fixed_window_ends_at_its_multiple().await;
    suite.a_fixed_window_settles_within_itself().await;
    suite.several_charges_are_all_or_none().await;
    suite.an_observing_charge_never_refuses().await;
}

struct Suite<'a> {
    store: &'a dyn Store,
    clock: &'a ManualClock,
}

/// A key that no part of the suite used before.
fn fresh_key() -> Key {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let client = Client::of(&(std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
    Key::new(Method::named("contract"), client.expect("a number names somebody"))
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn retry_after(verdict: Verdict) -> Option<u64> {
    match verdict {
        Verdict::Denied { retry_after, .. } => Some(retry_after),
        _ => None,
    }
}

fn hit(verdict: Verdict) -> Hit {
    match verdict {
        Verdict::Allowed { hits, .. } => hits[0],
        refused => panic!("the hit should be admitted, but is {refused:?}"),
    }
}

fn remaining(verdict: Verdict) -> Option<u32> {
    match verdict {
        Verdict::Allowed { remaining, .. } => Some(remaining),
        _ => None,
    }
}

impl Suite<'_> {
    async fn acquire(&self, key: Key, policy: Policy, cost: u32) -> Verdict {
        self.acquire_all(&[Charge::new(key, policy, cost)]).await
    }

    async fn acquire_all(&self, charges: &[Charge]) -> Verdict {
        self.store.acquire(charges).await.expect("the store decides")
    }

    async fn peek(&self, key: Key, policy: Policy) -> Verdict {
        self.store
            .peek(Charge::new(key, policy, 1))
            .await
            .expect("the store decides")
    }

    async fn settle(&self, key: Key, policy: Policy, change: Change) {
        let settlement = Settlement::new(key, policy, change);
        self.store.settle(&[settlement]).await.expect("the store settles");
    }

    async fn reset(&self, key: Key, policy: Policy, hit: Hit) {
        self.settle(key, policy, Change::Reset { upto: hit }).await;
    }

    async fn refund(&self, key: Key, policy: Policy, hit: Hit, cost: u32) {
        self.settle(key, policy, Change::Refund { hit, cost }).await;
    }

    /// Hits at 0, 1, 2.. seconds, which must all be admitted. Returns their ids and leaves the clock at the last.
    async fn hit_each_second(&self, key: Key, policy: Policy, hits: u32) -> Vec<Hit> {
        let mut ids = Vec::new();
        for n in 0..hits {
            if n > 0 {
                self.clock.advance(seconds(1));
            }
            ids.push(hit(self.acquire(key, policy, 1).await));
        }
        ids
    }

    async fn a_window_is_half_open(&self) {
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

    async fn a_burst_at_the_edge_of_a_window_is_counted(&self) {
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

    async fn a_refusal_records_nothing(&self) {
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

    async fn a_wait_is_exact_to_the_tick(&self) {
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

    async fn hits_of_one_instant_count_apart(&self) {
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

    async fn a_cost_is_hits_at_once(&self) {
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

    async fn what_can_never_fit_is_said(&self) {
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

    async fn a_peek_charges_nothing(&self) {
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

    async fn a_reset_spares_later_hits(&self) {
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

    async fn a_reset_of_all_forgets_all(&self) {
        let (key, policy) = (fresh_key(), Policy::sliding_window(3, seconds(60)));
        self.settle(key, policy, Change::Clear).await;
        self.hit_each_second(key, policy, 3).await;
        self.settle(key, policy, Change::Clear).await;
        assert_eq!(remaining(self.acquire(key, policy, 1).await), Some(2));
    }

    async fn keys_do_not_meet(&self) {
        let policy = Policy::sliding_window(1, seconds(60));
        let (first, second) = (fresh_key(), fresh_key());
        let other_method = Key::new(Method::named("contract of another"), first.client());
        for key in [first, second, other_method] {
            assert_eq!(
                remaining(self.acquire(key, policy, 1).await),
                Some(0),
                "each key has its own limit"
            );
        }
        self.settle(first, policy, Change::Clear).await;
        assert!(
            retry_after(self.peek(second, policy).await).is_some(),
            "a reset is of one key"
        );
    }

    async fn a_lowered_limit_counts_what_was_admitted(&self) {
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

    async fn a_raised_limit_keeps_what_was_admitted(&self) {
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

    async fn a_longer_window_keeps_what_was_admitted(&self) {
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

    async fn a_clock_that_steps_back_locks_out_for_one_window_at_most(&self) {
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

    async fn a_hit_from_the_future_names_nothing(&self) {
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

    async fn a_refund_takes_back_one_hit(&self) {
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

    async fn a_block_begins_once_and_lasts_its_time(&self) {
        for policy in [
            Policy::sliding_window(2, seconds(10)),
            Policy::token_bucket(2, seconds(5)),
            Policy::fixed_window(2, seconds(10)),
        ] {
            let (key, policy) = (fresh_key(), policy.block(seconds(60)));
            hit(self.acquire(key, policy, 1).await);
            assert_eq!(
                remaining(self.acquire(key, policy, 1).await),
                Some(0),
                "a limit that is reached does not block yet"
            );
            assert_eq!(
                retry_after(self.acquire(key, policy, 1).await),
                Some(60 * SECOND),
                "a call over it does"
            );
            self.clock.advance(seconds(59));
            assert_eq!(
                retry_after(self.peek(key, policy).await),
                Some(SECOND),
                "and lasts its time"
            );
            assert_eq!(
                retry_after(self.acquire(key, policy, 1).await),
                Some(SECOND),
                "and is not put off"
            );
            self.clock.advance(seconds(1));
            assert_eq!(
                remaining(self.acquire(key, policy, 1).await),
                Some(1),
                "then the limit is whole"
            );
        }
    }

    async fn a_reset_ends_a_block(&self) {
        let (key, policy) = (fresh_key(), Policy::sliding_window(1, seconds(10)).block(seconds(60)));
        let first = hit(self.acquire(key, policy, 1).await);
        assert_eq!(retry_after(self.acquire(key, policy, 1).await), Some(60 * SECOND));
        self.reset(key, policy, first).await;
        assert_eq!(remaining(self.acquire(key, policy, 1).await), Some(0));
        assert!(retry_after(self.acquire(key, policy, 1).await).is_some());
        self.settle(key, policy, Change::Clear).await;
        assert_eq!(remaining(self.acquire(key, policy, 1).await), Some(0));
    }

    async fn a_bucket_refills_to_the_tick(&self) {
        let (key, policy) = (fresh_key(), Policy::token_bucket(3, seconds(50)));
        for left in [2, 1, 0] {
            assert_eq!(
                remaining(self.acquire(key, policy, 1).await),
                Some(left),
                "it starts full"
            );
        }
        assert_eq!(retry_after(self.acquire(key, policy, 1).await), Some(50 * SECOND));
        self.clock.advance(Duration::from_micros(50 * SECOND - 1));
        assert_eq!(
            retry_after(self.acquire(key, policy, 1).await),
            Some(1),
            "one tick early is refused"
        );
        self.clock.advance(Duration::from_micros(1));
        assert_eq!(remaining(self.acquire(key, policy, 1).await), Some(0));
        self.clock.advance(seconds(75));
        assert_eq!(remaining(self.acquire(key, policy, 1).await), Some(0));
        assert_eq!(
            retry_after(self.acquire(key, policy, 1).await),
            Some(25 * SECOND),
            "the half token is not lost"
        );
        assert_eq!(retry_after(self.acquire(key, policy, 3).await), Some(125 * SECOND));
        assert_eq!(self.acquire(key, policy, 4).await, Verdict::Impossible { which: 0 });

        // Asked each 0.9 s for one each 10 s: a scheme that rounds admits fewer.
        let (key, policy) = (fresh_key(), Policy::token_bucket(3, seconds(10)));
        let mut admitted = 0;
        for _ in 0..1_000 {
            admitted += u32::from(remaining(self.acquire(key, policy, 1).await).is_some());
            self.clock.advance(Duration::from_millis(900));
        }
        assert_eq!(admitted, 92, "3 at once, and one for each whole 10 s of 899.1 s");
    }

    async fn a_bucket_settles(&self) {
        let policy = Policy::token_bucket(5, seconds(10));
        let key = fresh_key();
        let ids = self.hit_each_second(key, policy, 4).await;
        self.reset(key, policy, ids[1]).await;
        assert_eq!(
            remaining(self.peek(key, policy).await),
            Some(3),
            "what two later hits took stays missing"
        );
        let key = fresh_key();
        let ids = self.hit_each_second(key, policy, 4).await;
        self.refund(key, policy, ids[3], 1).await;
        assert_eq!(
            remaining(self.peek(key, policy).await),
            Some(2),
            "3 s of 30 s came back, and the token of the last"
        );
        self.clock.advance(seconds(100));
        let late = hit(self.acquire(key, policy, 2).await);
        self.refund(key, policy, ids[2], 1).await;
        assert_eq!(
            remaining(self.peek(key, policy).await),
            Some(3),
            "what came back by itself is not given twice"
        );
        self.refund(key, policy, late, 2).await;
        assert_eq!(remaining(self.peek(key, policy).await), Some(5));
    }

    async fn a_bucket_keeps_what_is_missing_when_its_numbers_change(&self) {
        let key = fresh_key();
        for _ in 0..3 {
            hit(self.acquire(key, Policy::token_bucket(3, seconds(50)), 1).await);
        }
        let faster = Policy::token_bucket(3, seconds(25));
        assert_eq!(
            retry_after(self.acquire(key, faster, 1).await),
            Some(25 * SECOND),
            "no token is given or lost"
        );
        let slower = Policy::token_bucket(3, seconds(100));
        assert_eq!(retry_after(self.acquire(key, slower, 1).await), Some(100 * SECOND));
        let smaller = Policy::token_bucket(1, seconds(100));
        assert_eq!(retry_after(self.acquire(key, smaller, 1).await), Some(100 * SECOND));
        self.clock.step_back(seconds(3_600));
        let wait = retry_after(self.acquire(key, smaller, 1).await).expect("a step back gives nothing");
        assert!(
            wait <= 100 * SECOND,
            "nor locks out for longer than an empty bucket: {wait}"
        );
    }

    async fn a_bucket_goes_by_the_time_of_the_event(&self) {
        let (key, policy) = (fresh_key(), Policy::token_bucket(3, seconds(50)));
        let at = |ago: u64| Charge {
            at: Some(self.clock.now() - ago * SECOND),
            ..Charge::new(key, policy, 1)
        };
        for ago in [3_000, 3_000, 3_000] {
            hit(self.acquire_all(&[at(ago)]).await);
        }
        let refused = self.acquire_all(&[at(3_000)]).await;
        assert_eq!(
            retry_after(refused),
            Some(50 * SECOND),
            "a backlog is limited as it would have been in time"
        );
        hit(self.acquire_all(&[at(2_950)]).await);
        let future = Charge {
            at: Some(self.clock.now() + 3_600 * SECOND),
            ..Charge::new(key, policy, 1)
        };
        for left in [2, 1, 0] {
            assert_eq!(remaining(self.acquire_all(&[future]).await), Some(left));
        }
        assert_eq!(
            retry_after(self.acquire_all(&[future]).await),
            Some(50 * SECOND),
            "an event from the future holds nobody up for longer than one of now"
        );
    }

    async fn a_fixed_window_ends_at_its_multiple(&self) {
        let window = 10 * SECOND;
        // To 9.9 s after a multiple.
        self.clock.advance(Duration::from_micros(
            window - self.clock.now() % window + window - 100_000,
        ));
        let (key, policy) = (fresh_key(), Policy::fixed_window(5, Duration::from_micros(window)));
        for left in (0..5).rev() {
            assert_eq!(remaining(self.acquire(key, policy, 1).await), Some(left));
        }
        assert_eq!(
            retry_after(self.acquire(key, policy, 1).await),
            Some(100_000),
            "until the multiple"
        );
        self.clock.advance(Duration::from_micros(99_999));
        assert_eq!(retry_after(self.acquire(key, policy, 1).await), Some(1));
        self.clock.advance(Duration::from_micros(1));
        for left in (0..5).rev() {
            assert_eq!(
                remaining(self.acquire(key, policy, 1).await),
                Some(left),
                "twice the count around it, as documented"
            );
        }
        assert_eq!(retry_after(self.acquire(key, policy, 1).await), Some(window));
        self.clock.step_back(seconds(3_600));
        let wait = retry_after(self.acquire(key, policy, 1).await).expect("a step back forgives nothing");
        assert!(wait <= window, "nor locks out for longer than a window: {wait}");
    }

    async fn a_fixed_window_settles_within_itself(&self) {
        let policy = Policy::fixed_window(5, seconds(10_000));
        let key = fresh_key();
        let ids = self.hit_each_second(key, policy, 4).await;
        self.reset(key, policy, ids[1]).await;
        assert_eq!(remaining(self.peek(key, policy).await), Some(3));
        self.refund(key, policy, ids[3], 1).await;
        assert_eq!(remaining(self.peek(key, policy).await), Some(4));
        self.clock.advance(seconds(10_000));
        hit(self.acquire(key, policy, 1).await);
        self.refund(key, policy, ids[2], 1).await;
        self.reset(key, policy, ids[2]).await;
        assert_eq!(
            remaining(self.peek(key, policy).await),
            Some(4),
            "what is late does not land in the next window"
        );
    }

    async fn several_charges_are_all_or_none(&self) {
        let (user, all) = (
            Policy::sliding_window(1, seconds(10)),
            Policy::token_bucket(10, seconds(60)),
        );
        let (user_key, all_key) = (fresh_key(), fresh_key());
        let fixed = (fresh_key(), Policy::fixed_window(20, seconds(1_000)));
        let orders = [[0, 1, 2], [2, 1, 0], [1, 0, 2]];
        let charges = |order: [usize; 3]| {
            order.map(|n| {
                [
                    Charge::new(user_key, user, 1),
                    Charge::new(all_key, all, 1),
                    Charge::new(fixed.0, fixed.1, 2),
                ][n]
            })
        };
        let Verdict::Allowed { tightest, hits, .. } = self.acquire_all(&charges(orders[0])).await else {
            panic!("all have room");
        };
        assert_eq!((tightest, hits.len()), (0, 3), "the tightest rule tells what remains");
        for n in 0..20 {
            self.clock.advance(Duration::from_millis(100));
            let verdict = self.acquire_all(&charges(orders[n % 3])).await;
            let Verdict::Denied {
                longest, retry_after, ..
            } = verdict
            else {
                panic!("one rule refuses, so the call is refused: {verdict:?}");
            };
            assert_eq!(orders[n % 3][longest], 0);
            assert_eq!(retry_after, 10 * SECOND - (n as u64 + 1) * 100_000);
        }
        assert_eq!(
            remaining(self.peek(all_key, all).await),
            Some(9),
            "a refused call charges no rule"
        );
        assert_eq!(remaining(self.peek(fixed.0, fixed.1).await), Some(18));
        let above = [Charge::new(fresh_key(), all, 1), Charge::new(all_key, all, 11)];
        assert_eq!(self.acquire_all(&above).await, Verdict::Impossible { which: 1 });
        // Two refuse: the longest wait is told.
        let slow = (fresh_key(), Policy::sliding_window(1, seconds(500)));
        hit(self.acquire(slow.0, slow.1, 1).await);
        let both = [Charge::new(user_key, user, 1), Charge::new(slow.0, slow.1, 1)];
        let Verdict::Denied {
            longest, retry_after, ..
        } = self.acquire_all(&both).await
        else {
            panic!("both refuse");
        };
        assert_eq!((longest, retry_after), (1, 500 * SECOND));
    }

    async fn an_observing_charge_never_refuses(&self) {
        let (key, policy) = (fresh_key(), Policy::sliding_window(1, seconds(10)));
        let other = (fresh_key(), Policy::sliding_window(5, seconds(10)));
        let charges = [
            Charge {
                observe: true,
                ..Charge::new(key, policy, 1)
            },
            Charge::new(other.0, other.1, 1),
        ];
        for n in 0..3 {
            let Verdict::Allowed { hits, .. } = self.acquire_all(&charges).await else {
                panic!("a rule that observes refuses nobody");
            };
            assert_eq!(
                hits[0] == Hit::NONE,
                n > 0,
                "but tells which calls it would have refused"
            );
            assert!(hits[1] > Hit::NONE);
        }
        assert_eq!(remaining(self.peek(other.0, other.1).await), Some(2));
    }
}
