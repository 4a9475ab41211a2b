//! Every key goes by itself: not before its window has passed, and not long after.

use std::time::Duration;

use rate_limit::{Limiter, ManualClock, Policy, Rule};

use crate::common::{admits, key, limiter, ms, per_minute, rule, turned_by};
use crate::probe::Probe;
use crate::support::RedisServer;

const DAY: Duration = Duration::from_secs(86_400);

/// What `PTTL` tells of a key that never goes. One that goes within the millisecond is told as 0, or as -2 once it has gone.
const NEVER: i64 = -1;

pub(crate) async fn assert_all_expire(probe: &Probe, after: &str) {
    for key in probe.keys().await {
        let left: i64 = probe.ask(&format!("PTTL {key}")).await;
        assert_ne!(left, NEVER, "{after}: PTTL {key}");
    }
}

/// Every branch of the scripts that writes, in lists and in rings.
async fn every_kind_of_call(limiter: &Limiter, clock: &ManualClock, probe: &Probe) {
    let check = |what: &'static str, rule: Rule| async move {
        let answer = limiter.check(rule).await;
        assert_all_expire(probe, what).await;
        answer
    };
    for (count, other) in [(5, 200), (130, 5)] {
        let name = format!("client of {count}");
        let rule = rule(count, &name);
        let _ = limiter
            .peek(Rule::new(per_minute(count), key(&name)))
            .await
            .expect("the store answers");
        let _ = check("a cost of 0", rule.cost(0)).await.expect("it fits");
        let first = check("the first", rule).await.expect("it fits");
        clock.advance(ms(1));
        let second = check("the second", rule).await.expect("it fits");
        clock.advance(ms(61_000));
        let late = check("after all have expired", rule.cost(3)).await.expect("it fits");
        clock.advance(ms(59_000));
        let _ = check("after less than a window remains", rule.cost(count - 3))
            .await
            .expect("it fits");
        let _ = check("a refusal", rule).await.expect_err("it is full");
        let _ = check("what never fits", rule.cost(count + 1))
            .await
            .expect_err("it is above the limit");
        first.reset().await.expect("the store answers");
        second.reset().await.expect("the store answers");
        assert_all_expire(probe, "a reset of nothing").await;
        late.reset().await.expect("the store answers");
        assert_all_expire(probe, "a reset of some").await;
        let _ = check("after a reset", rule).await.expect("it fits");
        clock.step_back(ms(30_000));
        let _ = check("a clock that stepped back", rule).await.expect("it fits");
        let raised = Rule::new(Policy::sliding_window(count, 10 * DAY), key(&name));
        let _ = check("a raised window", raised).await.expect("it fits");
        let _ = check("the other layout", Rule::new(per_minute(other), key(&name))).await;
        let _ = check("and back", rule).await.expect_err("it is full").is_limited();
        limiter.reset(key(&name)).await.expect("the store answers");
        let last = check("the only one", rule).await.expect("it fits");
        last.reset().await.expect("the store answers");
        assert_eq!(probe.keys().await, [""; 0], "a key without hits is gone");
    }
}

#[tokio::test]
async fn red_03_no_call_leaves_a_key_without_expiry() {
    let server = RedisServer::start();
    let clock = ManualClock::new();
    let limiter = turned_by(&clock, &server).await;
    every_kind_of_call(&limiter, &clock, &Probe::of(&server).await).await;
}

#[tokio::test]
async fn red_03_nor_does_one_that_fails() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let clock = ManualClock::new();
    let limiter = turned_by(&clock, &server).await;
    for count in [5, 200] {
        let permit = limiter.check(rule(count, "a")).await.expect("it fits");
        clock.advance(ms(1));
        assert!(admits(&limiter, rule(count, "a")).await);
        let key = probe.key().await;
        let before = probe.value(&key).await;
        // Less than a window remains, so that the next call writes a value and an expiry.
        clock.advance(ms(59_500));

        // A server without memory lets a script read and fails it at the first write.
        let _: () = probe.ask("CONFIG SET maxmemory 1").await;
        limiter.check(rule(count, "a")).await.expect_err("there is no memory");
        limiter.check(rule(count, "b")).await.expect_err("there is no memory");
        let _ = permit.reset().await;
        let _: () = probe.ask("CONFIG SET maxmemory 0").await;
        assert_all_expire(&probe, "no memory").await;
        assert_eq!(probe.key().await, key);
        let after = probe.value(&key).await;
        assert!(
            after == before || after.len() < before.len(),
            "at most the reset went through"
        );

        let _: () = probe.ask(&format!("DEL {key}")).await;
        let _: u64 = probe.ask(&format!("RPUSH {key} x")).await;
        let _: u64 = probe.ask(&format!("EXPIRE {key} 100")).await;
        limiter.check(rule(count, "a")).await.expect_err("it is no string");
        assert_all_expire(&probe, "WRONGTYPE").await;
        probe.set(&key, b"a session of another program").await;
        limiter.check(rule(count, "a")).await.expect_err("it is not ours");
        assert_all_expire(&probe, "a foreign value").await;
        let _: () = probe.ask("FLUSHALL").await;
    }
}

#[tokio::test]
async fn red_03_a_key_whose_expiry_was_taken_heals() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let clock = ManualClock::new();
    let limiter = turned_by(&clock, &server).await;
    for count in [5, 200] {
        assert!(admits(&limiter, rule(count, "a").cost(count)).await);
        let key = probe.key().await;
        let _: u64 = probe.ask(&format!("PERSIST {key}")).await;
        assert!(!admits(&limiter, rule(count, "a")).await);
        // Past the expiry in the header: the server would have dropped it long ago.
        clock.advance(ms(180_000));
        assert!(admits(&limiter, rule(count, "a")).await);
        assert_all_expire(&probe, "the next touch").await;
        assert_eq!(probe.log(&key).await.expect("it is there").entries, [clock.now()]);

        // In the middle of a window: by the next admitted call once less than a window remains.
        clock.advance(ms(30_000));
        let _: u64 = probe.ask(&format!("PERSIST {key}")).await;
        assert!(admits(&limiter, rule(count, "a")).await);
        clock.advance(ms(30_001));
        assert!(admits(&limiter, rule(count, "a")).await);
        assert_all_expire(&probe, "less than a window remains").await;
        let _: () = probe.ask("FLUSHALL").await;
    }
}

/// When the key goes and when its last hit was, in microseconds of the server.
async fn expiry_and_last_hit(probe: &Probe) -> Option<(u64, u64)> {
    let key = probe.keys().await.pop()?;
    let expiry: i64 = probe.ask(&format!("PEXPIRETIME {key}")).await;
    let log = probe.log(&key).await?;
    assert_ne!(expiry, -1, "it never goes");
    Some((u64::try_from(expiry).ok()? * 1_000, *log.entries.last()?))
}

#[tokio::test]
async fn red_04_a_key_lives_for_one_to_two_windows_after_each_hit() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let limiter = limiter(&server).await;
    for window in [ms(1), ms(999), ms(1_500), DAY, 400 * DAY, Policy::MAX_WINDOW] {
        for count in [1_000, 10_000] {
            let rule = Rule::new(Policy::sliding_window(count / 100, window), key("a"));
            let micros = window.as_micros() as u64;
            let mut seen = 0;
            // A key of 1 ms may be gone before it is looked at.
            for _ in 0..200 {
                let _ = admits(&limiter, rule).await;
                if let Some((expiry, hit)) = expiry_and_last_hit(&probe).await {
                    seen += 1;
                    let left = expiry - hit;
                    assert!(left >= micros, "{window:?}: {left}");
                    assert!(left <= 2 * micros + 2_000, "{window:?}: {left}");
                }
                if seen == 5 {
                    break;
                }
            }
            assert_eq!(seen, 5, "{window:?}");
            let _: () = probe.ask("FLUSHALL").await;
        }
    }
}

#[tokio::test]
async fn red_04_the_expiry_is_refreshed_when_less_than_a_window_remains() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let clock = ManualClock::new();
    let limiter = turned_by(&clock, &server).await;
    for count in [100, 200] {
        let start = clock.now();
        let mut expiries = Vec::new();
        for _ in 0..10 {
            assert!(admits(&limiter, rule(count, "a")).await);
            let log = probe.log(&probe.key().await).await.expect("it is there");
            assert!(
                (60_000_000..=120_000_000).contains(&(log.expiry - clock.now())),
                "{log:?}"
            );
            expiries.push((log.expiry - start) / 1_000_000);
            clock.advance(ms(25_000));
        }
        assert_eq!(expiries, [120, 120, 120, 195, 195, 195, 270, 270, 270, 345]);
        let _: () = probe.ask("FLUSHALL").await;
    }
}

#[tokio::test]
async fn red_05_the_expiry_covers_a_raised_window() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let limiter = limiter(&server).await;
    for count in [4, 200] {
        let of = |window| Rule::new(Policy::sliding_window(count, window), key("a"));
        let mut last_hit = 0;
        for (step, window) in [ms(10_000), ms(60_000), ms(21_000), DAY].into_iter().enumerate() {
            assert!(admits(&limiter, of(window)).await, "{step}");
            let (expiry, hit) = expiry_and_last_hit(&probe).await.expect("it is there");
            assert!(hit > last_hit, "{step}");
            assert!(expiry >= hit + window.as_micros() as u64, "{window:?}");
            last_hit = hit;
        }
        // Refused under a window that is longer still: the key must outlive its entries all the same.
        if count > 4 {
            assert!(admits(&limiter, of(DAY).cost(count - 4)).await);
        }
        assert!(!admits(&limiter, of(30 * DAY)).await);
        let (expiry, hit) = expiry_and_last_hit(&probe).await.expect("it is there");
        assert!(expiry >= hit + 30 * DAY.as_micros() as u64);
        let _: () = probe.ask("FLUSHALL").await;
    }
}

#[tokio::test]
async fn alg_10_the_largest_numbers_neither_overflow_nor_expire_at_once() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let limiter = limiter(&server).await;
    for window in [Policy::MIN_WINDOW, ms(1_000), 365 * DAY, Policy::MAX_WINDOW] {
        for (count, costs) in [
            (1, [1, 1]),
            (100_000, [100_000, 1]),
            (Policy::MAX_COUNT, [1, Policy::MAX_COUNT]),
        ] {
            let rule = Rule::new(Policy::sliding_window(count, window), key("a"));
            let above = limiter
                .check(rule.cost(u32::MAX))
                .await
                .expect_err("it is above the limit");
            assert_eq!(above.kind(), rate_limit::RejectionKind::Impossible);
            assert_eq!(above.retry_after(), None);
            assert!(admits(&limiter, rule.cost(costs[0])).await);
            if window >= ms(1_000) {
                let refused = limiter.check(rule.cost(costs[1])).await.expect_err("it does not fit");
                let wait = refused.retry_after().expect("it will fit");
                assert!(wait <= window && wait > window.mul_f64(0.4), "{wait:?} of {window:?}");
                assert_all_expire(&probe, "the largest numbers").await;
            }
            let _: () = probe.ask("FLUSHALL").await;
        }
    }
}
