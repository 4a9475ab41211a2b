//! The bytes of buckets, fixed windows and blocks are pinned: a change of them forgets every counter of a running deployment.

use std::time::{Duration, UNIX_EPOCH};

use rate_limit::{Algorithm, ManualClock, Policy, Rule};

use crate::common::{admits, key, turned_by, wait};
use crate::probe::{Probe, number};
use crate::support::RedisServer;

const SECOND: u64 = 1_000_000;
/// 0x0006_3A5E_7C3D_4240: each byte another, as long as the times of today.
const NOW: u64 = 1_753_000_000_000_000;

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// The tag, and numbers of 7 bytes.
fn read(value: &[u8]) -> (char, Vec<u64>) {
    assert_eq!(value.len() % 7, 1, "{}", value.escape_ascii());
    (char::from(value[0]), value[1..].chunks(7).map(number).collect())
}

fn at(now: u64) -> ManualClock {
    let clock = ManualClock::new();
    clock.advance(Duration::from_micros(now - clock.now()));
    clock
}

#[tokio::test]
async fn the_value_of_a_bucket_is_pinned() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let clock = at(NOW);
    let limiter = turned_by(&clock, &server).await;
    let rule = Rule::new(Policy::token_bucket(5, seconds(50)), key("a"));
    let first = limiter.check(rule.cost(2)).await.expect("it fits");
    let key = probe.key().await;
    let bytes = probe.value(&key).await;
    let expected = [
        &b"b"[..],
        &(NOW + 100 * SECOND).to_le_bytes()[..7],
        &(50 * SECOND).to_le_bytes()[..7],
        &(NOW + 2).to_le_bytes()[..7],
        &NOW.to_le_bytes()[..7],
    ];
    assert_eq!(bytes, expected.concat());

    clock.advance(seconds(30));
    assert!(admits(&limiter, rule).await);
    let value = read(&probe.value(&key).await);
    let later = NOW + 30 * SECOND;
    assert_eq!(value, ('b', vec![NOW + 150 * SECOND, 50 * SECOND, NOW + 3, later]));
    first.refund().await.expect("the store answers");
    let value = read(&probe.value(&key).await);
    assert_eq!(value, ('b', vec![NOW + 80 * SECOND, 50 * SECOND, NOW + 3, later]));
    let faster = Rule::new(Policy::token_bucket(5, seconds(25)), crate::common::key("a"));
    assert!(admits(&limiter, faster.cost(3)).await);
    let value = read(&probe.value(&key).await);
    assert_eq!(value, ('b', vec![NOW + 130 * SECOND, 25 * SECOND, NOW + 6, later]));
}

#[tokio::test]
async fn the_value_of_a_bucket_whose_events_have_a_time_is_pinned() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let clock = at(NOW);
    let limiter = turned_by(&clock, &server).await;
    let rule = Rule::new(Policy::token_bucket(5, seconds(50)), key("a"));
    let an_hour_ago = UNIX_EPOCH + Duration::from_micros(NOW) - seconds(3_600);
    assert!(admits(&limiter, rule.at(an_hour_ago)).await);
    let value = read(&probe.value(&probe.key().await).await);
    assert_eq!(value, ('e', vec![NOW - 3_550 * SECOND, 50 * SECOND, NOW + 1, NOW]));
    // It stays one that others may come late to.
    assert!(admits(&limiter, rule).await);
    let value = read(&probe.value(&probe.key().await).await);
    assert_eq!(value, ('e', vec![NOW + 50 * SECOND, 50 * SECOND, NOW + 2, NOW]));
}

#[tokio::test]
async fn the_value_of_a_fixed_window_is_pinned() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let clock = at(NOW);
    let limiter = turned_by(&clock, &server).await;
    let rule = Rule::new(Policy::fixed_window(5, seconds(600)), key("a"));
    let end = NOW - NOW % (600 * SECOND) + 600 * SECOND;
    let first = limiter.check(rule.cost(2)).await.expect("it fits");
    let key = probe.key().await;
    let bytes = probe.value(&key).await;
    let expected = [
        &b"f"[..],
        &(NOW + 2).to_le_bytes()[..7],
        &NOW.to_le_bytes()[..7],
        &(600 * SECOND).to_le_bytes()[..7],
        &end.to_le_bytes()[..7],
        &NOW.to_le_bytes()[..7],
        &2_u64.to_le_bytes()[..7],
    ];
    assert_eq!(bytes, expected.concat());

    let second = limiter.check(rule).await.expect("it fits");
    let window = 600 * SECOND;
    let counted = |total, base, used| ('f', vec![total, NOW, window, end, base, used]);
    assert_eq!(read(&probe.value(&key).await), counted(NOW + 3, NOW, 3));
    first.reset().await.expect("the store answers");
    assert_eq!(read(&probe.value(&key).await), counted(NOW + 3, NOW + 2, 1));
    second.refund().await.expect("the store answers");
    assert_eq!(read(&probe.value(&key).await), counted(NOW + 3, NOW + 2, 0));
    clock.advance(Duration::from_micros(end - NOW));
    assert!(admits(&limiter, rule).await);
    assert_eq!(
        read(&probe.value(&key).await),
        ('f', vec![end + 1, end, window, end + window, end, 1]),
        "ids begin at the time again"
    );
}

#[tokio::test]
async fn the_value_behind_a_block_is_pinned() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let clock = at(NOW);
    let limiter = turned_by(&clock, &server).await;
    let policies = [
        Policy::sliding_window(1, seconds(600)),
        Policy::token_bucket(1, seconds(600)),
        Policy::fixed_window(1, seconds(86_400)),
    ];
    for policy in policies {
        assert!(admits(&limiter, Rule::new(policy, key("a"))).await);
        let counter = probe.key().await;
        let own = probe.value(&counter).await;
        limiter.reset(key("a")).await.expect("the store answers");

        let rule = Rule::new(policy.block(seconds(3_600)), key("a"));
        let permit = limiter.check(rule).await.expect("it fits");
        assert_eq!(probe.key().await, counter);
        assert_eq!(probe.value(&counter).await, [&b"t"[..], &[0; 14], &own].concat());
        assert_eq!(wait(&limiter, rule).await, seconds(3_600).max(until_it_fits(policy)));
        let until = (NOW + 3_600 * SECOND).to_le_bytes();
        let block = [&b"t"[..], &until[..7], &NOW.to_le_bytes()[..7]].concat();
        assert_eq!(probe.value(&counter).await, [&block[..], &own].concat());
        assert_eq!(probe.key().await, counter);
        permit.refund().await.expect("the store answers");
        let left = probe.value(&counter).await;
        assert!(left.starts_with(&block), "a refund takes back no block");
        assert_eq!(
            left.len() == block.len(),
            policy.algorithm() == Algorithm::SlidingWindow
        );
        limiter.reset(key("a")).await.expect("the store answers");
    }
}

fn until_it_fits(policy: Policy) -> Duration {
    let window = policy.window().as_micros() as u64;
    match policy.algorithm() {
        Algorithm::FixedWindow => Duration::from_micros(window - NOW % window),
        _ => policy.window(),
    }
}
