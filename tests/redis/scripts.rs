//! The server forgets the scripts: no caller notices.

use crate::common::{admits, admitted, limiter, rule};
use crate::probe::Probe;
use crate::support::RedisServer;

const LOADS: &str = "cmdstat_script|load";
/// How many scripts the store has.
const SCRIPTS: u64 = 5;

#[tokio::test]
async fn red_07_scripts_that_are_flushed_come_back() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let limiter = limiter(&server).await;
    for turn in 0..30 {
        if turn % 3 == 0 {
            let _: () = probe.ask("SCRIPT FLUSH").await;
        }
        let permit = limiter.check(rule(200, "a")).await.expect("it fits");
        let remaining = permit.decision().expect("the store decides").remaining;
        assert_eq!(remaining, 199 - turn, "each call is charged once");
    }
    assert_eq!(probe.hits().await, 30);
    // At the start and for each flush.
    assert_eq!(probe.info("commandstats", LOADS).await, SCRIPTS * (1 + 10));

    let permit = limiter.check(rule(200, "a")).await.expect("it fits");
    let _: () = probe.ask("SCRIPT FLUSH").await;
    permit.reset().await.expect("a reset loads them too");
    assert_eq!(probe.hits().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn red_07_of_many_calls_that_find_them_gone_one_loads_them() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let limiter = limiter(&server).await;
    for round in 1..=10 {
        let _: () = probe.ask("SCRIPT FLUSH").await;
        assert_eq!(admitted(&limiter, rule(10_000, "a"), 200).await, 200);
        assert_eq!(probe.hits().await, 200 * round, "each call is charged once");
        assert_eq!(
            probe.info("commandstats", LOADS).await as usize,
            SCRIPTS as usize * (1 + round)
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn red_07_two_stores_of_which_one_finds_them_gone() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let (one, two) = (limiter(&server).await, limiter(&server).await);
    let _: () = probe.ask("SCRIPT FLUSH").await;
    assert!(admits(&one, rule(200, "a")).await);
    assert!(admits(&two, rule(200, "a")).await);
    assert_eq!(probe.hits().await, 2);
    assert_eq!(
        probe.info("commandstats", LOADS).await,
        SCRIPTS * 3,
        "what the other loaded serves both"
    );
}
