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

mod backlog;
mod block;
mod dropped;
mod fixed_window;
mod forget;
mod ledger;
mod runtimes;
mod several;
mod sliding_window;
mod token_bucket;
mod two_policies;
mod wall_clock;

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Poll;
use std::time::Duration;

pub use self::backlog::check_backlog;
pub use self::dropped::check_dropped_futures;
pub use self::ledger::Ledger;
pub use self::runtimes::{Runtimes, check_runtimes};
pub use self::two_policies::{TwoPolicies, check_policies, check_two_policies};
pub use self::wall_clock::check_wall_clock;
use crate::clock::ManualClock;
use crate::key::{Client, Key};
use crate::method::Method;
use crate::policy::{Algorithm, Policy};
use crate::store::{Change, Charge, Settlement, Store};
use crate::verdict::{Hit, Verdict};

const SECOND: u64 = 1_000_000;
/// Calls by two policies in the suite.
const TWO_POLICIES: u64 = 2_000;

/// Runs the whole suite against an empty store that decides by `clock`, but for what goes by no clock:
/// [`check_dropped_futures`] and [`check_runtimes`].
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
    suite
        .a_reset_of_all_forgets_all(Policy::sliding_window(3, seconds(60)))
        .await;
    suite.keys_do_not_meet(Policy::sliding_window(1, seconds(60))).await;
    suite
        .a_client_is_forgotten_everywhere([
            Policy::sliding_window(1, seconds(60)),
            Policy::token_bucket(1, seconds(60)),
            Policy::fixed_window(1, seconds(60)),
        ])
        .await;
    suite.a_client_is_forgotten_with_his_block().await;
    suite.a_lowered_limit_counts_what_was_admitted().await;
    suite.a_raised_limit_keeps_what_was_admitted().await;
    suite.a_longer_window_keeps_what_was_admitted().await;
    suite.f_42_a_longer_window_is_kept_for_as_long_as_it_counts().await;
    suite.a_window_is_settled_after_its_policy_changed().await;
    suite.a_clock_that_steps_back_locks_out_for_one_window_at_most().await;
    suite.a_hit_from_the_future_names_nothing().await;
    suite.the_times_of_the_hits_that_count_are_told().await;
    suite.a_refund_takes_back_one_hit().await;
    suite.a_block_begins_once_and_lasts_its_time().await;
    suite.a_shorter_block_cuts_no_longer_one_short().await;
    suite.a_policy_without_a_block_keeps_that_of_another().await;
    suite.a_reset_ends_a_block().await;
    suite.buckets().await;
    suite.a_fixed_window_ends_at_its_multiple().await;
    suite.a_fixed_window_settles_within_itself().await;
    suite.several_charges_are_all_or_none().await;
    let windows = [1, 5].map(|count| Policy::sliding_window(count, seconds(10)));
    suite.an_observing_charge_never_refuses(windows).await;
    let windows = [10, 20].map(|window| Policy::sliding_window(5, seconds(window)));
    suite
        .f_22_of_equals_the_one_with_the_longest_wait_is_told(windows)
        .await;
    for policy in [
        Policy::sliding_window(10, seconds(60)),
        Policy::fixed_window(10, seconds(600)),
    ] {
        suite.f_22_a_refusal_tells_what_is_left(policy).await;
    }
    for algorithm in [Algorithm::SlidingWindow, Algorithm::FixedWindow, Algorithm::TokenBucket] {
        check_two_policies(store, clock, algorithm, TWO_POLICIES).await;
    }
}

/// Runs the part of the suite that is about token buckets, for a store that [accepts](Store::accepts) nothing else.
///
/// # Panics
///
/// As [`check`].
pub async fn check_token_buckets(store: &dyn Store, clock: &ManualClock) {
    let suite = Suite { store, clock };
    suite.buckets().await;
    suite
        .a_reset_of_all_forgets_all(Policy::token_bucket(3, seconds(60)))
        .await;
    suite.keys_do_not_meet(Policy::token_bucket(1, seconds(60))).await;
    suite
        .a_client_is_forgotten_everywhere([10, 60].map(|refill| Policy::token_bucket(1, seconds(refill))))
        .await;
    let buckets = [1, 5].map(|capacity| Policy::token_bucket(capacity, seconds(10)));
    suite.an_observing_charge_never_refuses(buckets).await;
    check_two_policies(store, clock, Algorithm::TokenBucket, TWO_POLICIES).await;
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

/// Lets time go by, which the clock of a store need not follow.
async fn pause(time: Duration) {
    let pause = tokio::task::spawn_blocking(move || std::thread::sleep(time));
    pause.await.expect("it ends");
}

/// Waits for all of them at once.
async fn all<F: Future + Unpin>(mut futures: Vec<F>) -> Vec<F::Output>
where
    F::Output: Unpin,
{
    let mut answers: Vec<Option<F::Output>> = futures.iter().map(|_| None).collect();
    poll_fn(|context| {
        for (future, answer) in futures.iter_mut().zip(&mut answers) {
            if answer.is_none()
                && let Poll::Ready(ready) = Pin::new(future).poll(context)
            {
                *answer = Some(ready);
            }
        }
        match answers.iter().all(Option::is_some) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
    answers.into_iter().flatten().collect()
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
    async fn buckets(&self) {
        self.a_bucket_refills_to_the_tick().await;
        self.a_bucket_is_asked_without_taking().await;
        self.a_bucket_settles().await;
        self.a_bucket_keeps_what_is_missing_when_its_numbers_change().await;
        self.a_bucket_goes_by_the_time_of_the_event().await;
        check_backlog(self.store, self.clock, 3, async || ()).await;
        self.a_bucket_is_settled_after_its_policy_changed().await;
        self.f_18_an_extreme_reload_overflows_nothing().await;
        self.several_buckets_are_all_or_none().await;
        let alike = [10, 20].map(|refill| Policy::token_bucket(5, seconds(refill)));
        self.f_22_of_equals_the_one_with_the_longest_wait_is_told(alike).await;
        self.f_22_a_refusal_tells_what_is_left(Policy::token_bucket(10, seconds(60)))
            .await;
    }

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

    async fn inspect(&self, key: Key, policy: Policy) -> Vec<u64> {
        self.store.inspect(key, policy).await.expect("the store tells")
    }

    async fn settle(&self, key: Key, policy: Policy, change: Change) {
        let settlement = Settlement::new(key, policy, change);
        self.store.settle(&[settlement]).await.expect("the store settles");
    }

    async fn forget(&self, client: Client) -> u64 {
        self.store.forget(client).await.expect("the store forgets a client")
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
}
