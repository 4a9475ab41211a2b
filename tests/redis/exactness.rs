//! Every hit is counted, once, at the time of the server.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;

use rate_limit::ManualClock;

use crate::common::{admits, admitted, limiter, ms, rule, turned_by};
use crate::probe::Probe;
use crate::support::RedisServer;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn red_01_hits_of_one_tick_are_counted_apart() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let clock = ManualClock::new();
    let (one, two) = (turned_by(&clock, &server).await, turned_by(&clock, &server).await);
    let (a, b) = tokio::join!(admitted(&one, rule(50, "a"), 500), admitted(&two, rule(50, "a"), 500));
    assert_eq!(a + b, 50);
    let log = probe.log(&probe.key().await).await.expect("there is one");
    let apart: Vec<u64> = (0..50).map(|i| clock.now() + i).collect();
    assert_eq!(log.entries, apart);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn red_01_a_thousand_calls_at_once_by_the_servers_clock() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let (one, two) = (limiter(&server).await, limiter(&server).await);
    for count in [50, 200] {
        let rule = rule(count, "a");
        let (a, b) = tokio::join!(admitted(&one, rule, 500), admitted(&two, rule, 500));
        assert_eq!(a + b, count as usize);
        let log = probe.log(&probe.key().await).await.expect("there is one");
        assert_eq!(log.entries.len(), count as usize);
        assert!(log.entries.is_sorted_by(|a, b| a < b), "{log:?}");
        let _: () = probe.ask("FLUSHALL").await;
    }
}

#[tokio::test]
async fn red_02_consecutive_microseconds_stay_apart() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    // Times of today, as long as the server's: a number turned into text by Lua keeps 14 digits.
    let clock = ManualClock::new();
    clock.advance(std::time::Duration::from_micros(1_753_000_000_123_455));
    for count in [20, 200] {
        let limiter = turned_by(&clock, &server).await;
        let mut times = Vec::new();
        for _ in 0..10 {
            clock.advance(std::time::Duration::from_micros(1));
            times.push(clock.now());
            assert!(admits(&limiter, rule(count, "a")).await);
        }
        let log = probe.log(&probe.key().await).await.expect("there is one");
        assert_eq!(log.entries, times);
        let _: () = probe.ask("FLUSHALL").await;
    }
}

#[tokio::test]
async fn red_17_no_time_is_sent_to_the_server() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let mut monitor = BufReader::new(TcpStream::connect(("127.0.0.1", server.port())).expect("the server listens"));
    monitor
        .get_ref()
        .set_read_timeout(Some(ms(5_000)))
        .expect("5 s are a time");
    monitor.get_mut().write_all(b"MONITOR\r\n").expect("the server listens");

    let (one, two) = (limiter(&server).await, limiter(&server).await);
    for turn in 0..3 {
        for limiter in [&one, &two] {
            assert!(admits(limiter, rule(10, "a")).await, "{turn}");
        }
    }
    let _: String = probe.ask("ECHO done").await;

    // Each line is `TIME [DB ADDRESS] "WORD" ..`; what a script calls has `lua` for its address.
    let (mut loads, mut calls, mut times) = (Vec::new(), Vec::new(), 0);
    for _ in 0..200 {
        let mut line = String::new();
        monitor.read_line(&mut line).expect("the server reports");
        let Some((head, command)) = line.split_once("] ") else {
            continue;
        };
        if head.ends_with("lua") {
            times += usize::from(command.starts_with("\"TIME\""));
        } else if command.starts_with("\"SCRIPT\"") {
            loads.push(command.to_owned());
        } else if command.starts_with("\"EVALSHA\"") && !command.contains("\"peek\"") {
            calls.push(command.to_owned());
        } else if command.starts_with("\"ECHO\"") {
            break;
        }
    }
    // Six calls of two stores at six times are one and the same text.
    assert_eq!(calls.len(), 6);
    assert!(calls.iter().all(|call| *call == calls[0]), "{calls:?}");
    assert!(times >= calls.len(), "each asks the server for the time");
    assert_eq!(loads.len(), 10);
    for script in loads {
        assert!(script.contains("redis.call('TIME')"), "{script}");
        assert!(!script.contains("table.remove(ARGV)"), "{script}");
    }
}

#[tokio::test]
async fn red_17_two_stores_are_as_exact_as_one() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let stores = [limiter(&server).await, limiter(&server).await];
    let before = probe.time().await;
    let mut admitted = 0;
    for turn in 0..20 {
        admitted += usize::from(admits(&stores[turn % 2], rule(7, "a")).await);
    }
    assert_eq!(admitted, 7);
    let log = probe.log(&probe.key().await).await.expect("there is one");
    let after = probe.time().await;
    assert!(
        log.entries.iter().all(|time| (before..=after).contains(time)),
        "{log:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn red_19_refused_calls_cost_no_memory() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let limiter = limiter(&server).await;
    assert_eq!(admitted(&limiter, rule(5, "a"), 5).await, 5);
    let key = probe.key().await;
    let (value, expiry) = (
        probe.value(&key).await,
        probe.ask::<u64>(&format!("PEXPIRETIME {key}")).await,
    );
    for _ in 0..10 {
        assert_eq!(admitted(&limiter, rule(5, "a"), 1_000).await, 0);
    }
    assert_eq!(probe.value(&key).await, value);
    assert_eq!(
        probe.ask::<u64>(&format!("PEXPIRETIME {key}")).await,
        expiry,
        "nor do they extend anything"
    );
    let memory: u64 = probe.ask(&format!("MEMORY USAGE {key}")).await;
    assert!(memory <= 512, "{memory} bytes");
}

#[tokio::test]
async fn red_18_what_has_left_the_window_leaves_the_log() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let clock = ManualClock::new();
    for (count, longest) in [(5, 15 + 7 * 5), (200, 27 + 7 * 200)] {
        let limiter = turned_by(&clock, &server).await;
        for _ in 0..3 * count {
            assert!(admits(&limiter, rule(count, "a")).await);
            clock.advance(ms(60_000 / u64::from(count) + 1));
            let key = probe.key().await;
            let log = probe.log(&key).await.expect("there is one");
            assert!(log.entries.len() <= count as usize, "{log:?}");
            assert!(probe.value(&key).await.len() <= longest);
        }
        clock.advance(ms(60_000));
        assert!(admits(&limiter, rule(count, "a")).await);
        let log = probe.log(&probe.key().await).await.expect("there is one");
        assert_eq!(log.entries, [clock.now()], "all older ones are gone");
        let _: () = probe.ask("FLUSHALL").await;
    }
}
