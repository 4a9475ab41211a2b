//! Events that come long after they happened.

use std::time::Duration;

use super::{SECOND, fresh_key};
use crate::clock::ManualClock;
use crate::policy::Policy;
use crate::store::{Charge, Store};
use crate::verdict::Verdict;

/// Checks that events which come late are limited as they would have been in time, by a bucket of 3
/// that gains a token each 50 s.
///
/// Each of `members` clients reads 40 times in 40 s, and the store is told at once, a second less
/// than a day later, a second more, 25 hours later and two days later. `keep_house` is called
/// between the reads, to sweep or purge the store. 3 reads of each client count.
///
/// Returns how many reads were counted in all.
///
/// # Panics
///
/// If more or less is counted; the message says how late.
pub async fn check_backlog(store: &dyn Store, clock: &ManualClock, members: usize, keep_house: impl AsyncFn()) -> u64 {
    const DAY: u64 = 86_400 * SECOND;
    const READS: u64 = 40;
    let policy = Policy::token_bucket(3, Duration::from_secs(50));
    let mut all = 0;
    for age in [0, DAY - SECOND, DAY + SECOND, 25 * 3_600 * SECOND, 2 * DAY] {
        clock.advance(Duration::from_micros(3 * DAY));
        let keys: Vec<_> = (0..members).map(|_| fresh_key()).collect();
        let begin = clock.now() - age;
        let mut counted = 0;
        for read in 0..READS {
            for key in &keys {
                let charge = Charge {
                    at: Some(begin + read * SECOND),
                    ..Charge::new(*key, policy, 1)
                };
                let verdict = store.acquire(&[charge]).await.expect("the store decides");
                counted += u64::from(matches!(verdict, Verdict::Allowed { .. }));
            }
            if read % 8 == 7 {
                keep_house().await;
            }
            // In time, or as fast as a backlog is worked off, with a pause of hours.
            let on = match (age, read) {
                (0, _) => SECOND,
                (_, 20) => 12 * 3_600 * SECOND,
                _ => SECOND / 100,
            };
            clock.advance(Duration::from_micros(on));
        }
        assert_eq!(
            counted,
            3 * members as u64,
            "reads of {} s ago are counted",
            age / SECOND
        );
        all += counted;
    }
    all
}
