//! What is shown of calls.

use std::time::Duration;

use rate_limit::{
    Client, Key, Limiter, MemoryStore, Method, OnStoreError, Policies, Policy, Rule, StoreErrorKind, client,
};
use serde_json::{Value, json};

use crate::page::{Page, enrol, export, login};
use crate::remote_store::RemoteStore;

#[rate_limit::limit_per_time(3, "1m", name = "profile")]
async fn profile() -> Result<(), rate_limit::Rejection> {
    Ok(())
}

#[tokio::test]
async fn calls_are_counted_by_function_and_outcome() {
    let page = Page::open();
    let before = page.function("login").await;
    assert_eq!(before["totals"], json!({}));
    assert_eq!(before["limits"], json!([{ "policy": "5 in 10m", "entry": null }]));

    let calls = page.limiter.scope(async {
        for _ in 0..7 {
            let _ = login("alice").await;
        }
        let _ = login("bob").await;
        let _ = login(" ").await;
        for _ in 0..3 {
            let _ = export("mallory").await;
        }
        let _ = profile().await;
        client::scope("alice", async { profile().await })
            .await
            .expect("she is somebody");
    });
    calls.await;
    let function = page.function_later("login").await;
    assert_eq!(
        function["totals"],
        json!({ "allowed": 6, "limited": 2, "missing_client": 1 })
    );
    assert_eq!(function["near"], 2, "with one of five left, and with none");
    assert_eq!(page.function("export").await["totals"], json!({ "denied": 3 }));
    assert_eq!(
        page.function("profile").await["totals"],
        json!({ "allowed": 1, "misconfigured": 1 })
    );
    assert_eq!(page.function("enrol").await["totals"], json!({}));
}

/// What a second was is told once it is over.
#[tokio::test]
async fn calls_are_counted_by_the_second() {
    let page = Page::open();
    for _ in 0..7 {
        let _ = page.limiter.scope(login("alice")).await;
    }
    let _ = page.limiter.scope(login("")).await;
    let sum = |function: &Value, series: &str| -> u64 {
        let counts = function[series].as_array().expect("a list");
        counts.iter().filter_map(Value::as_u64).sum()
    };
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    loop {
        let function = page.function("login").await;
        let sums = ["admitted", "refused", "other"].map(|series| sum(&function, series));
        if sums == [5, 2, 1] {
            break;
        }
        assert!(std::time::Instant::now() < deadline, "{sums:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn who_is_refused_is_listed_until_he_is_not() {
    let page = Page::open();
    page.limiter
        .scope(async {
            for _ in 0..8 {
                let _ = login("alice").await;
            }
            for _ in 0..3 {
                let _ = enrol("alice", 7).await;
            }
        })
        .await;
    let refused = page.limiter.scope(login("alice")).await.expect_err("five are enough");
    assert!(refused.is_limited());
    let state = page.state().await;
    let clients = state["refused"]["clients"].as_array().expect("a list");
    let by = |function: &str| {
        clients
            .iter()
            .find(|client| client["function"] == function)
            .expect("it refuses")
    };
    assert_eq!(clients.len(), 2);
    let at_login = by("login");
    assert_eq!(
        (&at_login["times"], &at_login["policy"]),
        (&json!(4), &json!("5 in 10m"))
    );
    let wait = at_login["retry_after_ms"].as_u64().expect("a number");
    assert!((590_000..=600_000).contains(&wait), "{wait}");
    assert_eq!(by("enrol")["policy"], "2 and one more each 1h");
    assert!(!state.to_string().contains("alice"));

    let alice = Client::of("alice").expect("somebody");
    page.limiter
        .reset(Key::new(Method::named("login"), alice))
        .await
        .expect("it is in memory");
    let state = page.state_later().await;
    let functions: Vec<_> = state["refused"]["clients"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| &one["function"])
        .collect();
    assert_eq!(functions, ["enrol"], "who is released is listed no more");
}

/// Numbers that the program tells only when it calls, and numbers from configuration.
#[tokio::test]
async fn the_policies_are_those_in_force() {
    let page = Page::open();
    let policy = |function: Value| function["limits"][0]["policy"].clone();
    assert_eq!(policy(page.function("export").await), Value::Null);
    page.limiter.scope(export("alice")).await.expect("the first");
    assert_eq!(policy(page.function_later("export").await), "1 in 1m");

    let policies = Policies::new().with("login", Policy::fixed_window(9, Duration::from_secs(60)));
    page.limiter.set_policies(policies).expect("nothing asks for another");
    assert_eq!(policy(page.function_later("login").await), "9 in each 1m");
}

/// What is limited by hand is shown like what is annotated.
#[tokio::test]
async fn a_function_that_is_not_annotated_is_shown_once_it_is_called() {
    let page = Page::open();
    let key = Key::new(Method::named("by-hand"), Client::of("alice").expect("somebody"));
    let rule = Rule::new(Policy::token_bucket(2, Duration::from_secs(60)), key);
    let permit = page.limiter.check_all(&[rule, rule.place(1)]).await.expect("the first");
    assert!(permit.decision().is_some());
    let function = page.function("by-hand").await;
    assert_eq!(function["totals"], json!({ "allowed": 1 }));
    let policy = json!({ "policy": "2 and one more each 1m", "entry": null });
    assert_eq!(function["limits"], json!([policy, policy]));
}

/// Nobody else's calls.
#[tokio::test]
async fn a_page_shows_the_calls_of_its_own_limiter() {
    let (page, other) = (Page::open(), Page::open());
    page.limiter.scope(login("alice")).await.expect("the first");
    assert_eq!(page.function("login").await["totals"], json!({ "allowed": 1 }));
    assert_eq!(other.function("login").await["totals"], json!({}));
}

#[tokio::test]
async fn it_is_shown_that_the_fallback_decides() {
    let store = RemoteStore::new(MemoryStore::new(), StoreErrorKind::Unavailable);
    let limiter = Limiter::builder()
        .store(store.clone())
        .instances(2.try_into().expect("two"))
        .build()
        .expect("no secret is set");
    let page = Page::of(limiter);
    page.limiter.scope(login("alice")).await.expect("the first");
    assert_eq!(page.state().await["store"]["degraded"], false);

    store.fails(true);
    for _ in 0..4 {
        let _ = page.limiter.scope(login("alice")).await;
    }
    let key = Key::new(Method::named("login"), Client::of("bob").expect("somebody"));
    let closed =
        Rule::new(Policy::sliding_window(5, Duration::from_secs(600)), key).on_store_error(OnStoreError::Closed);
    assert!(page.limiter.check(closed).await.is_err());
    let open = closed.on_store_error(OnStoreError::Open);
    page.limiter.check(open).await.expect("it is open");
    let unknown = Key::new(Method::named("offline"), key.client());
    let rule = Rule::new(Policy::sliding_window(5, Duration::from_secs(600)), unknown);
    page.limiter.check(rule).await.expect("the first");
    let state = page.state_later().await;
    assert_eq!(
        state["store"],
        json!({ "kind": "other", "degraded": true, "open_breakers": 0, "unsettled": 0 })
    );
    let function = page.function("login").await;
    assert_eq!(
        function["totals"],
        json!({ "allowed": 4, "limited": 2, "store_unavailable": 1 })
    );
    assert_eq!(function["by_fallback"], 4);
    let offline = page.function("offline").await;
    assert_eq!(
        offline["limits"],
        json!([]),
        "the share of one instance is not its policy"
    );

    store.fails(false);
    page.limiter.scope(login("bob")).await.expect("the first");
    assert_eq!(page.state_later().await["store"]["degraded"], false);
}

impl Page {
    /// What is shown in the next second: in one second all who ask are told the same.
    pub async fn state_later(&self) -> Value {
        let second = |state: &Value| state["second"].as_u64();
        let now = self.state().await;
        loop {
            tokio::time::sleep(Duration::from_millis(20)).await;
            let state = self.state().await;
            if second(&state) > second(&now) {
                return state;
            }
        }
    }

    async fn function_later(&self, name: &str) -> Value {
        self.state_later().await;
        self.function(name).await
    }
}
