//! Stores that cannot be reached or refuse: exit code 3, soon, and without a secret.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::command::{rate_limit, said};
use crate::support::{MariaDbServer, PostgresServer, RedisServer};

const PASSWORD: &str = "hunter2-the-secret";

/// What a command says of a store that fails, which it does soon.
fn told(url: &str) -> String {
    let start = Instant::now();
    let said = said(url, &["top"]);
    assert!(
        start.elapsed() < Duration::from_secs(10),
        "{:?}: {said:?}",
        start.elapsed()
    );
    let told = said.failed(3).to_owned();
    assert!(!told.contains("hunter2"), "{told}");
    told
}

#[test]
fn a_server_that_is_not_there_is_told_without_its_password() {
    let nobody = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = nobody.local_addr().expect("it is bound").port();
    drop(nobody);
    for scheme in ["redis", "redis-cluster", "postgres", "mysql"] {
        let path = if scheme.starts_with("redis") { "" } else { "/app" };
        let told = told(&format!("{scheme}://user:{PASSWORD}@127.0.0.1:{port}{path}"));
        assert!(
            told.to_lowercase().contains("refused") || told.contains("did not answer"),
            "{scheme}: {told}"
        );
        assert!(
            told.contains(&format!("the store at {scheme}://127.0.0.1:{port}: ")),
            "{told}"
        );
    }
    told(&format!("redis-sentinel://user:{PASSWORD}@127.0.0.1:{port}/main"));
}

#[test]
fn a_server_that_does_not_answer_is_not_waited_for() {
    // It accepts, and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = silent.local_addr().expect("it is bound").port();
    for scheme in ["redis", "postgres", "mysql"] {
        let path = if scheme == "redis" { "" } else { "/app" };
        told(&format!("{scheme}://user:{PASSWORD}@127.0.0.1:{port}{path}"));
    }
}

#[test]
fn a_store_that_refuses_is_told_so() {
    let server = RedisServer::start_with(&["--requirepass", "another"]);
    assert!(told(&server.url()).contains("wants a password"));
    let wrong = server.url().replace("redis://", &format!("redis://:{PASSWORD}@"));
    assert!(told(&wrong).contains("refuses the user or password"));
    let with = server.url().replace("redis://", "redis://:another@");
    assert_eq!(said(&with, &["methods"]).code, Some(0));
    let _: () = redis::Client::open(with.as_str())
        .and_then(|client| {
            redis::cmd("ACL")
                .arg(&["SETUSER", "default", "-scan"])
                .query(&mut client.get_connection()?)
        })
        .expect("it answers");
    assert!(told(&with).contains("SCAN"));
    let there = PostgresServer::shared().url("nobody_has_made_it");
    assert!(told(&there).contains("does not exist"));
    let maria = MariaDbServer::shared()
        .url("mysql")
        .replace("root@", &format!("nobody:{PASSWORD}@"));
    assert!(told(&maria).contains("Access denied"));
}

#[test]
fn a_file_or_a_table_that_is_missing_is_never_made() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("app.sqlite");
    for mode in ["", "?mode=rwc"] {
        let told = told(&format!("sqlite:{}{mode}", file.display()));
        assert!(told.contains("app.sqlite") && told.contains("unable to open"), "{told}");
        assert!(!file.exists());
    }
    std::fs::write(&file, "").expect("it can be written");
    assert!(told(&format!("sqlite:{}", file.display())).contains("there is no table `rate_limit`"));
    assert_eq!(
        std::fs::metadata(&file).expect("it is there").len(),
        0,
        "nor is anything put into it"
    );
}

#[test]
fn a_url_that_is_none_and_a_secret_that_is_none_are_told() {
    for url in [
        "",
        "hunter2",
        "ftp://user:hunter2@there",
        "redis:/user:hunter2@there",
        "redis://user:hunter2@[::1/",
    ] {
        told(url);
    }
    told("postgres://user:hunter2@[::1/app");
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("app.sqlite");
    std::fs::write(&file, "").expect("it can be written");
    let url = format!("sqlite:{}", file.display());
    let short = rate_limit(&url, &["inspect", "alice"])
        .env("RATE_LIMIT_SECRET", "short")
        .output();
    let short = short.expect("it runs");
    assert!(!short.status.success());
    let no_store = rate_limit("", &["top"])
        .env_remove("RATE_LIMIT_STORE")
        .output()
        .expect("it runs");
    assert_eq!(no_store.status.code(), Some(2));
    let help = rate_limit(&format!("redis://:{PASSWORD}@there"), &["top", "--help"])
        .output()
        .expect("it runs");
    assert!(help.status.success() && !String::from_utf8_lossy(&help.stdout).contains("hunter2"));
    let short = rate_limit(&RedisServer::start().url(), &["inspect", "alice"])
        .env("RATE_LIMIT_SECRET", "short")
        .output();
    let short = short.expect("it runs");
    let error = String::from_utf8_lossy(&short.stderr);
    assert!(
        short.status.code() == Some(1) && error.contains("shorter than 16 bytes"),
        "{error}"
    );
}
