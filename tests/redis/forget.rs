//! Clients who are to be forgotten, and the names of methods, by which their counters are found.

use rate_limit::{Client, Key, Limiter, Method, OnStoreError, Policy, Rule, StoreErrorKind};

use crate::common::{MINUTE, PATIENT, admits, key, limiter, ms, per_minute, rule, store, strict};
use crate::probe::Probe;
use crate::support::RedisServer;

const NAMES: &str = "rl1:methods";

fn client(name: &str) -> Client {
    Client::of(name).expect("it names somebody")
}

fn at(function: &'static str, client: &str) -> Key {
    Key::new(Method::named(function), self::client(client))
}

/// Waits until so many counters of functions are known by name.
async fn named(probe: &Probe, counters: u64) {
    for _ in 0..1_000 {
        if probe.ask::<u64>(&format!("HLEN {NAMES}")).await == counters {
            return;
        }
        tokio::time::sleep(ms(5)).await;
    }
    panic!("the names are not written");
}

/// One of each kind, at three functions: six counters and two blocks.
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
    assert_eq!(probe.keys().await.len(), 16);

    let other = limiter(&server).await;
    assert_eq!(other.forget(client("alice")).await.expect("the store answers"), 8);
    assert_eq!(other.forget(client("alice")).await.expect("the store answers"), 0);
    assert_eq!(probe.keys().await.len(), 8, "those of the other client stay");
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
    assert_eq!(store.methods().await.expect("the store answers"), []);
    charge_everywhere(&strict(store.clone()), "alice@example.org").await;
    named(&probe, 6).await;
    let methods = store.methods().await.expect("the store answers");
    let names: Vec<_> = methods.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "mail",
            "mail",
            "portal::login",
            "portal::login",
            "portal::search",
            "portal::search"
        ]
    );
    for key in probe.keys().await {
        let known = methods
            .iter()
            .any(|(hash, _)| key.starts_with(&format!("rl1:{hash}:{{")));
        assert!(known, "{key}");
    }
    assert!(!format!("{methods:?}").contains("alice"), "no client is among them");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_are_written_once_and_again_to_a_server_that_lost_them() {
    let mut server = RedisServer::start();
    let limiter = limiter(&server).await;
    let writes = async |server: &RedisServer| {
        let probe = Probe::of(server).await;
        named(&probe, 1).await;
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
        assert_eq!(writes(&server).await, 1);
    }
    server.restart();
    for _ in 0..1_000 {
        if limiter.check(rule(5, "a")).await.is_ok() {
            break;
        }
        tokio::time::sleep(ms(5)).await;
    }
    assert_eq!(writes(&server).await, 1);
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
