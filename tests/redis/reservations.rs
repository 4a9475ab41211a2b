//! Rules of one call whose counters lie in several slots of a cluster: what is reserved in one slot for a call that another one refuses.

use std::future::Future as _;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use rate_limit::{Limiter, Policy, RedisStore, Rule};
use tokio::time::sleep;

use crate::common::{PATIENT, admits, is_admitted, key, ms, remaining, strict};
use crate::support::RedisCluster;

const TEN_MINUTES: Duration = Duration::from_secs(600);

fn by(count: u32, client: &str) -> Rule {
    Rule::new(Policy::sliding_window(count, TEN_MINUTES), key(client))
}

async fn over(cluster: &RedisCluster, deny_cache: Duration) -> Limiter {
    let store = RedisStore::builder(&format!("redis-cluster://{}", cluster.addresses()));
    let store = store.deadline(PATIENT).deny_cache(deny_cache).connect().await;
    strict(store.expect("the cluster takes us"))
}

/// A user, and an address in another slot whose limit is used up.
async fn used_up(limiter: &Limiter, number: usize) -> [Rule; 2] {
    let rules = [by(10, &format!("address {number}")), by(5, &format!("user {number}"))];
    for _ in 0..10 {
        assert!(admits(limiter, rules[0]).await);
    }
    rules
}

/// Polls a call so often, with time for the server in between, and drops it. Returns `true` if it was over before.
async fn dropped_after(polls: usize, limiter: &Limiter, rules: &[Rule]) -> bool {
    let mut call = pin!(limiter.check_all(rules));
    for _ in 0..polls {
        if let Poll::Ready(answer) = call.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            assert!(!is_admitted(answer), "the address is used up");
            return true;
        }
        sleep(Duration::from_micros(300)).await;
    }
    false
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f_02_a_refused_call_that_is_dropped_at_any_poll_leaves_nothing_reserved() {
    let cluster = RedisCluster::start();
    // `F_02_DROPS=10000` for the figure that a release is measured by.
    let drops = std::env::var("F_02_DROPS").map_or(600, |drops| drops.parse().expect("it is a number"));
    for (round, deny_cache) in [Duration::ZERO, ms(1)].into_iter().enumerate() {
        let limiter = over(&cluster, deny_cache).await;
        let (mut dropped, mut number, mut left_over) = (0, 100_000 * round, 0);
        while dropped < drops {
            let rules = used_up(&limiter, number).await;
            for polls in 0..20 {
                dropped += 1;
                if dropped_after(polls, &limiter, &rules).await {
                    break;
                }
            }
            limiter.drain().await;
            left_over += 5 - remaining(&limiter, rules[1]).await;
            number += 1;
        }
        println!("F-02: {dropped} drops, {left_over} hits left over");
        assert_eq!(left_over, 0, "deny cache of {deny_cache:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f_02_refused_calls_in_flight_lock_nobody_out() {
    let cluster = RedisCluster::start();
    for (number, deny_cache) in [Duration::ZERO, Duration::from_secs(1)].into_iter().enumerate() {
        let limiter = over(&cluster, deny_cache).await;
        let attack = used_up(&limiter, 5_000 + number).await;
        let goes_on = Arc::new(AtomicBool::new(true));
        let refused = Arc::new(AtomicU64::new(0));
        let attackers: Vec<_> = (0..32)
            .map(|_| {
                let (limiter, goes_on, refused) = (limiter.clone(), Arc::clone(&goes_on), Arc::clone(&refused));
                tokio::spawn(async move {
                    while goes_on.load(Ordering::Relaxed) {
                        assert!(!is_admitted(limiter.check_all(&attack).await));
                        refused.fetch_add(1, Ordering::Relaxed);
                        tokio::task::yield_now().await;
                    }
                })
            })
            .collect();
        // The user logs in from another address, and each success is given back.
        let own = [by(1_000, "another address"), attack[1]];
        let mut locked_out = 0;
        for _ in 0..170 {
            match limiter.check_all(&own).await {
                Ok(permit) => permit.refund().await.expect("it is given back"),
                Err(_) => locked_out += 1,
            }
            sleep(ms(3)).await;
        }
        goes_on.store(false, Ordering::Relaxed);
        for attacker in attackers {
            attacker.await.expect("it was refused each time");
        }
        let refused = refused.load(Ordering::Relaxed);
        println!("F-02: {locked_out} of 170 logins refused beside {refused} refused calls, deny cache {deny_cache:?}");
        assert!(refused > 1_000, "{refused}");
        assert!(
            locked_out <= 2,
            "{locked_out} of 170 with a deny cache of {deny_cache:?}"
        );
    }
}
