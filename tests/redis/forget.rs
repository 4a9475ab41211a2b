//! Clients who are to be forgotten, and the names of methods, by which their counters are found.

use rate_limit::{Client, Key, Limiter, Method, OnStoreError, Policy, Rule, StoreErrorKind, StoredRule};

use crate::common::{MINUTE, PATIENT, admits, key, limiter, ms, per_minute, rule, store, strict};
use crate::probe::Probe;
use crate::support::RedisServer;

const NAMES: &str = "rl1:methods";
const POLICIES: &str = "rl1:policies";

fn client(name: &str) -> Client {
    Client::of(name).expect("it names somebody")
}

fn at(function: &'static str, client: &str) -> Key {
    Key::new(Method::named(function), self::client(client))
}

/// Waits until so many counters of functions are known by name.
async fn named(probe: &Probe, counters: u64) {
    written(probe, NAMES, counters).await;
}

/// Waits until of so many the policy is known.
async fn judged(probe: &Probe, counters: u64) {
    written(probe, POLICIES, counters).await;
}

async fn written(probe: &Probe, hash: &str, entries: u64) {
    for _ in 0..1_000 {
        if probe.ask::<u64>(&format!("HLEN {hash}")).await == entries {
            return;
        }
        tokio::time::sleep(ms(5)).await;
    }
    panic!("`{hash}` is not written");
}

/// One of each kind, at three functions: six counters.
async fn charge_everywhere(limiter: &Limiter, client: &str) {
    for function in ["portal::login", "portal::search"] {
        let stack = [
            Rule::new(per_minute(1).block(MINUTE), at(function, client)),
            Rule::new(Policy::token_bucket(1, MINUTE), at(function, client)).place(1),
        ];
        limiter.check_all(&stack).await.expect("it fits");
        limiter.check_all(&stack).await.expect_err("and is full");
    }
    let fixed = Policy::fixed_window(3, MINUTE);
    let mail = Rule::new(fixed, at("mail", client));
    assert!(admits(limiter, mail).await);
    assert!(admits(limiter, Rule::new(per_minute(200), at("mail", client))).await);
}

#[tokio::test]
async fn a_client_is_forgotten_by_a_process_that_never_saw_him() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let one = limiter(&server).await;
    charge_everywhere(&one, "alice").await;
    charge_everywhere(&one, "bob").await;
    named(&probe, 6).await;
    assert_eq!(probe.keys().await.len(), 12);

    let other = limiter(&server).await;
    assert_eq!(other.forget(client("alice")).await.expect("the store answers"), 6);
    assert_eq!(other.forget(client("alice")).await.expect("the store answers"), 0);
    assert_eq!(probe.keys().await.len(), 6, "those of the other client stay");
    charge_everywhere(&one, "alice").await;
    let calls = |command: &'static str| {
        let probe = probe.clone();
        async move { probe.info("commandstats", command).await }
    };
    assert_eq!(
        [calls("cmdstat_hkeys").await, calls("cmdstat_unlink").await],
        [2, 2],
        "two commands for all"
    );
}

#[tokio::test]
async fn the_names_of_methods_are_told_with_the_hashes_of_keys() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let store = store(&server.url()).await;
    assert_eq!(store.rules().await.expect("the store answers"), []);
    charge_everywhere(&strict(store.clone()), "alice@example.org").await;
    named(&probe, 6).await;
    judged(&probe, 6).await;
    let rules = store.rules().await.expect("the store answers");
    let told = |rule: &StoredRule| (rule.function.clone(), rule.place, rule.policy.expect("it is written"));
    let mut told: Vec<_> = rules.iter().map(told).collect();
    told[..2].sort_by_key(|(_, _, policy)| policy.count());
    let of = |function: &str, place, policy| (function.to_owned(), place, policy);
    let (window, bucket) = (per_minute(1).block(MINUTE), Policy::token_bucket(1, MINUTE));
    assert_eq!(
        told,
        [
            of("mail", 0, Policy::fixed_window(3, MINUTE)),
            of("mail", 0, per_minute(200)),
            of("portal::login", 0, window),
            of("portal::login", 1, bucket),
            of("portal::search", 0, window),
            of("portal::search", 1, bucket),
        ]
    );
    for key in probe.keys().await {
        let known = rules.iter().any(|rule| key.starts_with(&format!("rl1:{}:{{", rule.id)));
        assert!(known, "{key}");
    }
    assert!(!format!("{rules:?}").contains("alice"), "no client is among them");
}

#[tokio::test]
async fn a_policy_that_changed_is_written_again_and_no_more_than_once_a_second() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let store = store(&server.url()).await;
    let limiter = strict(store.clone());
    let written = async || {
        let rules = store.rules().await.expect("the store answers");
        rules.first().and_then(|rule| rule.policy)
    };
    for (count, client) in [(5, "a"), (7, "b")] {
        for attempt in 0.. {
            assert!(admits(&limiter, rule(count, &format!("{client}{attempt}"))).await);
            if written().await == Some(per_minute(count)) {
                break;
            }
            assert!(attempt < 1_000, "the policy of {count} is not written");
            tokio::time::sleep(ms(5)).await;
        }
    }
    assert_eq!(probe.info("commandstats", "cmdstat_hset").await, 4, "two hashes, twice");
    let start = std::time::Instant::now();
    for n in 0..200 {
        assert!(admits(&limiter, rule(5 + n % 2, &format!("each by its own {n}"))).await);
    }
    let seconds = start.elapsed().as_secs() + 1;
    let writes = probe.info("commandstats", "cmdstat_hset").await - 4;
    assert!(writes <= 2 * seconds, "{writes} in {seconds} s");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_are_written_once_and_again_to_a_server_that_lost_them() {
    let mut server = RedisServer::start();
    let limiter = limiter(&server).await;
    let writes = async |server: &RedisServer| {
        let probe = Probe::of(server).await;
        named(&probe, 1).await;
        judged(&probe, 1).await;
        tokio::time::sleep(ms(20)).await;
        probe.info("commandstats", "cmdstat_hset").await
    };
    for _ in 0..2 {
        let calls: Vec<_> = (0..200)
            .map(|n| {
                let limiter = limiter.clone();
                tokio::spawn(async move { admits(&limiter, rule(5, &format!("client-{}", n % 100))).await })
            })
            .collect();
        for call in calls {
            assert!(call.await.expect("no call panics"));
        }
        assert_eq!(writes(&server).await, 2, "the name, and the policy");
    }
    server.restart();
    for _ in 0..1_000 {
        if limiter.check(rule(5, "a")).await.is_ok() {
            break;
        }
        tokio::time::sleep(ms(5)).await;
    }
    assert_eq!(writes(&server).await, 2);
}

#[tokio::test]
async fn a_name_that_cannot_be_written_stops_no_call() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let limiter = limiter(&server).await;
    let _: () = probe.ask("ACL SETUSER default -hset -hkeys").await;
    let closed = |client| rule(5, client).on_store_error(OnStoreError::Closed);
    for _ in 0..5 {
        assert!(admits(&limiter, closed("a")).await);
    }
    assert!(!admits(&limiter, closed("a")).await);
    let error = limiter.forget(client("a")).await.expect_err("it may not look");
    assert_eq!(error.kind(), StoreErrorKind::Misconfigured);
    assert!(error.to_string().contains("HSET and HKEYS"), "{error}");
    let _: () = probe.ask("ACL SETUSER default +hset +hkeys").await;
    assert_eq!(
        limiter.forget(client("a")).await.expect("it may"),
        1,
        "what this process has charged by it knows without"
    );
}

#[tokio::test]
async fn what_another_program_keeps_there_is_left_alone() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let limiter = limiter(&server).await;
    let _: () = probe.ask(&format!("HSET {NAMES} something else AAAA BBBB")).await;
    let _: () = probe.ask("SET something else").await;
    assert!(admits(&limiter, Rule::new(per_minute(5), key("a"))).await);
    named(&probe, 3).await;
    assert_eq!(limiter.forget(client("a")).await.expect("the store answers"), 1);
    assert_eq!(probe.keys().await, ["something"]);
    let _: () = probe.ask(&format!("SET {NAMES} mine")).await;
    let error = limiter.forget(client("a")).await.expect_err("it is no hash");
    assert_eq!(error.kind(), StoreErrorKind::Unexpected);
}

#[tokio::test]
async fn to_forget_ends_within_the_deadline() {
    let server = RedisServer::start();
    let deadline = ms(100);
    let store = rate_limit::RedisStore::builder(&server.url()).deadline(deadline);
    let limiter = strict(store.connect().await.expect("the server takes us"));
    server.pause();
    let start = std::time::Instant::now();
    let error = limiter.forget(client("a")).await.expect_err("nothing answers");
    assert_eq!(error.kind(), StoreErrorKind::Timeout);
    assert!(start.elapsed() < PATIENT);
}
