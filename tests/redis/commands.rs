//! How many commands a decision takes on the server: what guards its speed.

use std::collections::BTreeMap;

use rate_limit::{Algorithm, Limiter, ManualClock, Policy, Rule};

use crate::common::{MINUTE, admits, key, limiter, ms, per_minute, rule, turned_by};
use crate::probe::Probe;
use crate::support::RedisServer;

/// The calls of each command, those that scripts made too.
async fn calls(probe: &Probe) -> BTreeMap<String, u64> {
    let info: String = probe.ask("INFO commandstats").await;
    let of = |line: &str| {
        let (name, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        Some((name.to_owned(), rest.split(',').next()?.parse().ok()?))
    };
    info.lines().filter_map(of).collect()
}

/// The commands that `during` takes, but for those of the probe, and for those that write in the background by which policy a method is
/// judged: here one method goes by several. How often that is written is told in `forget`.
async fn commands(probe: &Probe, during: impl Future<Output = ()>) -> Vec<(String, u64)> {
    let before = calls(probe).await;
    during.await;
    let after = calls(probe).await;
    let more = |(name, calls): (String, u64)| {
        let more = calls - before.get(&name).copied().unwrap_or(0);
        (more > 0 && name != "info" && name != "hset").then_some((name, more))
    };
    after.into_iter().filter_map(more).collect()
}

fn times(commands: &[(&str, u64)]) -> Vec<(String, u64)> {
    let mut commands: Vec<_> = commands
        .iter()
        .map(|(name, calls)| ((*name).to_owned(), *calls))
        .collect();
    commands.sort();
    commands
}

/// What a call takes that is admitted, `admitted`, or not.
async fn assert_takes(probe: &Probe, limiter: &Limiter, rule: Rule, admitted: bool, commands_of_it: &[(&str, u64)]) {
    let took = commands(probe, async { assert_eq!(admits(limiter, rule).await, admitted) }).await;
    let all = [&[("evalsha", 1), ("time", 1)], commands_of_it].concat();
    assert_eq!(took, times(&all), "{rule:?}");
}

/// Lets the limiter write the name of the method, which it does once in the background.
async fn settled(limiter: Limiter, probe: &Probe) -> Limiter {
    assert!(admits(&limiter, rule(1, "another")).await);
    while !calls(probe).await.contains_key("hset") {
        tokio::time::sleep(ms(1)).await;
    }
    limiter
}

#[tokio::test]
async fn a_call_on_a_list_reads_once_and_writes_once() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let limiter = settled(limiter(&server).await, &probe).await;
    let rule = rule(40, "a");
    assert_takes(&probe, &limiter, rule, true, &[("get", 1), ("set", 1)]).await;
    for _ in 1..39 {
        assert_takes(&probe, &limiter, rule, true, &[("get", 1), ("append", 1)]).await;
    }
    // It is full now, and is written as a whole, without what had been set aside for more.
    assert_takes(&probe, &limiter, rule, true, &[("get", 1), ("set", 1)]).await;
    assert_takes(&probe, &limiter, rule, false, &[("get", 1)]).await;
}

#[tokio::test]
async fn a_window_that_slides_takes_no_more() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let clock = ManualClock::new();
    let limiter = settled(turned_by(&clock, &server).await, &probe).await;
    for count in [1, 5, 30] {
        let rule = Rule::new(Policy::sliding_window(count, MINUTE * count), key(&count.to_string()));
        let calls = 3 * count;
        let took = commands(&probe, async {
            for _ in 0..calls {
                assert!(admits(&limiter, rule).await);
                clock.advance(MINUTE);
            }
        });
        let took: BTreeMap<String, u64> = took.await.into_iter().collect();
        let writes = ["set", "setrange", "append"];
        let of = |names: &[&str]| {
            took.iter()
                .filter(|(name, _)| names.contains(&&name[..]))
                .map(|(_, calls)| calls)
                .sum::<u64>()
        };
        assert_eq!(
            [of(&["evalsha"]), of(&["get"]), of(&writes)],
            [u64::from(calls); 3],
            "{took:?}"
        );
        assert_eq!(took.values().sum::<u64>(), 3 * u64::from(calls), "{took:?}");
    }
}

#[tokio::test]
async fn a_call_on_a_ring_reads_and_writes_a_few_slots() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let limiter = settled(limiter(&server).await, &probe).await;
    let rule = rule(150, "a");
    assert!(admits(&limiter, rule).await);
    for _ in 1..150 {
        assert_takes(&probe, &limiter, rule, true, &[("getrange", 2), ("setrange", 2)]).await;
    }
    assert_takes(&probe, &limiter, rule, false, &[("getrange", 2)]).await;
}

/// A block takes no command of its own, but when it begins, and of a long log no more than of a short one.
#[tokio::test]
async fn f_06_a_call_with_a_block_takes_one_read_and_one_write() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let limiter = settled(limiter(&server).await, &probe).await;
    let begins = [("setrange", 1), ("pexpire", 1)];
    for policy in [
        Policy::token_bucket(3, MINUTE),
        Policy::fixed_window(3, Policy::MAX_WINDOW),
        per_minute(3),
    ] {
        let read = if policy.algorithm() == Algorithm::SlidingWindow {
            ("getrange", 1)
        } else {
            ("get", 1)
        };
        let rule = Rule::new(policy.block(MINUTE), key("a"));
        for _ in 0..3 {
            assert_takes(&probe, &limiter, rule, true, &[read, ("set", 1)]).await;
        }
        assert_takes(&probe, &limiter, rule, false, &[read, begins[0], begins[1]]).await;
        assert_takes(&probe, &limiter, rule, false, &[read]).await;
    }
    let rule = Rule::new(Policy::sliding_window(100_000, MINUTE).block(MINUTE), key("a"));
    limiter.reset(key("a")).await.expect("the store answers");
    assert!(admits(&limiter, rule.cost(100_000)).await);
    let took = commands(&probe, async { assert!(!admits(&limiter, rule).await) }).await;
    let whole = took.iter().filter(|(name, _)| name == "get" || name == "set").count();
    assert_eq!(whole, 0, "{took:?}");
    assert!(took.iter().all(|(_, calls)| *calls < 5), "{took:?}");
}

/// A relative: the counter of a policy that blocked is no dearer for one that does not.
#[tokio::test]
async fn f_06_a_block_that_is_over_leaves_a_call_as_short_as_it_was() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let clock = ManualClock::new();
    let limiter = settled(turned_by(&clock, &server).await, &probe).await;
    let _: () = probe.ask("FLUSHALL").await;
    let (plain, blocking) = (rule(40, "a"), Rule::new(per_minute(1).block(MINUTE), key("a")));
    assert!(admits(&limiter, blocking).await);
    assert!(!admits(&limiter, blocking).await);
    assert!(admits(&limiter, plain).await);
    assert_eq!(probe.value(&probe.key().await).await[0], b't', "it lasts");
    clock.advance(MINUTE);
    assert!(admits(&limiter, plain).await);
    assert_eq!(probe.value(&probe.key().await).await[0], b'l');
    let took = commands(&probe, async { assert!(admits(&limiter, plain).await) }).await;
    assert_eq!(took, times(&[("evalsha", 1), ("get", 1), ("append", 1)]));
}

#[tokio::test]
async fn calls_that_go_out_together_ask_for_the_time_and_their_logs_once() {
    const CALLS: u64 = 44;
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let limiter = settled(limiter(&server).await, &probe).await;
    for turn in 0..2 {
        let took = commands(&probe, async {
            let calls: Vec<_> = (0..CALLS)
                .map(|client| {
                    let limiter = limiter.clone();
                    let rule = rule(20, &format!("together {client}"));
                    tokio::spawn(async move { admits(&limiter, rule).await })
                })
                .collect();
            for call in calls {
                assert!(call.await.expect("no call panics"));
            }
        });
        // Four go out alone, and the others with the first that returns.
        let write = if turn == 0 { ("set", CALLS) } else { ("append", CALLS) };
        let expected = [("evalsha", 5), ("time", 5), ("get", 4), ("mget", 1), write];
        assert_eq!(took.await, times(&expected));
    }
}
