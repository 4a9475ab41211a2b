//! What is asked on a terminal, through `script`, which makes one.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::command::{SECRET, json, said};
use crate::deployment::{EMAIL, call};
use crate::support::RedisServer;

/// Runs `forget` on a terminal, and answers. Tells what was to be read there, and the exit code.
fn forget(url: &str, answer: &str) -> (String, Option<i32>) {
    let mut terminal = Command::new("script")
        .args(["--quiet", "--return", "--command"])
        .arg(format!("'{}' forget {EMAIL}", env!("CARGO_BIN_EXE_rate-limit")))
        .arg("/dev/null")
        .env("RATE_LIMIT_STORE", url)
        .env("RATE_LIMIT_SECRET", SECRET)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("`script` is there (package util-linux or bsdutils)");
    let mut keyboard = terminal.stdin.take().expect("it is piped");
    keyboard.write_all(answer.as_bytes()).expect("it reads");
    let output = terminal.wait_with_output().expect("it ends");
    drop(keyboard);
    (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        output.status.code(),
    )
}

#[test]
fn a_person_is_asked_and_told_what_goes() {
    let server = RedisServer::start();
    let url = server.url();
    call(&url, "several");
    let (told, code) = forget(&url, "n\n");
    assert_eq!(code, Some(5), "{told}");
    assert!(
        told.contains("portal::login, client") && told.contains("portal::read, client"),
        "{told}"
    );
    assert!(
        told.contains("Go on? [y/N]") && told.contains("nothing was changed"),
        "{told}"
    );
    assert_eq!(
        json(&url, &["inspect", EMAIL])["counters"].as_array().map(Vec::len),
        Some(2)
    );
    let (told, code) = forget(&url, "y\n");
    assert_eq!(code, Some(0), "{told}");
    assert!(
        told.contains("2 counters are deleted, of portal::login, portal::read"),
        "{told}"
    );
    assert_eq!(said(&url, &["inspect", EMAIL]).code, Some(4));
}
