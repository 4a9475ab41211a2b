//! What a counter is called: nobody's name, and never that of another counter.

use rate_limit::{Client, Key, Limiter, Method, OnStoreError, RedisStore, Rule};

use crate::common::{PATIENT, admits, limiter, per_minute, strict};
use crate::probe::Probe;
use crate::support::RedisServer;

fn email(i: u32) -> String {
    format!("student-{i}@portal.example.org")
}

fn key_of(email: &str) -> Key {
    Key::new(
        Method::named("portal::login"),
        Client::of(email).expect("it names somebody"),
    )
}

/// Whether `text` gives away any part of an e-mail of ours.
fn names_somebody(text: &[u8]) -> bool {
    ["student", "@portal", "example.org"]
        .iter()
        .any(|part| text.windows(part.len()).any(|window| window == part.as_bytes()))
}

#[tokio::test]
async fn key_10_no_identity_lies_in_the_server() {
    assert!(names_somebody(email(7).as_bytes()));
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let limiter = limiter(&server).await;
    for i in 0..200 {
        let rule = Rule::new(per_minute(if i % 2 == 0 { 5 } else { 200 }), key_of(&email(i)));
        let permit = limiter.check(rule).await.expect("it fits");
        assert!(admits(&limiter, rule).await);
        if i % 4 == 0 {
            permit.reset().await.expect("the store answers");
        }
    }
    let keys = probe.keys().await;
    assert_eq!(keys.len(), 200, "no two share a counter");
    for key in keys {
        assert!(!names_somebody(key.as_bytes()), "{key}");
        assert_eq!(key.len(), 40, "{key}");
        assert!(
            key.starts_with("rl1:") && key.ends_with('}') && key.contains(":{"),
            "{key}"
        );
        let value = probe.value(&key).await;
        assert!(!names_somebody(&value), "{key}: {}", value.escape_ascii());
    }
}

#[tokio::test]
async fn key_10_no_identity_is_shown() {
    let server = RedisServer::start();
    let url = server.url().replace("redis://", "redis://default:hunter2-the-secret@");
    let builder = RedisStore::builder(&url).prefix("staging:").deadline(PATIENT);
    let mut shown = vec![format!("{builder:?}")];
    // The server has no password, and takes any for the default user.
    let store = builder.connect().await.expect("it takes us");
    shown.push(format!("{store:?}"));
    let limiter = strict(store);
    let key = key_of(&email(1));
    let rule = Rule::new(per_minute(1), key);
    let permit = limiter.check(rule).await.expect("it fits");
    let refusal = limiter.check(rule).await.expect_err("it is full");
    shown.extend([
        format!("{limiter:?}"),
        format!("{key:?}"),
        format!("{:?}", key.client()),
        format!("{rule:?}"),
    ]);
    shown.extend([format!("{permit:?}"), format!("{refusal:?}"), format!("{refusal}")]);
    let stored = Probe::of(&server).await.key().await;
    let hash = stored
        .split_once('{')
        .expect("the client is the hash tag")
        .1
        .trim_end_matches('}');
    for text in shown {
        assert!(!names_somebody(text.as_bytes()), "{text}");
        assert!(!text.contains("hunter2"), "{text}");
        assert!(!text.contains(hash), "a hash of a guessable id gives it away: {text}");
    }
    assert!(stored.starts_with("staging:rl1:"), "{stored}");
}

#[tokio::test]
async fn key_10_nor_in_what_goes_wrong() {
    let mut server = RedisServer::start();
    let limiter = limiter(&server).await;
    let permit = limiter
        .check(Rule::new(per_minute(5), key_of(&email(1))))
        .await
        .expect("it fits");
    server.stop();
    let peek = limiter
        .peek(Rule::new(per_minute(5), key_of(&email(1))))
        .await
        .expect_err("nobody answers");
    let reset = permit.reset().await.expect_err("nobody answers");
    let check = limiter
        .check(Rule::new(per_minute(5), key_of(&email(1))))
        .await
        .expect_err("nobody answers");
    for text in [
        format!("{peek:?} {peek}"),
        format!("{reset:?} {reset}"),
        format!("{check:?} {check}"),
    ] {
        assert!(!names_somebody(text.as_bytes()), "{text}");
    }
}

#[tokio::test]
async fn key_07_two_prefixes_do_not_meet() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let mut limiters: Vec<Limiter> = Vec::new();
    for prefix in ["", "staging:", "prod:"] {
        let store = RedisStore::builder(&server.url()).prefix(prefix).deadline(PATIENT);
        limiters.push(strict(store.connect().await.expect("it takes us")));
    }
    let rule = Rule::new(per_minute(2), key_of("alice")).on_store_error(OnStoreError::Closed);
    for limiter in &limiters {
        assert!(admits(limiter, rule).await);
        assert!(admits(limiter, rule).await);
        assert!(!admits(limiter, rule).await);
    }
    assert_eq!(probe.keys().await.len(), 3);
    limiters[1].reset(key_of("alice")).await.expect("the store answers");
    let admitted = [
        admits(&limiters[0], rule).await,
        admits(&limiters[1], rule).await,
        admits(&limiters[2], rule).await,
    ];
    assert_eq!(admitted, [false, true, false]);
}

#[tokio::test]
async fn key_07_two_methods_and_two_clients_do_not_meet() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let limiter = limiter(&server).await;
    let mut rules = Vec::new();
    for method in ["portal::login", "portal::report"] {
        for client in ["alice", "bob", "{alice}", "a}{lice"] {
            let client = Client::of(client).expect("it names somebody");
            rules.push(Rule::new(per_minute(1), Key::new(Method::named(method), client)));
        }
    }
    for rule in &rules {
        assert!(admits(&limiter, *rule).await, "{rule:?}");
        assert!(!admits(&limiter, *rule).await, "{rule:?}");
    }
    assert_eq!(probe.keys().await.len(), rules.len());
    assert_eq!(probe.hits().await, rules.len(), "each call is charged once");
}
