//! A client is looked up and released, and not named.

use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, SystemTime};

use rate_limit::{
    Client, Key, Limiter, ManualClock, MemoryStore, Method, Policy, Rejection, Rule, StoreErrorKind, limit_per_time,
};
use serde_json::{Value, json};

use crate::log;
use crate::page::{Page, enrol, export, login};
use crate::remote_store::RemoteStore;

fn standings(found: &Value) -> Vec<&Value> {
    let clients = found["clients"].as_array().expect("a list");
    clients
        .iter()
        .flat_map(|client| client["limits"].as_array().expect("a list"))
        .collect()
}

fn at<'a>(found: &'a Value, function: &str) -> &'a Value {
    standings(found)
        .into_iter()
        .find(|limit| limit["function"] == function)
        .expect("it is known")
}

#[tokio::test]
async fn a_client_is_looked_up_at_every_function() {
    let page = Page::open();
    page.limiter
        .scope(async {
            for _ in 0..6 {
                let _ = login("alice").await;
            }
            export("alice").await.expect("the first");
        })
        .await;
    let found = page.post("look-up", r#"{"parts":["alice"]}"#).await.json();
    let at_login = at(&found, "login");
    let attempts = at_login["attempts"].as_array().expect("a list");
    assert_eq!(attempts.len(), 5);
    assert!(attempts.is_sorted_by_key(|time| time.as_u64()) && attempts[0].as_u64() > Some(1_700_000_000_000));
    assert_eq!(
        (&at_login["allowed"], &at_login["remaining"], &at_login["limit"]),
        (&json!(false), &json!(0), &json!(5))
    );
    let wait = at_login["retry_after_ms"].as_u64().expect("a number");
    assert!((590_000..=600_000).contains(&wait), "{wait}");
    assert_eq!(at(&found, "export")["policy"], "1 in 1m", "as the call told it");
    let at_profile = at(&found, "profile");
    assert_eq!(
        (&at_profile["allowed"], &at_profile["remaining"]),
        (&json!(true), &json!(3))
    );

    // Nothing was charged by that.
    let again = page.post("look-up", r#"{"parts":["alice"]}"#).await.json();
    assert_eq!(at(&again, "login")["attempts"], at_login["attempts"]);
}

#[limit_per_time(algorithm = token_bucket, capacity = 3, refill = "50s", key = member, at = at, name = "read")]
async fn read(member: &str, at: SystemTime) -> Result<(), Rejection> {
    Ok(())
}

/// A store that is decades ahead of the wall clock of the process that has the page.
#[tokio::test]
async fn f_70_a_client_is_looked_up_by_the_clock_of_the_store_alone() {
    let clock = ManualClock::new();
    clock.advance(Duration::from_secs(130 * 365 * 86_400));
    let store = MemoryStore::builder().clock(&clock).build();
    let page = Page::of(Limiter::builder().store(store).build().expect("no secret is set"));
    page.limiter
        .scope(async {
            login("alice").await.expect("the first");
            read("alice", clock.wall_clock()).await.expect("the first");
        })
        .await;
    let found = page.post("look-up", r#"{"parts":["alice"]}"#).await.json();
    assert_eq!(at(&found, "read")["remaining"], 2);
    assert_eq!(at(&found, "read")["reset_after_ms"], 50_000);
    let shown = |found: &Value| at(found, "login")["attempts"][0].as_u64().expect("a time");
    let admitted = shown(&found);
    clock.step_wall_clock_back(Duration::from_secs(3_600));
    let found = page.post("look-up", r#"{"parts":["alice"]}"#).await.json();
    assert_eq!(shown(&found), admitted - 3_600_000, "by the wall clock of now");
}

#[tokio::test]
async fn what_is_not_known_yet_is_told() {
    let page = Page::open();
    let found = page.post("look-up", r#"{"parts":["alice"]}"#).await.json();
    assert_eq!(found["unknown"], json!(["export"]));
    assert_eq!(found["clients"].as_array().map(Vec::len), Some(1));
    assert!(standings(&found).iter().all(|limit| limit["reset_after_ms"] == 0));
}

/// Text, a number, an address; one part or two.
#[tokio::test]
async fn whoever_may_be_meant_is_found_and_released() {
    let page = Page::open();
    let policy = Policy::sliding_window(1, Duration::from_secs(60));
    let address = IpAddr::from(Ipv4Addr::new(192, 0, 2, 7));
    let clients = [
        Client::of(&20_230_001_u64),
        Client::of("20230001"),
        Client::of(&address),
    ];
    let rules = clients.map(|client| Rule::new(policy, Key::new(Method::named("by-id"), client.expect("somebody"))));
    for rule in rules {
        page.limiter.check(rule).await.expect("the first");
    }
    page.limiter.scope(enrol("alice", 7)).await.expect("the first");

    let number = r#"{"parts":["20230001"]}"#;
    let found = page.post("look-up", number).await.json();
    assert_eq!(
        found["clients"].as_array().map(Vec::len),
        Some(2),
        "the number and the text"
    );
    let pair = page.post("look-up", r#"{"parts":["alice","7"]}"#).await.json();
    assert_eq!(at(&pair, "enrol")["remaining"], 1);

    assert_eq!(page.post("release", number).await.json(), json!({ "counters": 2 }));
    let admitted = async |rule| page.limiter.peek(rule).await.expect("memory").allowed;
    assert_eq!(
        [
            admitted(rules[0]).await,
            admitted(rules[1]).await,
            admitted(rules[2]).await
        ],
        [true, true, false]
    );
    let by_address = page
        .post("release", r#"{"parts":["192.0.2.7"],"function":"by-id"}"#)
        .await;
    assert_eq!(by_address.json(), json!({ "counters": null }));
    assert!(admitted(rules[2]).await);
}

#[tokio::test]
async fn a_client_is_released_at_one_function_and_stays_counted_at_others() {
    let page = Page::open();
    page.limiter
        .scope(async {
            for _ in 0..6 {
                let _ = login("alice").await;
            }
            export("alice").await.expect("the first");
        })
        .await;
    page.post("release", r#"{"parts":["alice"],"function":"login"}"#)
        .await
        .json();
    assert!(page.limiter.scope(login("alice")).await.is_ok());
    assert!(page.limiter.scope(export("alice")).await.is_err());
    page.post("release", r#"{"parts":["alice"]}"#).await.json();
    assert!(page.limiter.scope(export("alice")).await.is_ok());
}

/// Who is listed is looked up by what is listed of him.
#[tokio::test]
async fn who_is_refused_is_found_by_his_hash() {
    let page = Page::open();
    for _ in 0..6 {
        let _ = page.limiter.scope(login("alice")).await;
    }
    let listed = page.state().await["refused"]["clients"][0]["client"].clone();
    let who = json!({ "client": listed }).to_string();
    let found = page.post("look-up", &who).await.json();
    assert_eq!(found["clients"][0]["client"], listed);
    assert_eq!(at(&found, "login")["allowed"], false);
    assert_eq!(page.post("release", &who).await.json(), json!({ "counters": 1 }));
    assert!(page.limiter.scope(login("alice")).await.is_ok());
    let gone = page.post("look-up", &who).await;
    assert_eq!(gone.status, 404);
    assert_eq!(
        gone.detail(),
        "this client is not refused any more: look it up by its id"
    );
}

/// What is wrong with it is told without repeating it.
#[tokio::test]
async fn a_body_that_is_not_the_pages_is_refused_and_not_repeated() {
    let page = Page::open();
    let ids = r#"["alice-1234",""]"#;
    let large = format!(r#"{{"parts":["{}"]}}"#, "alice-1234".repeat(2_000));
    for (status, body) in [
        (422, ""),
        (422, "alice-1234"),
        (422, "{}"),
        (422, "[\"alice-1234\"]"),
        (422, r#"{"parts":"alice-1234"}"#),
        (422, r#"{"alice-1234":1,"parts":["alice-1234"]}"#),
        (422, r#"{"parts":["alice-1234"],"client":"alice-1234"}"#),
        (422, r#"{"parts":[]}"#),
        (422, &format!(r#"{{"parts":{ids}}}"#)),
        (404, r#"{"client":"alice-1234"}"#),
        (413, &large),
    ] {
        for path in ["look-up", "release"] {
            let answer = page.post(path, body).await;
            assert_eq!(answer.status, status, "{path} {body}: {}", answer.text);
            assert!(!answer.detail().contains("alice"), "{}", answer.text);
        }
    }
    let unknown = page.post("release", r#"{"parts":["alice"],"function":"logout"}"#).await;
    assert_eq!(
        (unknown.status.as_u16(), unknown.detail()),
        (404, "no function of this name is limited here".to_owned())
    );
    // Two parts that may each be many things are asked for; eleven are not.
    let number = vec!["7"; 11];
    let answer = page.post("look-up", &json!({ "parts": number }).to_string()).await;
    assert_eq!(answer.status, 422);
    assert!(
        answer.detail().starts_with("the id may be read in too many ways"),
        "{}",
        answer.text
    );
}

#[tokio::test]
async fn a_store_that_does_not_answer_is_told() {
    let store = RemoteStore::new(MemoryStore::new(), StoreErrorKind::Unavailable);
    let page = Page::of(
        Limiter::builder()
            .store(store.clone())
            .build()
            .expect("no secret is set"),
    );
    store.fails(true);
    for path in ["look-up", "release"] {
        let answer = page.post(path, r#"{"parts":["alice"]}"#).await;
        assert_eq!(
            (answer.status.as_u16(), answer.headers["retry-after"].as_bytes()),
            (503, b"1".as_slice())
        );
        assert_eq!(
            answer.detail(),
            "the store does not answer, so nothing was looked up or released: it fails on command"
        );
    }
    store.fails(false);
    assert_eq!(page.post("look-up", r#"{"parts":["alice"]}"#).await.status, 200);
}

#[tokio::test]
async fn nothing_names_a_client() {
    log::install();
    log::take();
    let page = Page::open();
    for _ in 0..7 {
        let _ = page.limiter.scope(login("alice@example.org")).await;
    }
    let mut texts = Vec::new();
    for (path, body) in [
        ("look-up", r#"{"parts":["alice@example.org"]}"#),
        ("release", r#"{"parts":["alice@example.org"],"function":"login"}"#),
        ("release", r#"{"parts":["alice@example.org"]}"#),
        ("release", r#"{"parts":["alice@example.org", ""]}"#),
    ] {
        texts.push(page.post(path, body).await.text);
    }
    texts.push(page.state().await.to_string());
    let logged = log::take();
    let released: Vec<_> = logged
        .iter()
        .filter(|line| line.contains("an operator released a client"))
        .collect();
    assert_eq!(released.len(), 2, "{logged:?}");
    texts.extend(logged);
    for text in texts {
        assert!(!text.contains("alice") && !text.contains("example.org"), "{text}");
    }
}
