//! What is set up wrongly is said at the start, with the remedy and without a secret.

use std::error::Error;

use rate_limit::{BuildError, Limiter, OnStoreError, RedisStore, RejectionKind, Rule, StoreErrorKind};

use crate::common::{PATIENT, admits, admitted, key, limiter, per_minute, rule, strict};
use crate::probe::Probe;
use crate::support::RedisServer;

const SECRET: &str = "correct-horse";

/// What an operator sees of an error: all of it.
fn in_full(error: &BuildError) -> String {
    let mut text = format!("{error}\n{error:?}");
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(&format!("\n{error}\n{error:?}"));
        source = error.source();
    }
    text
}

async fn refused(url: &str) -> String {
    let error = RedisStore::builder(url).connect().await.expect_err("it cannot be used");
    let text = in_full(&error);
    assert!(!text.contains(SECRET), "{text}");
    assert!(!text.contains("wrong-guess"), "{text}");
    let error = Limiter::redis(url).await.expect_err("it cannot be used");
    assert_eq!(in_full(&error), text);
    text
}

fn url(server: &RedisServer, user: &str) -> String {
    server.url().replace("redis://", &format!("redis://{user}@"))
}

#[tokio::test]
async fn a_password_that_is_wrong_or_missing_is_said_at_the_start() {
    let server = RedisServer::start_with(&["--requirepass", SECRET]);
    let wrong = refused(&url(&server, ":wrong-guess")).await;
    assert!(wrong.contains("refuses the user or password of its URL"), "{wrong}");
    let unknown = refused(&url(&server, &format!("nobody:{SECRET}"))).await;
    assert!(unknown.contains("refuses the user or password of its URL"), "{unknown}");
    let missing = refused(&server.url()).await;
    assert!(
        missing.contains("put it into the URL, as in `redis://:password@host/`"),
        "{missing}"
    );

    let store = RedisStore::builder(&url(&server, &format!(":{SECRET}"))).deadline(PATIENT);
    let limiter = strict(store.connect().await.expect("it is right"));
    assert!(admits(&limiter, rule(5, "a")).await);
}

#[tokio::test]
async fn a_url_that_is_malformed_is_said_at_the_start() {
    for url in [
        "",
        "localhost",
        "http://localhost/",
        &format!("redis://:{SECRET}@host:port/"),
        &format!("reddis://:{SECRET}@h/"),
    ] {
        let text = refused(url).await;
        assert!(
            text.contains("`redis://[user][:password@]host[:port][/database]`"),
            "{url}: {text}"
        );
    }
    let error = RedisStore::builder("redis://127.0.0.1:1/")
        .deadline(std::time::Duration::ZERO)
        .connect()
        .await;
    assert!(in_full(&error.expect_err("no time")).contains("the deadline is zero"));
}

async fn user(server: &RedisServer, rights: &str) -> String {
    let probe = Probe::of(server).await;
    let _: () = probe.ask(&format!("ACL SETUSER app reset on >{SECRET} {rights}")).await;
    url(server, &format!("app:{SECRET}"))
}

const NEEDED: &str = "+evalsha +script|load +time +get +mget +getrange +set +setrange +append +pexpire \
                      +del +unlink +hset +hkeys";

#[tokio::test]
async fn the_permissions_that_the_error_names_suffice() {
    let server = RedisServer::start();
    let url = user(&server, &format!("~rate:* -@all {NEEDED}")).await;
    let store = RedisStore::builder(&url).prefix("rate:").deadline(PATIENT);
    let limiter = strict(store.connect().await.expect("it may do what it needs"));
    for count in [5, 200] {
        let permit = limiter.check(rule(count, "a")).await.expect("it fits");
        assert!(admits(&limiter, rule(count, "a").cost(3)).await);
        permit.reset().await.expect("it may");
        assert_eq!(
            limiter
                .peek(Rule::new(per_minute(count), key("a")))
                .await
                .expect("it may")
                .remaining,
            count - 3
        );
        limiter.reset(key("a")).await.expect("it may");
        assert!(admits(&limiter, rule(count, "a")).await);
        // A log that is long enough to be appended to, and several that are read at once.
        assert!(admits(&limiter, rule(100, "b").cost(20)).await);
        assert_eq!(admitted(&limiter, rule(100, "b"), 20).await, 20);
        limiter.reset(key("b")).await.expect("it may");
        assert_eq!(limiter.forget(key("a").client()).await.expect("it may"), 1);
    }
}

#[tokio::test]
async fn a_permission_to_load_scripts_that_is_missing_is_said_at_the_start() {
    let server = RedisServer::start();
    let text = refused(&user(&server, "~* +@all -script|load").await).await;
    assert!(text.contains("let its user run EVALSHA, SCRIPT|LOAD"), "{text}");
}

#[tokio::test]
async fn a_permission_to_run_scripts_that_is_missing_is_said_at_the_start() {
    let server = RedisServer::start();
    let text = refused(&user(&server, "~* +@all -evalsha").await).await;
    assert!(text.contains("let its user run EVALSHA, SCRIPT|LOAD"), "{text}");
}

#[tokio::test]
async fn a_permission_on_our_keys_that_is_missing_is_said_at_the_start() {
    let server = RedisServer::start();
    let text = refused(&user(&server, "~somewhere:else:* +@all").await).await;
    assert!(text.contains("on the keys under the prefix"), "{text}");
}

#[tokio::test]
async fn a_permission_that_a_script_lacks_is_a_misconfiguration() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    // The second call of a client appends to what the first one has set.
    for (lacking, client) in [("-get", "a"), ("-set", "b"), ("-append", "a"), ("-time", "a")] {
        let url = user(&server, "~* +@all").await;
        let store = RedisStore::builder(&url)
            .deadline(PATIENT)
            .connect()
            .await
            .expect("it may do all");
        let limiter = strict(store);
        assert!(admits(&limiter, rule(5, "a")).await);
        let _: () = probe.ask(&format!("ACL SETUSER app {lacking}")).await;
        let refused = limiter.check(rule(5, client)).await.expect_err("it may not");
        assert_eq!(refused.kind(), RejectionKind::Misconfigured, "{lacking}");
        let _: () = probe.ask("FLUSHALL").await;
    }
}

#[tokio::test]
async fn a_permission_that_is_taken_away_is_a_misconfiguration() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let url = user(&server, "~* +@all").await;
    let store = RedisStore::builder(&url)
        .deadline(PATIENT)
        .connect()
        .await
        .expect("it may do all");
    let limiter = strict(store);
    assert!(admits(&limiter, rule(5, "a")).await);
    let _: () = probe.ask("ACL SETUSER app -evalsha").await;
    let error = limiter
        .peek(Rule::new(per_minute(5), key("a")))
        .await
        .expect_err("it may not");
    assert_eq!(error.kind(), StoreErrorKind::Misconfigured);
    assert!(error.to_string().contains("let its user run EVALSHA"), "{error}");
    assert_eq!(
        limiter.check(rule(5, "a")).await.expect_err("it may not").kind(),
        RejectionKind::Misconfigured
    );
    // The other modes decide without it.
    assert!(
        limiter
            .check(rule(5, "a").on_store_error(OnStoreError::Local))
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn a_foreign_value_is_named_and_left_as_it_is() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let limiter = limiter(&server).await;
    assert!(admits(&limiter, rule(5, "a")).await);
    let ours = probe.key().await;
    let foreign: [&[u8]; 12] = [
        b"1",
        b"17",
        b"seven b",
        b"Lisbon, Portugal",
        b"L\0\0\0\0\0\0\0 and some",
        b"Rabat, Morocco, and a long way from here to the end",
        b"R\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        b"R\0\0\0\0\0\0\0\x01\0\0\0\x07\0\0\0\0\0\0\0",
        b"R\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x09\0\0\0",
        b"L",
        b"X\0\0\0\0\0\0\0seven b",
        b"{\"user\":\"alice\",\"expires\":1753000000}",
    ];
    for value in foreign {
        probe.set(&ours, value).await;
        for count in [5, 200] {
            let shown = value.escape_ascii();
            let error = limiter
                .peek(Rule::new(per_minute(count), key("a")))
                .await
                .expect_err("it is not ours");
            assert_eq!(error.kind(), StoreErrorKind::Unexpected, "{shown}");
            assert!(
                error.to_string().contains("give the store a prefix of its own"),
                "{error}"
            );
            let refused = limiter.check(rule(count, "a")).await.expect_err("it is not ours");
            assert_eq!(refused.kind(), RejectionKind::StoreUnavailable, "{shown}");
            assert_eq!(probe.value(&ours).await, value, "{shown}");
        }
    }
    let _: () = probe.ask("FLUSHALL").await;
    let permit = limiter.check(rule(5, "a")).await.expect("it fits");
    probe.set(&ours, b"a session").await;
    let error = permit.reset().await.expect_err("it is not ours");
    assert_eq!(error.kind(), StoreErrorKind::Unexpected);
    assert_eq!(probe.value(&ours).await, b"a session");

    for other in ["RPUSH", "SADD"] {
        let _: () = probe.ask("FLUSHALL").await;
        let _: u64 = probe.ask(&format!("{other} {ours} alice")).await;
        for count in [5, 200] {
            let error = limiter
                .peek(Rule::new(per_minute(count), key("a")))
                .await
                .expect_err("it is no string");
            assert_eq!(error.kind(), StoreErrorKind::Unexpected, "{other}");
            assert!(
                error.to_string().contains("give the store a prefix of its own"),
                "{error}"
            );
            limiter.check(rule(count, "a")).await.expect_err("it is no string");
        }
        assert_eq!(probe.key().await, ours);
    }
}
