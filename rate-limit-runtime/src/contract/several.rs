//! Several charges of one call, and several keys.

use std::time::Duration;

use super::{SECOND, Suite, fresh_key, hit, remaining, retry_after, seconds};
use crate::key::Key;
use crate::method::Method;
use crate::policy::Policy;
use crate::store::{Change, Charge};
use crate::verdict::{Hit, Verdict};

impl Suite<'_> {
    /// `policy` admits one.
    pub(super) async fn keys_do_not_meet(&self, policy: Policy) {
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

    pub(super) async fn several_charges_are_all_or_none(&self) {
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

    pub(super) async fn several_buckets_are_all_or_none(&self) {
        let rules = [
            (fresh_key(), Policy::token_bucket(1, seconds(10))),
            (fresh_key(), Policy::token_bucket(10, seconds(60))),
            (fresh_key(), Policy::token_bucket(1, seconds(500))),
        ];
        let charges = |order: &[usize]| -> Vec<Charge> {
            order.iter().map(|n| Charge::new(rules[*n].0, rules[*n].1, 1)).collect()
        };
        let Verdict::Allowed { tightest, hits, .. } = self.acquire_all(&charges(&[0, 1])).await else {
            panic!("both have room");
        };
        assert_eq!((tightest, hits.len()), (0, 2), "the tightest rule tells what remains");
        for order in [[0, 1], [1, 0]] {
            let verdict = self.acquire_all(&charges(&order)).await;
            let Verdict::Denied {
                longest, retry_after, ..
            } = verdict
            else {
                panic!("one rule refuses, so the call is refused: {verdict:?}");
            };
            assert_eq!((order[longest], retry_after), (0, 10 * SECOND));
        }
        let (all_key, all) = rules[1];
        assert_eq!(
            remaining(self.peek(all_key, all).await),
            Some(9),
            "a refused call charges no rule"
        );
        hit(self.acquire(rules[2].0, rules[2].1, 1).await);
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
            let Verdict::Denied {
                longest, retry_after, ..
            } = self.acquire_all(&charges(&order)).await
            else {
                panic!("two refuse");
            };
            assert_eq!(
                (order[longest], retry_after),
                (2, 500 * SECOND),
                "the longest wait is told"
            );
        }
        let above = [Charge::new(fresh_key(), all, 1), Charge::new(all_key, all, 11)];
        assert_eq!(self.acquire_all(&above).await, Verdict::Impossible { which: 1 });
    }

    /// `policies` admit one and five.
    pub(super) async fn an_observing_charge_never_refuses(&self, policies: [Policy; 2]) {
        let (key, policy) = (fresh_key(), policies[0]);
        let other = (fresh_key(), policies[1]);
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

    /// The policies `alike` have the same count. The second one has the longer window or refill, so its counter takes longer
    /// to be empty again.
    pub(super) async fn f_22_of_equals_the_one_with_the_longest_wait_is_told(&self, alike: [Policy; 2]) {
        let (short, long) = (fresh_key(), fresh_key());
        let charges = [Charge::new(short, alike[0], 1), Charge::new(long, alike[1], 1)];
        let turned = [charges[1], charges[0]];
        for (charges, second) in [(charges, 1), (turned, 0)] {
            match self.acquire_all(&charges).await {
                Verdict::Allowed { tightest, .. } => assert_eq!(tightest, second, "both leave as much"),
                refused => panic!("both have room, but the verdict is {refused:?}"),
            }
        }
    }

    /// `policy` admits 10.
    pub(super) async fn f_22_a_refusal_tells_what_is_left(&self, policy: Policy) {
        let key = fresh_key();
        hit(self.acquire(key, policy, 8).await);
        for (cost, left) in [(5, 2), (3, 2)] {
            match self.acquire(key, policy, cost).await {
                Verdict::Denied { remaining, .. } => assert_eq!(remaining, left, "{policy}: a lighter call would fit"),
                other => panic!("{cost} do not fit, but the verdict is {other:?}"),
            }
        }
        hit(self.acquire(key, policy, 2).await);
        match self.acquire(key, policy, 1).await {
            Verdict::Denied { remaining, .. } => assert_eq!(remaining, 0, "{policy}"),
            other => panic!("none is left, but the verdict is {other:?}"),
        }
    }
}
