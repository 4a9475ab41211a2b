//! The visit counter.

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::example::Server;
use crate::support::RedisServer;

struct Visitor<'a> {
    address: &'a str,
    agent: &'a str,
}

/// A visit through the trusted proxy that this test is.
fn visit(server: &Server, visitor: &Visitor<'_>) -> bool {
    let mut response = ureq::post(format!("{}/api/stats/visit", server.url))
        .header("x-forwarded-for", visitor.address)
        .header("user-agent", visitor.agent)
        .send_empty()
        .expect("always 200");
    assert_eq!(response.status(), 200);
    let body = response.body_mut().read_to_string().expect("a body is text");
    let answer: Value = serde_json::from_str(&body).expect("JSON");
    let counted = answer["counted"].as_bool().expect("a flag");
    assert_eq!(answer, json!({ "ok": true, "counted": counted }));
    counted
}

fn person(address: &str) -> Visitor<'_> {
    Visitor { address, agent: "" }
}

fn visits(server: &Server) -> i64 {
    let mut response = ureq::get(format!("{}/api/stats", server.url))
        .call()
        .expect("it answers");
    let body = response.body_mut().read_to_string().expect("a body is text");
    let answer: Value = serde_json::from_str(&body).expect("JSON");
    answer["visits"].as_i64().expect("a number")
}

/// Instances on one database, behind a proxy on this machine.
fn start(database: &TempDir, redis: Option<&str>) -> Server {
    let database = format!("sqlite:{}", database.path().join("visits.sqlite").display());
    let mut variables = vec![
        ("DATABASE_URL", database.as_str()),
        ("TRUSTED_PROXIES", "127.0.0.0/8, 10.0.0.0/8"),
    ];
    variables.extend(redis.map(|url| ("REDIS_URL", url)));
    Server::start("visits", &variables)
}

fn one_a_minute_for_each_address_and_no_bots(server: &Server) {
    let bot = Visitor {
        address: "192.0.2.1",
        agent: "Mozilla/5.0 (compatible; GoogleBot/2.1)",
    };
    assert!(!visit(server, &bot));
    assert!(visit(server, &person("192.0.2.1")), "the bot used up nobody's minute");
    assert!(!visit(server, &person("192.0.2.1")));
    assert!(
        !visit(server, &person("192.0.2.1:4711, 10.0.0.7")),
        "by another port and through one more proxy"
    );
    assert!(visit(server, &person("192.0.2.2")));
    // What a client invents stands left of what the proxy adds.
    for n in 0..20 {
        assert_eq!(visit(server, &person(&format!("198.51.100.{n}, 192.0.2.3"))), n == 0);
    }
    assert!(visit(server, &person("198.51.100.1")), "and takes nobody's minute");
    assert_eq!(visits(server), 4);
}

#[test]
fn visits_on_the_embedded_store() {
    let database = TempDir::new().expect("a folder");
    one_a_minute_for_each_address_and_no_bots(&start(&database, None));
}

#[test]
fn visits_on_redis_by_two_instances() {
    let (redis, database) = (RedisServer::start(), TempDir::new().expect("a folder"));
    let one = start(&database, Some(&redis.url()));
    one_a_minute_for_each_address_and_no_bots(&one);
    let other = start(&database, Some(&redis.url()));
    assert!(!visit(&other, &person("192.0.2.1")), "one budget");
    assert!(visit(&other, &person("192.0.2.9")));
    assert!(!visit(&one, &person("192.0.2.9")));
    assert_eq!(visits(&other), 5);
}

#[test]
fn visits_count_while_redis_is_down() {
    let (mut redis, database) = (RedisServer::start(), TempDir::new().expect("a folder"));
    let server = start(&database, Some(&redis.url()));
    assert!(visit(&server, &person("192.0.2.1")));
    redis.stop();
    for _ in 0..3 {
        assert!(
            visit(&server, &person("192.0.2.1")),
            "open: statistics are worth less than a page load"
        );
    }
    assert_eq!(visits(&server), 4);
}
