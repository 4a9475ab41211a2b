//! What a key weighs in the server, beside the sorted set that the student portal kept: a member for each attempt, by a unique id.

use rate_limit::Policy;
use rate_limit::Rule;

use crate::common::{key, limiter};
use crate::probe::Probe;
use crate::support::RedisServer;

async fn bytes(probe: &Probe, key: &str) -> u64 {
    probe.ask(&format!("MEMORY USAGE {key} SAMPLES 0")).await
}

/// The sorted set of as many attempts, each with its time and a member of its own.
async fn sorted_set(probe: &Probe, hits: u32) -> u64 {
    let name = format!("sorted:{hits}");
    for first in (0..hits).step_by(500) {
        let members: Vec<String> = (first..hits.min(first + 500))
            .map(|hit| {
                format!(
                    "{} {}",
                    1_753_000_000_000_u64 + u64::from(hit),
                    uuid::Uuid::new_v4().simple()
                )
            })
            .collect();
        let _: u64 = probe.ask(&format!("ZADD {name} {}", members.join(" "))).await;
    }
    bytes(probe, &name).await
}

/// By what part of the sorted set a key may weigh, in percent.
#[tokio::test]
async fn red_19_a_key_weighs_a_part_of_a_sorted_set_and_refusals_nothing() {
    for (hits, percent) in [(5, 75), (100, 50), (1_000, 10), (10_000, 10)] {
        let server = RedisServer::start();
        let probe = Probe::of(&server).await;
        let limiter = limiter(&server).await;
        let rule = Rule::new(Policy::sliding_window(hits, Policy::MAX_WINDOW), key("a"));
        for _ in 0..hits {
            limiter.check(rule).await.expect("it fits");
        }
        let name = probe.key().await;
        let ours = bytes(&probe, &name).await;
        let original = sorted_set(&probe, hits).await;
        println!(
            "RED-19 {hits} hits: {ours} bytes, a sorted set {original}: {:.3}",
            ours as f64 / original as f64
        );
        assert!(
            ours * 100 <= original * percent,
            "{hits} hits: {ours} of {original} bytes"
        );
        for _ in 0..1_000 {
            assert!(limiter.check(rule).await.expect_err("it is full").is_limited());
        }
        assert_eq!(bytes(&probe, &name).await, ours, "a refusal weighs nothing");
    }
}
