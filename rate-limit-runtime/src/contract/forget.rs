//! A client who is to be forgotten.

use super::{Suite, fresh_key, hit, remaining, retry_after, seconds};
use crate::key::Key;
use crate::method::Method;
use crate::policy::Policy;

impl Suite<'_> {
    /// He has a counter by each policy, at two functions. Each policy admits one call.
    pub(super) async fn a_client_is_forgotten_everywhere<const N: usize>(&self, policies: [Policy; N]) {
        let (client, other) = (fresh_key().client(), fresh_key());
        let mut counters = Vec::new();
        for method in ["contract", "contract::forget"] {
            for (place, policy) in (0..).zip(policies) {
                let key = Key::new(Method::named(method), client).counted_by(policy.algorithm(), place);
                counters.push((key, policy));
            }
        }
        for (key, policy) in counters.iter().copied().chain([(other, policies[0])]) {
            hit(self.acquire(key, policy, 1).await);
        }
        assert_eq!(
            self.forget(client).await,
            counters.len() as u64,
            "it tells how many counters there were"
        );
        for (key, policy) in counters {
            assert_eq!(remaining(self.peek(key, policy).await), Some(1), "{policy}");
        }
        assert_eq!(self.forget(client).await, 0, "nothing is left");
        assert!(
            retry_after(self.peek(other, policies[0]).await).is_some(),
            "another client is not forgotten"
        );
    }

    pub(super) async fn a_client_is_forgotten_with_his_block(&self) {
        let (key, policy) = (fresh_key(), Policy::sliding_window(1, seconds(10)).block(seconds(60)));
        hit(self.acquire(key, policy, 1).await);
        assert!(retry_after(self.acquire(key, policy, 1).await).is_some());
        assert!(self.forget(key.client()).await > 0);
        assert_eq!(remaining(self.acquire(key, policy, 1).await), Some(0));
    }
}
