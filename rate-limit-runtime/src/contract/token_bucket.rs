//! The token bucket.

use std::time::Duration;

use super::{SECOND, Suite, fresh_key, hit, remaining, retry_after, seconds};
use crate::policy::Policy;
use crate::store::{Change, Charge};
use crate::verdict::{Hit, Verdict};

impl Suite<'_> {
    pub(super) async fn a_bucket_refills_to_the_tick(&self) {
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

    pub(super) async fn a_bucket_is_asked_without_taking(&self) {
        let (key, policy) = (fresh_key(), Policy::token_bucket(2, seconds(10)));
        assert_eq!(remaining(self.peek(key, policy).await), Some(2));
        assert_eq!(hit(self.acquire(key, policy, 0).await), Hit::NONE, "nothing is missing");
        let first = hit(self.acquire(key, policy, 1).await);
        let second = hit(self.acquire(key, policy, 1).await);
        assert!(second > first && first > Hit::NONE);
        assert_eq!(
            hit(self.acquire(key, policy, 0).await),
            second,
            "a charge of nothing always fits"
        );
        assert_eq!(retry_after(self.peek(key, policy).await), Some(10 * SECOND));
        self.clock.advance(seconds(10));
        assert_eq!(remaining(self.peek(key, policy).await), Some(1));
        assert_eq!(remaining(self.acquire(key, policy, 1).await), Some(0));
        let nothing = Policy::token_bucket(0, seconds(10));
        assert_eq!(self.acquire(key, nothing, 1).await, Verdict::Impossible { which: 0 });
        assert_eq!(self.peek(key, nothing).await, Verdict::Impossible { which: 0 });
    }

    pub(super) async fn a_bucket_settles(&self) {
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

    pub(super) async fn a_bucket_keeps_what_is_missing_when_its_numbers_change(&self) {
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
        assert_eq!(
            retry_after(self.acquire(key, slower, 1).await),
            Some(50 * SECOND),
            "what is missing comes back at the faster of the two refills"
        );
        let smaller = Policy::token_bucket(1, seconds(100));
        assert_eq!(
            retry_after(self.acquire(key, smaller, 1).await),
            Some(50 * SECOND),
            "a smaller bucket sees no more missing than it has"
        );
        let larger = Policy::token_bucket(5, seconds(50));
        assert_eq!(
            remaining(self.peek(key, larger).await),
            Some(2),
            "and forgives nothing to a larger one"
        );
        self.clock.step_back(seconds(3_600));
        let wait = retry_after(self.acquire(key, smaller, 1).await).expect("a step back gives nothing");
        assert!(
            wait <= 100 * SECOND,
            "nor locks out for longer than an empty bucket: {wait}"
        );
    }

    pub(super) async fn a_bucket_goes_by_the_time_of_the_event(&self) {
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

    /// A store may lose track of a hit when the refill changes, and then the client stays charged: it gains nothing by it.
    pub(super) async fn a_bucket_is_settled_after_its_policy_changed(&self) {
        let (before, after) = (
            Policy::token_bucket(5, seconds(50)),
            Policy::token_bucket(5, seconds(25)),
        );
        for change in [|hit| Change::Refund { hit, cost: 2 }, |hit| Change::Reset { upto: hit }] {
            let key = fresh_key();
            let charged = hit(self.acquire(key, before, 2).await);
            hit(self.acquire(key, after, 1).await);
            self.settle(key, before, change(charged)).await;
            let left = remaining(self.peek(key, after).await).expect("it fits");
            assert!(
                [2, 4].contains(&left),
                "of 5 that lack 3, of which 2 may be given back: {left}"
            );
            // Not twice.
            self.settle(key, before, change(charged)).await;
            let left = remaining(self.peek(key, after).await).expect("it fits");
            assert!(left <= 4, "what came later stays charged: {left}");
        }
    }

    /// Tokens of a microsecond, given back once each is worth a century.
    pub(super) async fn f_18_an_extreme_reload_overflows_nothing(&self) {
        let tiny = Policy::token_bucket(Policy::MAX_COUNT, Duration::from_micros(1));
        let huge = Policy::token_bucket(1, Policy::MAX_WINDOW);
        for change in [
            |hit| Change::Refund {
                hit,
                cost: Policy::MAX_COUNT,
            },
            |hit| Change::Reset { upto: hit },
        ] {
            let key = fresh_key();
            let charged = hit(self.acquire(key, tiny, Policy::MAX_COUNT).await);
            let whole = Policy::MAX_WINDOW.as_micros() as u64;
            let wait = retry_after(self.acquire(key, huge, 1).await).expect("as many are missing");
            assert!(wait <= whole, "{wait}");
            self.clock.advance(seconds(10));
            hit(self.acquire(key, huge, 1).await);
            self.settle(key, tiny, change(charged)).await;
            assert_eq!(
                retry_after(self.acquire(key, huge, 1).await),
                Some(whole),
                "its own is missing"
            );
            hit(self.acquire(key, tiny, 1).await);
        }
    }
}
