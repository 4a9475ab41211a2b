//! Valkey, unchanged but for the URL.

use rate_limit::{ManualClock, RedisStore, RejectionKind, contract};

use crate::common::{PATIENT, admitted, rule, store, strict};
use crate::probe::Probe;
use crate::support::ValkeyServer;

#[tokio::test]
async fn valkey_keeps_the_contract() {
    let server = ValkeyServer::start();
    let clock = ManualClock::new();
    let store = RedisStore::builder(&server.url())
        .clock(&clock)
        .deadline(PATIENT)
        .connect()
        .await;
    contract::check(&store.expect("the server takes us"), &clock).await;
}

#[tokio::test]
async fn valkey_says_that_a_script_lacks_a_permission() {
    let server = ValkeyServer::start();
    let probe = Probe::of(&server).await;
    let limiter = strict(store(&server.url()).await);
    let _: () = probe.ask("ACL SETUSER default -set").await;
    let refused = limiter.check(rule(50, "a")).await.expect_err("it may not");
    assert_eq!(refused.kind(), RejectionKind::Misconfigured);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn valkey_admits_exactly_as_many() {
    let server = ValkeyServer::start();
    let limiter = strict(store(&server.url()).await);
    assert_eq!(admitted(&limiter, rule(50, "a"), 500).await, 50);
    assert_eq!(admitted(&limiter, rule(500, "a ring"), 1_000).await, 500);
}
