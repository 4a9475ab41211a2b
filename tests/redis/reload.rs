//! New numbers for counters that are there, by `Limiter::set_policies`, in both stores.

use std::time::Duration;

use rate_limit::{Limiter, ManualClock, Policies, Policy, Rejection, limit_per_time};

use crate::common::both_turned_by;
use crate::support::RedisServer;

#[limit_per_time(policy = "read", key = user)]
async fn read(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

const fn window(count: u32, seconds: u64) -> Policy {
    Policy::sliding_window(count, Duration::from_secs(seconds))
}

const fn bucket(capacity: u32, refill: u64) -> Policy {
    Policy::token_bucket(capacity, Duration::from_secs(refill))
}

const fn fixed(count: u32) -> Policy {
    Policy::fixed_window(count, Duration::from_secs(60))
}

/// How many calls are admitted under this policy from now on, and how many seconds the next one has to wait.
async fn drain(limiter: &Limiter, policy: Policy) -> (u32, u64) {
    let policies = Policies::new().with("read", policy);
    limiter.set_policies(policies).expect("it is all that is asked for");
    let mut admitted = 0;
    loop {
        match limiter.scope(read(1)).await {
            Ok(_) => admitted += 1,
            Err(refused) => return (admitted, refused.retry_after().expect("the limit is reached").as_secs()),
        }
    }
}

#[tokio::test]
async fn a_reload_loses_no_count() {
    let server = RedisServer::start();
    let clock = ManualClock::new();
    for limiter in both_turned_by(&clock, &server).await {
        for (policy, then) in [
            (bucket(3, 50), (3, 50)),
            (bucket(3, 25), (0, 25)),
            (bucket(3, 50), (0, 50)),
            (bucket(10, 50), (7, 50)),
            (bucket(3, 50), (0, 50)),
            // Another algorithm starts anew.
            (window(3, 60), (3, 60)),
            (window(2, 60), (0, 60)),
            (window(5, 60), (2, 60)),
            (window(5, 600), (0, 600)),
            (window(5, 30), (0, 30)),
            // Above the length of a list.
            (window(200, 60), (195, 60)),
            (window(5, 60), (0, 60)),
        ] {
            assert_eq!(drain(&limiter, policy).await, then, "{limiter:?}, {policy:?}");
        }
        assert_eq!(drain(&limiter, fixed(3)).await.0, 3);
        assert_eq!(drain(&limiter, fixed(5)).await.0, 2);
        assert_eq!(drain(&limiter, fixed(4)).await.0, 0);
    }
}

/// A reload of one bad minute forgives nothing.
#[tokio::test]
async fn f_42_numbers_that_were_wrong_for_a_minute_forgive_nothing() {
    let server = RedisServer::start();
    let clock = ManualClock::new();
    for limiter in both_turned_by(&clock, &server).await {
        for count in [5, 200] {
            assert_eq!(drain(&limiter, window(count, 600)).await.0, count);
            clock.advance(Duration::from_secs(2));
            assert_eq!(drain(&limiter, window(count, 1)).await.0, count, "{limiter:?}");
            clock.advance(Duration::from_secs(2));
            assert_eq!(drain(&limiter, window(1, 1)).await.0, 1);
            clock.advance(Duration::from_secs(2));
            assert_eq!(drain(&limiter, window(count, 600)).await.0, 0, "{limiter:?}");
            clock.advance(Duration::from_secs(1_200));
        }
    }
}
