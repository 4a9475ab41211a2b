//! What is told of a counter.

use crate::command::{json, rate_limit, said};
use crate::deployment::{EMAIL, call};
use crate::support::RedisServer;
use rate_limit::StoredRule;
use sqlx::Connection as _;
use tempfile::TempDir;

#[test]
fn a_block_is_told() {
    let server = RedisServer::start();
    call(&server.url(), "blocked");
    let inspected = json(&server.url(), &["inspect", EMAIL]);
    let counter = &inspected["counters"][0];
    assert_eq!(
        (&counter["allowed"], &counter["blocked"]),
        (&false.into(), &true.into())
    );
    let wait = counter["retry_after_seconds"].as_f64().expect("it is refused");
    assert!(wait > 1_700.0 && wait <= 1_800.0, "{wait}");
    let text = said(&server.url(), &["inspect", EMAIL]);
    assert!(
        text.out.contains("portal::login  (3 in 10m, then blocked for 30m)"),
        "{text:?}"
    );
    assert!(text.out.contains(", blocked, 0 of 3 left, whole again in "), "{text:?}");
    assert!(!text.out.contains("alice"), "{text:?}");
    let top = said(&server.url(), &["top"]);
    assert!(top.out.contains("3/3") && top.out.contains("blocked"), "{top:?}");
    assert!(top.out.contains("1 counter, 1 refused now, 1 shown"), "{top:?}");
}

#[test]
fn f_44_each_set_of_numbers_of_a_function_is_told_and_let_go() {
    let server = RedisServer::start();
    let url = server.url();
    call(&url, "plans");
    for by in [&["--policy", "5 in 10m"][..], &[]] {
        let arguments = [&["inspect", "--method", "login"][..], by, &[EMAIL]].concat();
        let inspected = json(&url, &arguments);
        let mut told: Vec<_> = inspected["counters"]
            .as_array()
            .expect("there are some")
            .iter()
            .map(|counter| {
                let policy = counter["policy"].as_str().expect("it is known");
                let admitted = counter["admitted"].as_array().expect("it is a window").len();
                (policy, counter["remaining"].as_u64(), admitted)
            })
            .collect();
        told.sort_unstable();
        assert_eq!(told, [("10 in 10m", Some(6), 4), ("3 in 10m", Some(0), 3)]);
    }
    let reset = json(&url, &["reset", "--yes", "--method", "portal::Plan::login", EMAIL]);
    assert_eq!(reset["deleted"].as_array().map(Vec::len), Some(2), "{reset}");
    let none = said(&url, &["inspect", EMAIL]);
    assert!(!none.out.contains("portal::Plan::login"), "{none:?}");
}

#[test]
fn a_policy_of_the_operator_takes_the_place_of_the_one_that_is_stored() {
    let server = RedisServer::start();
    let url = server.url();
    call(&url, "several");
    let by = |policy| {
        json(
            &url,
            &["inspect", "--method", "portal::login", "--policy", policy, EMAIL],
        )
    };
    let counter = &by("10 in 10m")["counters"][0];
    assert_eq!((&counter["allowed"], &counter["remaining"]), (&true.into(), &7.into()));
    assert_eq!(counter["policy"], "10 in 10m");
    let other = said(
        &url,
        &[
            "inspect",
            "--method",
            "portal::login",
            "--policy",
            "3 in each 10m",
            EMAIL,
        ],
    );
    assert!(other.failed(4).contains("no counters of a fixed window"), "{other:?}");
    let none = said(
        &url,
        &["inspect", "--method", "portal::login", "--policy", "5 in 10", EMAIL],
    );
    assert!(none.failed(2).contains("`10` has no unit: write `10s`"), "{none:?}");
    assert_eq!(said(&url, &["inspect", "--policy", "5 in 10m", EMAIL]).code, Some(2));
}

#[test]
fn another_prefix_is_another_deployment() {
    let server = RedisServer::start();
    let url = server.url();
    call(&url, "prefixed");
    let none = said(&url, &["inspect", EMAIL]);
    assert!(none.failed(4).contains("--prefix"), "{none:?}");
    assert_eq!(
        json(&url, &["inspect", "--prefix", "staging:", EMAIL])["counters"]
            .as_array()
            .map(Vec::len),
        Some(2)
    );
    let by_variable = rate_limit(&url, &["top", "--json"])
        .env("RATE_LIMIT_PREFIX", "staging:")
        .output();
    assert!(String::from_utf8_lossy(&by_variable.expect("it runs").stdout).contains("portal::read"));
    let nothing = said(&url, &["methods"]);
    assert!(
        nothing.code == Some(0) && nothing.error.contains("no names"),
        "{nothing:?}"
    );
    let unknown = said(&url, &["top", "--method", "login"]);
    assert!(unknown.failed(4).contains("nor any other"), "{unknown:?}");
}

#[test]
fn a_server_without_policies_still_tells_that_there_are_counters() {
    let server = RedisServer::start();
    let url = server.url();
    call(&url, "several");
    let _: u64 = server
        .nodes()
        .ask(server.port(), "DEL rl1:policies")
        .expect("it answers");
    let inspected = said(&url, &["inspect", EMAIL]);
    assert_eq!(inspected.code, Some(0));
    assert!(
        inspected.out.contains("portal::login  (policy not known)"),
        "{inspected:?}"
    );
    assert!(inspected.error.contains("--policy"), "{inspected:?}");
    let _: u64 = server
        .nodes()
        .ask(server.port(), "DEL rl1:methods")
        .expect("it answers");
    let top = said(&url, &["top"]);
    assert!(
        top.out.contains("3 counters, 0 refused now") && top.out.contains("HSET"),
        "{top:?}"
    );
}

#[tokio::test]
async fn a_database_without_names_tells_hashes_and_how_to_get_names() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("app.sqlite");
    std::fs::write(&file, "").expect("it can be written");
    let url = format!("sqlite:{}", file.display());
    call(&url, "several");
    let mut connection = sqlx::SqliteConnection::connect(&url).await.expect("it opens");
    let drop = sqlx::query("DROP TABLE rate_limit_methods").execute(&mut connection);
    drop.await.expect("it is there");

    let top = said(&url, &["top"]);
    let id = StoredRule::new("portal::login", rate_limit::Algorithm::TokenBucket, 0).id;
    assert!(top.code == Some(0) && top.out.contains(&id), "{top:?}");
    assert!(
        top.out.contains("SqlStore::create_table") && top.out.contains("3 counters"),
        "{top:?}"
    );
    let inspected = said(&url, &["inspect", EMAIL]);
    assert!(
        inspected.code == Some(0) && inspected.out.contains(&id),
        "{inspected:?}"
    );
    assert!(inspected.error.contains("SqlStore::create_table"), "{inspected:?}");

    let policy = "3 and one more each 8m20s";
    let by_policy = json(
        &url,
        &["inspect", "--method", "portal::login", "--policy", policy, EMAIL],
    );
    assert_eq!(by_policy["counters"][0]["allowed"], false);
    let most = json(&url, &["top", "--method", "portal::login", "--policy", policy]);
    assert_eq!((&most["seen"], &most["refused"]), (&2.into(), &1.into()));
    let reset = json(&url, &["reset", "--yes", "--method", "portal::login", EMAIL]);
    assert_eq!(reset["deleted"][0]["id"], id);
    let forgotten = json(&url, &["forget", "--yes", EMAIL]);
    assert_eq!(
        forgotten["deleted"].as_array().map(Vec::len),
        Some(1),
        "the other one is left"
    );
}

#[test]
fn f_26_a_name_that_somebody_put_into_the_store_does_not_steer_the_terminal() {
    let server = RedisServer::start();
    let url = server.url();
    call(&url, "several");
    for (name, shown) in [
        ("m::\u{1b}[2J", r"m::\u{1b}[2J"),
        ("m::\r\nportal::login", r"m::\r\nportal::login"),
        ("m::\u{202e}nigol", r"m::\u{202e}nigol"),
    ] {
        let id = StoredRule::new(name, rate_limit::Algorithm::SlidingWindow, 0).id;
        let _: u64 = server
            .nodes()
            .ask(server.port(), &format!("HSET rl1:methods {id} {name}"))
            .expect("it answers");
        let methods = json(&url, &["methods"]);
        let methods = methods["methods"].as_array().expect("a list");
        assert!(methods.iter().any(|method| method["method"] == shown), "{methods:?}");
        for command in [&["methods"][..], &["top"], &["inspect", "--method", "nowhere", EMAIL]] {
            let said = said(&url, command);
            for printed in [&said.out, &said.error] {
                let steers = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
                assert!(!printed.contains(steers), "{command:?}: {printed:?}");
                assert!(
                    !printed.contains("m::\r\n") && !printed.lines().any(|line| line == "portal::login"),
                    "{printed:?}"
                );
            }
        }
    }
}
