//! What a client is told of how it stands.

use std::time::Duration;

use http::HeaderMap;
use rate_limit::{Client, Decision, HeaderDialect, Key, Limiter, ManualClock, MemoryStore, Method, Policy, Rule};
use sfv::{BareItem, List, ListEntry, Parser};

fn decision(calls: u32, advance: Duration) -> Decision {
    let clock = ManualClock::new();
    let store = MemoryStore::builder().clock(&clock).build();
    let limiter = Limiter::builder().store(store).build().expect("no secret is set");
    let policy = Policy::sliding_window(5, Duration::from_secs(600));
    let rule = Rule::new(
        policy,
        Key::new(Method::named("login"), Client::of("a").expect("it names somebody")),
    );
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime starts");
    runtime.block_on(async {
        for _ in 1..calls {
            let _ = limiter.check(rule).await;
        }
        clock.advance(advance);
        match limiter.check(rule).await {
            Ok(permit) => *permit.decision().expect("it was decided"),
            Err(rejection) => *rejection.decision().expect("it was decided"),
        }
    })
}

fn written(dialect: HeaderDialect, name: &str, decision: &Decision) -> HeaderMap {
    let mut headers = HeaderMap::new();
    dialect.write(name, decision, &mut headers);
    headers
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().expect("ASCII"))
}

/// The name and parameters of a list of one item, by a strict parser of RFC 9651.
fn parsed(value: &str) -> (String, Vec<(String, i64)>) {
    let list: List = Parser::new(value).parse().expect("a structured field");
    let [ListEntry::Item(item)] = list.as_slice() else {
        panic!("one item: {value}");
    };
    let BareItem::String(name) = &item.bare_item else {
        panic!("a string: {value}");
    };
    let parameters = item.params.iter().map(|(key, value)| match value {
        BareItem::Integer(number) => (key.to_string(), i64::from(*number)),
        other => panic!("a number: {other:?}"),
    });
    (name.as_str().to_owned(), parameters.collect())
}

fn pair(key: &str, value: i64) -> (String, i64) {
    (key.to_owned(), value)
}

#[test]
fn hdr_02_the_draft_is_in_seconds_from_now() {
    let refused = decision(6, Duration::from_millis(563_000));
    let headers = written(HeaderDialect::Draft11, "login", &refused);
    assert_eq!(text(&headers, "ratelimit-policy"), Some("\"login\";q=5;w=600"));
    assert_eq!(text(&headers, "ratelimit"), Some("\"login\";r=0;t=37"));
    let admitted = written(HeaderDialect::Draft11, "login", &decision(2, Duration::ZERO));
    let (name, left) = parsed(text(&admitted, "ratelimit").expect("it is written"));
    assert_eq!((name.as_str(), left), ("login", vec![pair("r", 3), pair("t", 600)]));
}

#[test]
fn hdr_02_any_name_gives_a_structured_field() {
    for (name, shown) in [
        ("a \"quoted\\ name", "a \"quoted\\ name"),
        ("Anmeldung für alle", "Anmeldung f?r alle"),
        ("", ""),
    ] {
        let headers = written(HeaderDialect::Draft11, name, &decision(1, Duration::ZERO));
        let (policy, quota) = parsed(text(&headers, "ratelimit-policy").expect("it is written"));
        assert_eq!((policy.as_str(), quota), (shown, vec![pair("q", 5), pair("w", 600)]));
    }
}

#[test]
fn hdr_02_the_older_headers_are_in_seconds_from_now_too() {
    let headers = written(
        HeaderDialect::XRateLimit,
        "login",
        &decision(6, Duration::from_millis(562_001)),
    );
    assert_eq!(text(&headers, "x-ratelimit-limit"), Some("5"));
    assert_eq!(text(&headers, "x-ratelimit-remaining"), Some("0"));
    assert_eq!(text(&headers, "x-ratelimit-reset"), Some("38"), "rounded up");
    assert!(written(HeaderDialect::None, "login", &decision(6, Duration::ZERO)).is_empty());
}
