//! A log is read whole up to a count of 128 and is a ring above; it changes from one to the other in place.

use rate_limit::{Limiter, ManualClock, Policy, Rule};

use crate::common::{MINUTE, admits, key, ms, rule, turned_by, wait};
use crate::probe::Probe;
use crate::support::RedisServer;

/// Asks once more under this count. A call that weighs nothing tells what remains and changes no log.
async fn remaining(limiter: &Limiter, count: u32) -> u32 {
    let permit = limiter
        .check(rule(count, "a").cost(0))
        .await
        .expect("it weighs nothing");
    permit.decision().expect("the store decides").remaining
}

#[tokio::test]
async fn a_changed_count_converts_the_log_in_place_and_keeps_its_hits() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let clock = ManualClock::new();
    let limiter = turned_by(&clock, &server).await;
    let mut times = Vec::new();
    // A ring keeps its size while it has hits: another policy may ask for as many.
    let sizes = [
        None,
        None,
        Some(129),
        Some(1_000),
        Some(1_000),
        Some(1_000),
        Some(1_000),
        Some(1_000),
    ];
    for (count, slots) in [5, 128, 129, 1_000, 129, 128, 1_000, 5].into_iter().zip(sizes) {
        // The first count of 5 leaves room, the last does not.
        let admitted = admits(&limiter, rule(count, "a")).await;
        assert_eq!(admitted, times.len() < count as usize, "{count}");
        if admitted {
            times.push(clock.now());
        }
        let log = probe.log(&probe.key().await).await.expect("it is there");
        assert_eq!(log.entries, times, "{count}");
        assert_eq!(log.ring, slots, "{count}");
        assert_eq!(
            remaining(&limiter, count).await,
            count.saturating_sub(times.len() as u32)
        );
        clock.advance(ms(10));
    }
    assert_eq!(times.len(), 7);
}

#[tokio::test]
async fn a_full_log_survives_every_change_of_count() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let clock = ManualClock::new();
    let limiter = turned_by(&clock, &server).await;
    let mut times = Vec::new();
    for _ in 0..300 {
        times.push(clock.now());
        assert!(admits(&limiter, rule(300, "a")).await);
        clock.advance(ms(10));
    }
    // The wait is that of the entry `count` from the end, whatever the layout and however many lie before it.
    for count in [300, 129, 128, 5, 1, 299] {
        let refused = limiter.check(rule(count, "a")).await.expect_err("it is full");
        let entry = times[300 - count as usize];
        let wait = MINUTE.as_micros() as u64 - (clock.now() - entry);
        assert_eq!(
            refused.retry_after().map(|wait| wait.as_micros() as u64),
            Some(wait),
            "{count}"
        );
        assert_eq!(
            probe.log(&probe.key().await).await.expect("it is there").entries,
            times,
            "{count}"
        );
    }
    assert_eq!(remaining(&limiter, 1_000).await, 700);
    // One microsecond before the hint it is refused, then it is admitted.
    let wait = limiter
        .check(rule(5, "a"))
        .await
        .expect_err("it is full")
        .retry_after()
        .expect("it will fit");
    clock.advance(wait - std::time::Duration::from_micros(1));
    assert!(!admits(&limiter, rule(5, "a")).await);
    clock.advance(std::time::Duration::from_micros(1));
    assert!(admits(&limiter, rule(5, "a")).await);
    let log = probe.log(&probe.key().await).await.expect("it is there");
    assert_eq!(log.entries, [&times[296..], &[clock.now()]].concat());
    assert_eq!(log.ring, Some(300));
    clock.advance(MINUTE);
    assert!(admits(&limiter, rule(5, "a")).await);
    let log = probe.log(&probe.key().await).await.expect("it is there");
    assert_eq!(
        (log.entries, log.ring),
        (vec![clock.now()], None),
        "nothing counted any more"
    );
}

#[tokio::test]
async fn a_ring_turns_over_its_end() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let clock = ManualClock::new();
    let limiter = turned_by(&clock, &server).await;
    let mut times = Vec::new();
    for turn in 0..700_u32 {
        let cost = 1 + turn % 3;
        if admits(&limiter, rule(150, "a").cost(cost)).await {
            times.extend(std::iter::repeat_n(clock.now(), cost as usize));
        }
        if turn % 50 == 49 {
            let log = probe.log(&probe.key().await).await.expect("it is there");
            let live: Vec<u64> = times
                .iter()
                .copied()
                .filter(|time| time + 60_000_000 > clock.now())
                .collect();
            assert_eq!(log.ring, Some(150));
            assert!(log.entries.ends_with(&live), "turn {turn}");
            assert!(log.entries.len() <= 150);
        }
        clock.advance(ms(500));
    }
    assert!(times.len() > 3 * 150);
}

#[tokio::test]
async fn rst_02_hits_of_one_tick_keep_their_ids_when_the_log_is_converted() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let clock = ManualClock::new();
    let limiter = turned_by(&clock, &server).await;
    let first = limiter.check(rule(10, "a")).await.expect("it fits");
    assert!(admits(&limiter, rule(10, "a")).await);
    assert!(admits(&limiter, rule(200, "a")).await);
    first.reset().await.expect("the store answers");
    assert_eq!(probe.hits().await, 2, "what came after the success stays counted");
}

#[tokio::test]
async fn red_17_a_clock_that_steps_back_locks_nobody_out_for_longer_than_a_window() {
    let server = RedisServer::start();
    let clock = ManualClock::new();
    let limiter = turned_by(&clock, &server).await;
    for count in [5, 200] {
        let early = limiter.check(rule(count, "a")).await.expect("it fits");
        assert!(admits(&limiter, rule(count, "a").cost(count - 1)).await);
        clock.step_back(ms(3_600_000));
        let refused = limiter.check(rule(count, "a")).await.expect_err("no drain");
        assert_eq!(refused.retry_after(), Some(MINUTE));
        // Its id is of a time that has not come: it names nothing any more.
        early.reset().await.expect("the store answers");
        clock.advance(MINUTE - ms(1));
        assert!(!admits(&limiter, rule(count, "a")).await, "nor did the reset drain it");
        clock.advance(ms(1));
        assert!(
            admits(&limiter, rule(count, "a").cost(count)).await,
            "one window later all of it is back"
        );
        assert!(!admits(&limiter, rule(count, "a")).await);

        // Forward again: as if an hour had passed.
        clock.advance(ms(3_600_000));
        assert!(admits(&limiter, rule(count, "a").cost(count)).await);
        assert!(!admits(&limiter, rule(count, "a")).await);
        limiter.reset(key("a")).await.expect("the store answers");
    }
}

#[tokio::test]
async fn red_17_a_clock_that_steps_back_by_less_than_a_window_locks_nobody_out_for_longer_than_one() {
    let server = RedisServer::start();
    let clock = ManualClock::new();
    let limiter = turned_by(&clock, &server).await;
    for count in [5, 40, 200] {
        // All in the second half of the key's life, so that it does not seem to live for too long when the clock steps back.
        assert!(admits(&limiter, rule(count, "a")).await);
        clock.advance(MINUTE - ms(1_000));
        for _ in 1..count {
            assert!(admits(&limiter, rule(count, "a")).await);
        }
        clock.advance(ms(1_000));
        assert!(admits(&limiter, rule(count, "a")).await);
        clock.step_back(MINUTE / 2);
        assert_eq!(wait(&limiter, rule(count, "a")).await, MINUTE);
        clock.advance(MINUTE);
        let permit = limiter.check(rule(count, "a")).await.expect("it is over");
        clock.step_back(MINUTE / 2);
        // It stands in nobody's way, and for no longer than a window.
        let next = limiter.check(rule(count, "a")).await.expect("there is room");
        let whole = next.decision().expect("the store decides").reset_after;
        assert!(whole <= MINUTE + ms(1), "{count}: {whole:?}");
        drop(permit);
        limiter.reset(key("a")).await.expect("the store answers");
    }
}

#[tokio::test]
async fn a_list_keeps_at_most_seven_hits_that_have_left_the_window() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let clock = ManualClock::new();
    let limiter = turned_by(&clock, &server).await;
    for (count, kept) in [(5, 0), (16, 0), (40, 7), (128, 7)] {
        let rule = Rule::new(Policy::sliding_window(count, MINUTE), key("a"));
        let mut most = 0;
        for _ in 0..3 * count {
            assert!(admits(&limiter, rule).await);
            let log = probe.log(&probe.key().await).await.expect("it is there");
            let live = log
                .entries
                .iter()
                .filter(|entry| **entry + 60_000_000 > clock.now())
                .count();
            most = most.max(log.entries.len() - live);
            clock.advance(MINUTE / count + ms(1));
        }
        assert_eq!(most, kept, "{count}");
        limiter.reset(key("a")).await.expect("the store answers");
    }
}

#[tokio::test]
async fn red_17_a_clock_that_keeps_stepping_back_admits_no_more_than_the_count() {
    let server = RedisServer::start();
    let clock = ManualClock::new();
    let limiter = turned_by(&clock, &server).await;
    for count in [5, 200] {
        let rule = Rule::new(Policy::sliding_window(count, MINUTE), key("a"));
        let mut admitted = 0;
        for _ in 0..count + 20 {
            admitted += u32::from(admits(&limiter, rule).await);
            clock.step_back(ms(7));
        }
        assert_eq!(admitted, count);
        assert!(!admits(&limiter, rule).await);
        clock.advance(MINUTE);
        assert!(admits(&limiter, rule).await);
        limiter.reset(key("a")).await.expect("the store answers");
    }
}
