//! The counters that lie in a server, as tools see them: as a call would find them.

use std::collections::BTreeMap;
use std::time::Duration;

use rate_limit::{
    Algorithm, Client, Decision, Key, ManualClock, Method, Policy, RedisStore, Rule, StoredCounter, StoredRule,
};

use crate::common::{MINUTE, PATIENT, admits, key, per_minute, rule, store, strict};
use crate::probe::Probe;
use crate::support::{Random, RedisCluster, RedisServer};

/// All of them, by rule and client. Each once.
async fn all(store: &RedisStore, rules: &[StoredRule]) -> BTreeMap<(String, String), StoredCounter> {
    let mut counters = store.counters(rules);
    let mut all = BTreeMap::new();
    while let Some(page) = counters.next_page().await.expect("the store answers") {
        for counter in page {
            let twice = all.insert((counter.rule.clone(), counter.client.clone()), counter);
            assert_eq!(twice, None, "nothing is rehashed here");
        }
    }
    all
}

fn judged(function: &str, policy: Policy) -> StoredRule {
    let mut rule = StoredRule::new(function, policy.algorithm(), 0);
    rule.policy = Some(policy);
    rule
}

/// Of each algorithm, short and long, and those that block.
const POLICIES: [(&str, Policy); 7] = [
    ("log", Policy::sliding_window(5, Duration::from_secs(600))),
    ("ring", Policy::sliding_window(150, Duration::from_secs(6_000))),
    ("log that blocks", per_minute(3).block(Duration::from_secs(300))),
    ("bucket", Policy::token_bucket(4, Duration::from_micros(17_000_003))),
    (
        "bucket that blocks",
        Policy::token_bucket(2, MINUTE).block(Duration::from_secs(30)),
    ),
    ("window", Policy::fixed_window(4, Duration::from_secs(90))),
    (
        "window that blocks",
        Policy::fixed_window(2, MINUTE).block(Duration::from_secs(200)),
    ),
];

#[tokio::test]
async fn every_counter_is_told_as_a_call_would_find_it() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let clock = ManualClock::new();
    clock.advance(Duration::from_secs(1_753_000_000));
    let store = RedisStore::builder(&server.url())
        .prefix("[a]*:")
        .clock(&clock)
        .deadline(PATIENT);
    let store = store.connect().await.expect("the server takes us");
    let limiter = strict(store.clone());
    let rules: Vec<StoredRule> = POLICIES
        .iter()
        .map(|(function, policy)| judged(function, *policy))
        .collect();
    let client = |n: u64| Client::of(&n).expect("it names somebody");
    let mut random = Random(77);
    let (mut refused, mut blocked, mut whole) = (0, 0, 0);
    for _ in 0..40 {
        for _ in 0..60 {
            let (function, policy) = random.one_of(&POLICIES);
            let key = Key::new(Method::named(function), client(random.below(6)));
            let cost = 1 + random.below(u64::from(policy.count())) as u32;
            let _ = limiter.check(Rule::new(policy, key).cost(cost)).await;
            clock.advance(Duration::from_millis(random.below(3_000)));
        }
        if random.one_in(5) {
            clock.advance(MINUTE * 12);
        }
        let told = all(&store, &rules).await;
        let mut by_client = BTreeMap::new();
        for n in 0..6 {
            let own = store.counters_of(client(n), &rules).await.expect("the store answers");
            for ((function, policy), rule) in POLICIES.iter().zip(&rules) {
                let peeked = limiter.peek(Rule::new(*policy, Key::new(Method::named(function), client(n))));
                let peeked: Decision = peeked.await.expect("the store answers");
                match own.iter().find(|counter| counter.rule == rule.id) {
                    Some(counter) => assert_eq!(counter.decision, Some(peeked), "{function}"),
                    None => assert!(peeked.allowed && peeked.reset_after.is_zero(), "{function}: {peeked:?}"),
                }
            }
            by_client.extend(
                own.into_iter()
                    .map(|counter| ((counter.rule.clone(), counter.client.clone()), counter)),
            );
        }
        assert_eq!(told, by_client);
        assert_eq!(told.len(), probe.keys().await.len());
        for counter in told.values() {
            let decision = counter.decision.expect("its policy is known");
            refused += u32::from(!decision.allowed);
            blocked += u32::from(counter.blocked);
            whole += u32::from(decision.reset_after.is_zero());
            assert!(!(counter.blocked && decision.allowed), "{counter:?}");
        }
    }
    println!("{refused} refused, {blocked} blocked, {whole} whole");
    assert!(refused > blocked && blocked > 50 && whole > 50);
}

#[tokio::test]
async fn a_block_without_its_counter_is_told_and_what_is_not_ours_is_not() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let store = store(&server.url()).await;
    let limiter = strict(store.clone());
    let policy = per_minute(1).block(MINUTE);
    let rule = Rule::new(policy, key("a"));
    assert!(admits(&limiter, rule).await);
    assert!(!admits(&limiter, rule).await);
    let counter = probe.key().await;
    let rules = [judged("login", policy)];
    let one = all(&store, &rules).await;
    let (_, beside) = one.first_key_value().expect("it is told");
    assert!(one.len() == 1 && beside.blocked, "{one:?}");
    let value = probe.value(&counter).await;
    probe.set(&counter, &value[..15]).await;
    let alone = all(&store, &rules).await;
    assert!(
        alone.len() == 1 && alone.values().all(|counter| counter.blocked),
        "{alone:?}"
    );
    // A key of the version before, which ends by itself.
    probe.set(&format!("{counter}:b"), &value[..15]).await;
    let beside: Vec<_> = all(&store, &rules).await.into_keys().collect();
    assert_eq!(beside, alone.into_keys().collect::<Vec<_>>());
    let _: u64 = probe.ask(&format!("DEL {counter}:b")).await;

    let foreign = counter.replace("rl1:", "rl1:_");
    for key in [counter.as_str(), &foreign[..], "rl1:something:{else}"] {
        probe.set(key, b"mine").await;
    }
    let told = all(&store, &rules).await;
    let (_, foreign) = told.first_key_value().expect("it lies under a key of ours");
    assert_eq!((told.len(), foreign.decision), (1, None));
    let unknown = all(&store, &[]).await;
    assert_eq!(
        unknown.values().next().map(|counter| counter.decision),
        Some(None),
        "by no policy"
    );
    assert_eq!(StoredRule::new("login", Algorithm::SlidingWindow, 0).id, foreign.rule);
}

#[tokio::test]
async fn counters_are_found_at_each_primary_of_a_cluster() {
    let cluster = RedisCluster::start();
    let store = store(&format!("redis-cluster://{}", cluster.addresses())).await;
    let limiter = strict(store.clone());
    for client in 0..60 {
        assert!(admits(&limiter, rule(5, &client.to_string())).await);
    }
    let policy = per_minute(5);
    let told = all(&store, &[judged("login", policy)]).await;
    assert_eq!(told.len(), 60);
    assert!(
        told.values()
            .all(|counter| counter.decision.is_some_and(|decision| decision.remaining == 4))
    );
}
