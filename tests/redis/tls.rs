//! Redis over TLS, with certificates that the test makes.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use rate_limit::RedisStore;
use tempfile::TempDir;

use crate::common::{PATIENT, admits, rule, strict};
use crate::support::RedisServer;

fn openssl(folder: &Path, args: &str) {
    let made = Command::new("openssl")
        .args(args.split_whitespace())
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(made.expect("these tests need `openssl`").success(), "{args}");
}

/// An authority, and a certificate of it for loopback.
fn certificates() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    let at = folder.path();
    openssl(
        at,
        "req -x509 -newkey rsa:2048 -nodes -days 2 -keyout ca.key -out ca.pem -subj /CN=authority",
    );
    openssl(
        at,
        "req -newkey rsa:2048 -nodes -keyout key.pem -out request.pem -subj /CN=localhost",
    );
    fs::write(at.join("names"), "subjectAltName=DNS:localhost,IP:127.0.0.1").expect("it is written");
    openssl(
        at,
        "x509 -req -in request.pem -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -out cert.pem -extfile names",
    );
    folder
}

#[tokio::test]
async fn a_server_is_asked_over_tls_and_only_if_it_is_trusted() {
    let folder = certificates();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let port = listener.local_addr().expect("it is bound").port().to_string();
    drop(listener);
    let _server = RedisServer::start_with(&[
        "--tls-port",
        &port,
        "--tls-cert-file",
        &file("cert.pem"),
        "--tls-key-file",
        &file("key.pem"),
        "--tls-ca-cert-file",
        &file("ca.pem"),
    ]);
    let url = format!("rediss://127.0.0.1:{port}/");
    let read = |name: &str| fs::read(file(name)).expect("it was made");
    let store = RedisStore::builder(&url)
        .root_certificate(read("ca.pem"))
        .client_certificate(read("cert.pem"), read("key.pem"))
        .deadline(PATIENT);
    let limiter = strict(store.connect().await.expect("the server takes us"));
    for n in 0..4 {
        assert_eq!(admits(&limiter, rule(3, "a")).await, n < 3);
    }

    // Whose issuer nobody trusts is not asked, and a client without a certificate not answered.
    for store in [
        RedisStore::builder(&url).client_certificate(read("cert.pem"), read("key.pem")),
        RedisStore::builder(&url).root_certificate(read("ca.pem")),
    ] {
        if let Ok(store) = store.connect().await {
            strict(store).check(rule(3, "b")).await.expect_err("it is not asked");
        }
    }
    let malformed = RedisStore::builder(&url).root_certificate("no PEM").connect().await;
    assert!(malformed.expect_err("it is none").to_string().contains("PEM"));
}
