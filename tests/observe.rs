//! What is counted and logged, and under which labels.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::time::Duration;

use metrics::with_local_recorder;
use metrics_util::debugging::{DebugValue, DebuggingRecorder};
use rate_limit::{
    Client, Key, Limiter, MemoryStore, Method, OnStoreError, Policy, Rejection, RejectionKind, Rule, Store,
    StoreErrorKind, limit_per_time,
};

#[path = "behaviour/log.rs"]
mod log;
#[path = "support/remote_store.rs"]
mod remote_store;

use remote_store::RemoteStore;

/// What was counted in a future, as `name{label=value,..}`; of a histogram, how many values.
fn counted(future: impl Future<Output = ()>) -> BTreeMap<String, u64> {
    log::install();
    let recorder = DebuggingRecorder::new();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("nothing hinders it");
    with_local_recorder(&recorder, || runtime.block_on(future));
    let values = recorder.snapshotter().snapshot().into_vec().into_iter();
    let entry = |(key, _, _, value)| {
        let key: metrics_util::CompositeKey = key;
        let labels: Vec<_> = key
            .key()
            .labels()
            .map(|label| format!("{}={}", label.key(), label.value()))
            .collect();
        let value = match value {
            DebugValue::Counter(count) => count,
            DebugValue::Histogram(values) => values.len() as u64,
            DebugValue::Gauge(_) => return None,
        };
        Some((format!("{}{{{}}}", key.key().name(), labels.join(",")), value))
    };
    values.filter_map(entry).collect()
}

fn entries<const N: usize>(entries: [(&str, u64); N]) -> BTreeMap<String, u64> {
    entries.map(|(name, count)| (name.to_owned(), count)).into()
}

fn rule(client: &str) -> Rule {
    let client = Client::of(client).expect("it names somebody");
    let key = Key::new(Method::named("login"), client);
    Rule::new(Policy::sliding_window(2, Duration::from_secs(3_600)), key)
}

fn over(store: impl Store) -> Limiter {
    Limiter::builder().store(store).build().expect("no secret is set")
}

const CLASSES: [(StoreErrorKind, &str); 5] = [
    (StoreErrorKind::Unavailable, "unavailable"),
    (StoreErrorKind::Timeout, "timeout"),
    (StoreErrorKind::Aborted, "aborted"),
    (StoreErrorKind::Misconfigured, "misconfigured"),
    (StoreErrorKind::Unexpected, "unexpected"),
];

/// Of three calls while the store fails, by each class of error and each mode: what is decided, by whom, and what is counted and logged.
#[test]
fn ops_03_each_class_of_error_by_each_mode() {
    for (kind, class) in CLASSES {
        let refused = match kind {
            StoreErrorKind::Misconfigured => (RejectionKind::Misconfigured, "misconfigured"),
            _ => (RejectionKind::StoreUnavailable, "store_unavailable"),
        };
        let admitted = [None; 3];
        for (mode, word, expected, decisions) in [
            (OnStoreError::Open, "open", admitted, vec![("allowed", "none", 3)]),
            (
                OnStoreError::Closed,
                "closed",
                [Some(refused.0); 3],
                vec![(refused.1, "none", 3)],
            ),
            (
                OnStoreError::Local,
                "local",
                [None, None, Some(RejectionKind::Limited)],
                vec![("allowed", "fallback", 2), ("limited", "fallback", 1)],
            ),
        ] {
            let store = RemoteStore::new(MemoryStore::new(), kind);
            let limiter = over(store.clone());
            let mut decided = Vec::new();
            let mut logged = Vec::new();
            let counts = counted(async {
                log::take();
                for fails in [false, true, false] {
                    store.fails(fails);
                    for _ in 0..3 {
                        // One each: the fallback knows what the store admitted.
                        let client = if fails { "a" } else { "b" };
                        let answer = limiter.check(rule(client).on_store_error(mode)).await;
                        assert_eq!(limiter.is_degraded(), fails);
                        if fails {
                            decided.push(answer.err().map(|rejection| rejection.kind()));
                        }
                    }
                    logged.push(log::take());
                }
            });
            assert_eq!(decided, expected, "{class}, {word}");
            let [before, down, up] = &logged[..] else {
                panic!("three times")
            };
            assert_eq!(before.len(), 0, "{before:?}");
            assert_eq!(down.len(), 1, "one line a change, and none a call: {down:?}");
            assert!(
                down[0].contains("ERROR") && down[0].contains(&format!("class=\"{class}\"")),
                "{down:?}"
            );
            assert_eq!(up.len(), 1, "{up:?}");
            assert!(up[0].contains("INFO") && up[0].contains("decides again"), "{up:?}");
            let mut all = entries([
                (
                    "rate_limit_decisions_total{method=login,outcome=allowed,decided_by=store,rule=1}",
                    2,
                ),
                (
                    "rate_limit_decisions_total{method=login,outcome=limited,decided_by=store,rule=1}",
                    4,
                ),
                ("rate_limit_store_seconds{store=other}", 9),
            ]);
            all.insert(
                format!("rate_limit_store_errors_total{{store=other,class={class},on_store_error={word}}}"),
                3,
            );
            for (outcome, by, count) in decisions {
                let rule = if by == "none" { "none" } else { "1" };
                all.insert(
                    format!("rate_limit_decisions_total{{method=login,outcome={outcome},decided_by={by},rule={rule}}}"),
                    count,
                );
            }
            assert_eq!(counts, all, "{class}, {word}");
        }
    }
}

#[test]
fn an_embedded_store_is_counted_and_not_timed() {
    let limiter = over(MemoryStore::new());
    let counts = counted(async {
        for _ in 0..5 {
            let _ = limiter.check(rule("a")).await;
        }
        let _ = limiter.check(rule("a").cost(3)).await;
        let _ = limiter.check_all(&[rule("a"), rule("a")]).await;
    });
    assert_eq!(
        counts,
        entries([
            (
                "rate_limit_decisions_total{method=login,outcome=allowed,decided_by=store,rule=1}",
                2
            ),
            (
                "rate_limit_decisions_total{method=login,outcome=limited,decided_by=store,rule=1}",
                3
            ),
            (
                "rate_limit_decisions_total{method=login,outcome=impossible,decided_by=store,rule=1}",
                1
            ),
            (
                "rate_limit_decisions_total{method=login,outcome=misconfigured,decided_by=none,rule=none}",
                1
            ),
        ])
    );
}

#[limit_per_time(1, "1h", key = user, name = "portal", deny_if = user == "mallory", skip_if = user == "root", reset_on_success)]
async fn portal(user: &str) -> Result<(), Rejection> {
    Ok(())
}

#[limit_per_time(policy = "none", key = "everybody", name = "unknown")]
async fn unknown() -> Result<(), Rejection> {
    Ok(())
}

#[test]
fn what_no_store_is_asked_about_is_counted_too() {
    let limiter = over(MemoryStore::new());
    let counts = counted(limiter.scope(async {
        for user in ["alice", "mallory", "", " ", "root"] {
            let _ = portal(user).await;
        }
        let _ = unknown().await;
    }));
    assert_eq!(
        counts,
        entries([
            (
                "rate_limit_decisions_total{method=portal,outcome=allowed,decided_by=store,rule=1}",
                1
            ),
            (
                "rate_limit_decisions_total{method=portal,outcome=denied,decided_by=none,rule=none}",
                1
            ),
            (
                "rate_limit_decisions_total{method=portal,outcome=missing_client,decided_by=none,rule=none}",
                2
            ),
            (
                "rate_limit_decisions_total{method=unknown,outcome=misconfigured,decided_by=none,rule=none}",
                1
            ),
        ])
    );
}

#[limit_per_time(5, "1h", key = user, name = "settled", reset_on_success)]
async fn settled(user: &str, store: &RemoteStore) -> Result<(), Rejection> {
    store.fails(true);
    Ok(())
}

#[test]
fn rst_07_a_reset_that_fails_is_counted() {
    let store = RemoteStore::new(MemoryStore::new(), StoreErrorKind::Timeout);
    let limiter = over(store.clone());
    let counts = counted(limiter.scope(async {
        assert_eq!(settled("alice", &store).await, Ok(()));
    }));
    assert_eq!(
        counts,
        entries([
            (
                "rate_limit_decisions_total{method=settled,outcome=allowed,decided_by=store,rule=1}",
                1
            ),
            ("rate_limit_store_seconds{store=other}", 1),
            ("rate_limit_unsettled_total{method=settled,class=timeout}", 1),
        ])
    );
    assert_eq!(limiter.unsettled(), 1);
}

#[test]
fn key_10_no_client_is_a_label() {
    let limiter = over(MemoryStore::new());
    let counts = counted(limiter.scope(async {
        for n in 0..1_000 {
            let _ = portal(&format!("student-{n}@portal.example.org")).await;
        }
    }));
    assert_eq!(
        counts,
        entries([(
            "rate_limit_decisions_total{method=portal,outcome=allowed,decided_by=store,rule=1}",
            1_000
        )])
    );
}

#[test]
fn each_metric_is_described() {
    let recorder = DebuggingRecorder::new();
    with_local_recorder(&recorder, || {
        let limiter = over(RemoteStore::new(MemoryStore::new(), StoreErrorKind::Timeout));
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let _ = runtime.expect("nothing hinders it").block_on(limiter.check(rule("a")));
    });
    let snapshot = recorder.snapshotter().snapshot().into_vec();
    for name in [
        "rate_limit_decisions_total",
        "rate_limit_store_errors_total",
        "rate_limit_store_seconds",
        "rate_limit_open_breakers",
    ] {
        assert!(snapshot.iter().any(|(key, ..)| key.key().name() == name), "{name}");
    }
    for (key, _, description, _) in snapshot {
        assert!(description.is_some(), "{key:?}");
    }
}

/// An alert on a series that is not there yet would see no data, and miss the first increase.
#[test]
fn f_59_what_alerts_go_by_is_zero_from_the_start() {
    let at_start = |store: Option<RemoteStore>| {
        let recorder = DebuggingRecorder::new();
        with_local_recorder(&recorder, || match store {
            Some(store) => over(store),
            None => over(MemoryStore::new()),
        });
        let values = recorder.snapshotter().snapshot().into_vec().into_iter();
        let entry = |(key, _, _, value): (metrics_util::CompositeKey, _, _, _)| {
            let labels: Vec<_> = key.key().labels().map(|label| label.value().to_owned()).collect();
            let zero = match value {
                DebugValue::Counter(count) => count == 0,
                DebugValue::Gauge(level) => level.into_inner() == 0.0,
                DebugValue::Histogram(_) => false,
            };
            assert!(zero, "{key:?}");
            (key.key().name().to_owned(), labels)
        };
        values.map(entry).collect::<BTreeSet<_>>()
    };
    let breakers = ("rate_limit_open_breakers".to_owned(), vec![]);
    assert_eq!(at_start(None), BTreeSet::from([breakers.clone()]));
    let mut expected = BTreeSet::from([breakers]);
    for (_, class) in CLASSES {
        for mode in ["open", "closed", "local"] {
            let labels = ["other", class, mode].map(str::to_owned).to_vec();
            expected.insert(("rate_limit_store_errors_total".to_owned(), labels));
        }
    }
    let store = RemoteStore::new(MemoryStore::new(), StoreErrorKind::Timeout);
    assert_eq!(at_start(Some(store)), expected);
}

#[limit_per_time(2, "1h", key = user, name = "stacked")]
#[limit_per_time(3, "1h", key = "everybody")]
async fn stacked(user: &str) -> Result<(), Rejection> {
    Ok(())
}

#[test]
fn f_59_a_label_tells_the_rule() {
    let limiter = over(MemoryStore::new());
    let by_hand = rule("a").place(200);
    let counts = counted(limiter.scope(async {
        // Of the first admission the address rule leaves less; of the third the second.
        for user in ["a", "a", "a", "b", "b"] {
            let _ = stacked(user).await;
        }
        let _ = limiter.check(by_hand).await;
    }));
    let series = |method, outcome, rule| {
        format!("rate_limit_decisions_total{{method={method},outcome={outcome},decided_by=store,rule={rule}}}")
    };
    let expected = [
        (series("stacked", "allowed", 1), 2),
        (series("stacked", "limited", 1), 1),
        (series("stacked", "allowed", 2), 1),
        (series("stacked", "limited", 2), 1),
    ];
    let mut expected = BTreeMap::from(expected);
    expected.insert(
        "rate_limit_decisions_total{method=login,outcome=allowed,decided_by=store,rule=more}".to_owned(),
        1,
    );
    assert_eq!(counts, expected);
}
