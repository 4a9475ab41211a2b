//! The fixed window.

use std::time::Duration;

use super::{SECOND, Suite, fresh_key, hit, remaining, retry_after, seconds};
use crate::policy::Policy;

impl Suite<'_> {
    pub(super) async fn a_fixed_window_ends_at_its_multiple(&self) {
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

    pub(super) async fn a_fixed_window_settles_within_itself(&self) {
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
}
