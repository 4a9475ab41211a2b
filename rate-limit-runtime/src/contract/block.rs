//! Blocks.

use super::{SECOND, Suite, fresh_key, hit, remaining, retry_after, seconds};
use crate::policy::Policy;
use crate::store::Change;

impl Suite<'_> {
    pub(super) async fn a_block_begins_once_and_lasts_its_time(&self) {
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

    pub(super) async fn a_shorter_block_cuts_no_longer_one_short(&self) {
        for policy in [
            Policy::sliding_window(1, seconds(10)),
            Policy::token_bucket(1, seconds(10)),
            Policy::fixed_window(1, seconds(10)),
        ] {
            let (key, long, short) = (fresh_key(), policy.block(seconds(300)), policy.block(seconds(60)));
            hit(self.acquire(key, long, 1).await);
            assert_eq!(retry_after(self.acquire(key, long, 1).await), Some(300 * SECOND));
            self.clock.advance(seconds(100));
            hit(self.acquire(key, short, 1).await);
            assert_eq!(retry_after(self.acquire(key, short, 1).await), Some(60 * SECOND));
            self.clock.advance(seconds(100));
            assert_eq!(retry_after(self.acquire(key, long, 1).await), Some(100 * SECOND));
            assert_eq!(remaining(self.acquire(key, short, 1).await), Some(0));
            self.clock.advance(seconds(100));
            hit(self.acquire(key, long, 1).await);
        }
    }

    /// A counter that two policies judge, of which one blocks: no call of the other ends its block.
    pub(super) async fn a_policy_without_a_block_keeps_that_of_another(&self) {
        for (policy, larger) in [
            (
                Policy::sliding_window(2, seconds(10)),
                Policy::sliding_window(9, seconds(10)),
            ),
            (
                Policy::sliding_window(200, seconds(10)),
                Policy::sliding_window(900, seconds(10)),
            ),
            (Policy::token_bucket(2, seconds(5)), Policy::token_bucket(9, seconds(5))),
            (
                Policy::fixed_window(2, seconds(10)),
                Policy::fixed_window(9, seconds(10)),
            ),
        ] {
            let (key, blocking) = (fresh_key(), policy.block(seconds(100)));
            hit(self.acquire(key, blocking, policy.count()).await);
            assert_eq!(retry_after(self.acquire(key, blocking, 1).await), Some(100 * SECOND));
            let first = hit(self.acquire(key, larger, 1).await);
            self.settle(key, larger, Change::Refund { hit: first, cost: 1 }).await;
            assert_eq!(retry_after(self.peek(key, blocking).await), Some(100 * SECOND));
            for passed in 1..10 {
                self.clock.advance(seconds(10));
                let _ = self.acquire(key, larger, 1).await;
                let left = (100 - 10 * passed) * SECOND;
                assert_eq!(retry_after(self.acquire(key, blocking, 1).await), Some(left));
            }
            // Whoever meets it first after the clock stepped back puts it right.
            self.clock.step_back(seconds(3_600));
            let _ = self.acquire(key, larger, 1).await;
            self.clock.advance(seconds(60));
            assert_eq!(retry_after(self.acquire(key, blocking, 1).await), Some(40 * SECOND));
            self.clock.advance(seconds(40));
            let upto = hit(self.acquire(key, blocking, 1).await);
            assert!(retry_after(self.acquire(key, blocking, policy.count()).await).is_some());
            self.reset(key, larger, upto).await;
            hit(self.acquire(key, blocking, policy.count()).await);
        }
    }

    pub(super) async fn a_reset_ends_a_block(&self) {
        let (key, policy) = (fresh_key(), Policy::sliding_window(1, seconds(10)).block(seconds(60)));
        let first = hit(self.acquire(key, policy, 1).await);
        assert_eq!(retry_after(self.acquire(key, policy, 1).await), Some(60 * SECOND));
        self.reset(key, policy, first).await;
        assert_eq!(remaining(self.acquire(key, policy, 1).await), Some(0));
        assert!(retry_after(self.acquire(key, policy, 1).await).is_some());
        self.settle(key, policy, Change::Clear).await;
        assert_eq!(remaining(self.acquire(key, policy, 1).await), Some(0));
    }
}
