//! A refused key is refused without asking, for as long as that is sure to be right.

use std::time::{Duration, Instant};

use rate_limit::{DecidedBy, Limiter, Policy, RedisStore, RejectionKind, Rule};

use crate::common::{MINUTE, PATIENT, admits, is_admitted, key, ms, per_minute, rule, strict, wait};
use crate::probe::Probe;
use crate::support::RedisServer;

const CALLS: &str = "cmdstat_evalsha";
const STALENESS: Duration = Duration::from_secs(1);

/// A limiter with the defaults, but for its patience.
async fn knowing(server: &RedisServer) -> Limiter {
    let store = RedisStore::builder(&server.url()).deadline(PATIENT).connect().await;
    strict(store.expect("the server takes us"))
}

async fn full(limiter: &Limiter, rule: Rule) {
    assert!(admits(limiter, rule).await);
    assert!(!admits(limiter, rule).await);
}

#[tokio::test]
async fn f_27_a_refusal_that_is_repeated_without_asking_was_the_stores() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let limiter = knowing(&server).await;
    full(&limiter, rule(1, "a")).await;
    let before = probe.info("commandstats", CALLS).await;
    let refused = limiter.check(rule(1, "a")).await.expect_err("it is full");
    assert_eq!(probe.info("commandstats", CALLS).await, before, "nobody was asked");
    let decided_by = refused.decision().map(|decision| decision.decided_by);
    assert_eq!(decided_by, Some(DecidedBy::Store));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ops_08_a_key_that_is_refused_at_full_speed_costs_the_server_two_calls_a_second() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let limiter = knowing(&server).await;
    full(&limiter, rule(1, "a")).await;
    let before = probe.info("commandstats", CALLS).await;
    let start = Instant::now();
    let calls: Vec<_> = (0..8)
        .map(|_| {
            let limiter = limiter.clone();
            tokio::spawn(async move {
                let mut refused = 0;
                while start.elapsed() < ms(1200) {
                    for _ in 0..100 {
                        assert!(!admits(&limiter, rule(1, "a")).await);
                        refused += 1;
                    }
                    tokio::task::yield_now().await;
                }
                refused
            })
        })
        .collect();
    let mut refused = 0;
    for call in calls {
        refused += call.await.expect("no call panics");
    }
    let asked = probe.info("commandstats", CALLS).await - before;
    let seconds = start.elapsed().as_secs_f64();
    println!("OPS-08: {refused} refused in {seconds:.2} s, {asked} calls of the server");
    assert!(asked >= 1, "what is a second old is asked for");
    assert!(asked as f64 <= 2.0 * seconds, "{asked} in {seconds} s");
    assert!(refused > 1_000);
}

#[tokio::test]
async fn rst_05_a_reset_is_seen_at_once_where_it_was_made() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let limiter = knowing(&server).await;
    let one = rule(1, "a");

    let permit = limiter.check(one).await.expect("it fits");
    assert!(!admits(&limiter, one).await);
    permit.reset().await.expect("the store answers");
    let permit = limiter.check(one).await.expect("it was reset");
    assert!(!admits(&limiter, one).await);
    permit.refund().await.expect("the store answers");
    assert!(admits(&limiter, one).await, "it was given back");
    assert!(!admits(&limiter, one).await);
    limiter.reset(key("a")).await.expect("the store answers");
    assert!(admits(&limiter, one).await, "it was forgotten");

    // Between them, refusals were repeated.
    let before = probe.info("commandstats", CALLS).await;
    for _ in 0..100 {
        assert!(!admits(&limiter, one).await);
    }
    assert_eq!(probe.info("commandstats", CALLS).await - before, 1);
}

#[tokio::test]
async fn rst_05_a_reset_elsewhere_is_seen_within_the_staleness() {
    let server = RedisServer::start();
    let (here, elsewhere) = (knowing(&server).await, knowing(&server).await);
    let one = rule(1, "a");
    full(&here, one).await;
    elsewhere.reset(key("a")).await.expect("the store answers");
    assert!(!admits(&here, one).await, "it was not asked for");
    let reset = Instant::now();
    let mut refused = 0;
    let seen = loop {
        let asked = Instant::now();
        if admits(&here, one).await {
            break asked - reset;
        }
        refused += 1;
        assert!(asked - reset <= STALENESS, "it is still refused after {refused} calls");
        tokio::time::sleep(ms(5)).await;
    };
    println!("RST-05: seen after {seen:?}");
    assert!(refused > 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rst_05_a_refusal_under_way_does_not_outlive_a_reset() {
    let server = RedisServer::start();
    let limiter = knowing(&server).await;
    for round in 0..300 {
        let one = rule(1, &format!("client {round}"));
        let permit = limiter.check(one).await.expect("it fits");
        let calls: Vec<_> = (0..4)
            .map(|_| {
                let limiter = limiter.clone();
                tokio::spawn(async move { admits(&limiter, one).await })
            })
            .collect();
        permit.reset().await.expect("the store answers");
        let after = admits(&limiter, one).await;
        let mut admitted = usize::from(after);
        for call in calls {
            admitted += usize::from(call.await.expect("no call panics"));
        }
        assert_eq!(
            admitted, 1,
            "round {round}: either one that was under way, or the one after"
        );
    }
}

#[tokio::test]
async fn a_wait_that_was_told_without_asking_suffices() {
    let server = RedisServer::start();
    let limiter = knowing(&server).await;
    let window = ms(300);
    for round in 0..5 {
        let one = Rule::new(Policy::sliding_window(1, window), key(&format!("client {round}")));
        assert!(admits(&limiter, one).await);
        let admitted = Instant::now();
        let asked = wait(&limiter, one).await;
        let trip = admitted.elapsed();
        tokio::time::sleep(ms(5)).await;
        let told = Instant::now();
        let left = wait(&limiter, one).await;
        assert!(left < asked, "it is what is left");
        assert!(told + left <= admitted + window + trip + ms(1), "no longer than that");
        tokio::time::sleep(left).await;
        assert!(
            admits(&limiter, one).await,
            "round {round}: it waited as long as it was told"
        );
    }
}

#[tokio::test]
async fn what_is_not_the_same_call_is_asked_for() {
    let server = RedisServer::start();
    let limiter = knowing(&server).await;
    assert!(admits(&limiter, rule(3, "a").cost(2)).await);
    assert!(!admits(&limiter, rule(3, "a").cost(2)).await);
    assert!(is_admitted(limiter.check(rule(3, "a").observe()).await));
    assert!(!admits(&limiter, rule(3, "a")).await);
    assert!(admits(&limiter, rule(4, "a")).await, "the limit was raised");
    assert!(admits(&limiter, rule(1, "b")).await);
    // A lighter call fits where a heavier one does not.
    assert!(admits(&limiter, rule(3, "c").cost(2)).await);
    assert!(!admits(&limiter, rule(3, "c").cost(2)).await);
    assert!(admits(&limiter, rule(3, "c").cost(1)).await);
}

#[tokio::test]
async fn a_block_is_repeated_until_it_ends() {
    let server = RedisServer::start();
    let limiter = knowing(&server).await;
    let blocking = Rule::new(per_minute(1).block(10 * MINUTE), key("a"));
    full(&limiter, blocking).await;
    let wait = wait(&limiter, blocking).await;
    assert!(wait > 9 * MINUTE && wait <= 10 * MINUTE, "{wait:?}");
}

#[tokio::test]
async fn while_the_server_is_gone_all_are_decided_alike() {
    let mut server = RedisServer::start();
    let limiter = knowing(&server).await;
    let kind = async |client: &str| {
        let refusal = limiter.check(rule(1, client)).await.expect_err("it is refused");
        refusal.kind()
    };
    full(&limiter, rule(1, "a")).await;
    server.stop();
    assert_eq!(kind("a").await, RejectionKind::Limited, "nobody has noticed");
    assert_eq!(kind("b").await, RejectionKind::StoreUnavailable);
    assert_eq!(kind("a").await, RejectionKind::StoreUnavailable);
}

#[tokio::test]
async fn it_can_be_turned_off_and_is_never_more_than_a_second_old() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let builder = || RedisStore::builder(&server.url()).deadline(PATIENT);
    let asking = strict(
        builder()
            .deny_cache(Duration::ZERO)
            .connect()
            .await
            .expect("it takes us"),
    );
    full(&asking, rule(1, "a")).await;
    let before = probe.info("commandstats", CALLS).await;
    for _ in 0..10 {
        assert!(!admits(&asking, rule(1, "a")).await);
    }
    assert_eq!(probe.info("commandstats", CALLS).await - before, 10);
    let error = builder()
        .deny_cache(ms(1001))
        .connect()
        .await
        .expect_err("it is too long");
    assert!(error.to_string().contains("one second at most"), "{error}");
}

/// The login of the README: an address, a user at an address, and a user.
fn login(user: &str, address: &str) -> [Rule; 3] {
    let policy = |count| Policy::sliding_window(count, Duration::from_secs(86_400));
    let both = format!("{user} at {address}");
    [
        Rule::new(policy(100), key(address)),
        Rule::new(policy(10), key(&both)).place(1),
        Rule::new(policy(50), key(user)).place(2),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f_57_a_login_by_three_rules_that_is_refused_at_full_speed_costs_the_server_two_calls_a_second() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let limiter = knowing(&server).await;
    let rules = login("alice", "198.51.100.7");
    for _ in 0..10 {
        limiter.check_all(&rules).await.expect("of ten");
    }
    assert!(limiter.check_all(&rules).await.is_err());
    let before = probe.info("commandstats", CALLS).await;
    let start = Instant::now();
    let mut refused = 0;
    while start.elapsed() < ms(1_500) {
        for _ in 0..100 {
            let refusal = limiter.check_all(&rules).await.expect_err("ten are used");
            assert_eq!(refusal.policy().count(), 10, "by the rule that refuses");
            refused += 1;
        }
        tokio::time::sleep(ms(5)).await;
    }
    let calls = probe.info("commandstats", CALLS).await - before;
    println!(
        "F-57 {refused} refusals by three rules in {:?}: {calls} calls",
        start.elapsed()
    );
    assert!(refused > 5_000 && calls <= 3, "{calls} calls for {refused} refusals");

    // Who shares the address alone is asked for, and admitted.
    assert!(limiter.check_all(&login("bob", "198.51.100.7")).await.is_ok());
    // A reset through this limiter is seen at once.
    limiter
        .reset(key("alice at 198.51.100.7"))
        .await
        .expect("the store answers");
    assert!(limiter.check_all(&rules).await.is_ok());
}

/// A relative: the rule that refuses comes alone elsewhere, and the others with others.
#[tokio::test]
async fn f_57_a_refusal_by_one_rule_is_repeated_to_whoever_has_that_rule() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let limiter = knowing(&server).await;
    let rules = login("alice", "198.51.100.7");
    for n in 0..11 {
        assert_eq!(admits(&limiter, rules[1]).await, n < 10);
    }
    let before = probe.info("commandstats", CALLS).await;
    let refused = limiter.check_all(&rules).await.expect_err("one rule refuses");
    assert_eq!(refused.policy().count(), 10);
    assert_eq!(probe.info("commandstats", CALLS).await, before, "nobody was asked");
    assert!(limiter.check_all(&[rules[0], rules[2]]).await.is_ok());
}

/// A relative: a rule that blocks has to hear of the call that exceeds it.
#[tokio::test]
async fn f_57_a_block_begins_though_another_rule_refuses_already() {
    let server = RedisServer::start();
    let limiter = knowing(&server).await;
    let user = Rule::new(Policy::sliding_window(1, ms(60_000)), key("alice"));
    let address = Rule::new(
        Policy::sliding_window(1, ms(60_000)).block(ms(3_600_000)),
        key("address"),
    )
    .place(1);
    limiter.check(user).await.expect("of one");
    assert!(!admits(&limiter, user).await, "it is known to be refused");
    limiter.check(address).await.expect("of one");
    let refused = limiter.check_all(&[user, address]).await.expect_err("both refuse");
    assert_eq!(refused.retry_after(), Some(ms(3_600_000)));
}
