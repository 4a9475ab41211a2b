//! Several rules of a call are one decision: one script call, all or nothing.

use std::time::Duration;

use rate_limit::{Limiter, Permit, Policy, RejectionKind, Rule};

use crate::common::{MINUTE, admits, is_admitted, key, limiter, per_minute, remaining};
use crate::probe::Probe;
use crate::support::RedisServer;

const DAY: Duration = Duration::from_secs(86_400);
const CALLS: &str = "cmdstat_evalsha";
/// The bytes of a block, in front of a value.
const BLOCK: usize = 15;

/// A window that has no boundary before the year 2069.
fn fixed(count: u32, client: &str) -> Rule {
    Rule::new(Policy::fixed_window(count, Policy::MAX_WINDOW), key(client))
}

fn bucket(capacity: u32, client: &str) -> Rule {
    Rule::new(Policy::token_bucket(capacity, DAY), key(client))
}

fn log(count: u32, client: &str) -> Rule {
    Rule::new(per_minute(count), key(client))
}

/// Of each algorithm one, and of the log a second.
fn of_all(client: &str) -> [Rule; 4] {
    [
        log(200, client),
        bucket(100, client),
        fixed(100, client),
        log(50, client).place(3),
    ]
}

async fn admitted_by_all(limiter: &Limiter, rules: &[Rule]) -> Permit {
    limiter.check_all(rules).await.expect("all have room")
}

#[tokio::test]
async fn ops_01_a_stack_is_one_call_of_the_server() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let limiter = limiter(&server).await;
    let commands = async || {
        let deletions = probe.info("commandstats", "cmdstat_del").await;
        (probe.info("commandstats", CALLS).await, deletions)
    };
    let (calls, deletions) = commands().await;
    let permit = admitted_by_all(&limiter, &of_all("a")).await;
    assert_eq!(commands().await, (calls + 1, deletions));
    assert_eq!(probe.keys().await.len(), 4);
    let other = admitted_by_all(&limiter, &of_all("a")).await;
    let refused = [fixed(2, "a"), log(200, "a"), bucket(100, "a")];
    assert!(!is_admitted(limiter.check_all(&refused).await));
    assert_eq!(commands().await, (calls + 3, deletions));

    permit.refund().await.expect("the store answers");
    assert_eq!(commands().await, (calls + 4, deletions), "so is what settles it");
    for rule in of_all("a") {
        let count = 1 + remaining(&limiter, rule).await;
        assert!([50, 100, 200].contains(&count), "{rule:?}: of {count} one is out");
    }
    let (calls, _) = commands().await;
    other.reset().await.expect("the store answers");
    assert_eq!(commands().await.0, calls + 1);
    admitted_by_all(&limiter, &of_all("a")).await;
    let (calls, deletions) = commands().await;
    limiter.reset(key("a")).await.expect("the store answers");
    assert_eq!(commands().await, (calls, deletions + 1));
    assert_eq!(probe.keys().await, [""; 0]);
}

/// All orders of the rules.
fn orders(rules: &[Rule]) -> Vec<Vec<Rule>> {
    if rules.is_empty() {
        return vec![Vec::new()];
    }
    let mut orders = Vec::new();
    for at in 0..rules.len() {
        let mut rest = rules.to_vec();
        let first = rest.remove(at);
        orders.extend(orders_after(first, &rest));
    }
    orders
}

fn orders_after(first: Rule, rest: &[Rule]) -> impl Iterator<Item = Vec<Rule>> {
    orders(rest).into_iter().map(move |order| [vec![first], order].concat())
}

#[tokio::test]
async fn ops_01_a_refused_stack_writes_nothing() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let limiter = limiter(&server).await;
    let policies = [
        per_minute(1),
        Policy::token_bucket(1, DAY),
        Policy::fixed_window(1, Policy::MAX_WINDOW),
        Policy::sliding_window(200, DAY),
    ];
    let full = |place: usize| Rule::new(policies[place], key("full")).place(place as u8);
    for (place, policy) in policies.iter().enumerate() {
        assert!(admits(&limiter, full(place).cost(policy.count())).await);
    }
    let roomy = [log(5, "a"), bucket(5, "a"), fixed(5, "a")];
    assert!(admits(&limiter, roomy[0].cost(2)).await);
    let before = probe.dump().await;
    assert_eq!(before.len(), 5);
    for (place, policy) in policies.into_iter().enumerate() {
        let stack = [roomy[0], roomy[1], roomy[2], full(place)];
        for order in orders(&stack) {
            let refused = limiter.check_all(&order).await.expect_err("one is full");
            assert!(refused.is_limited());
            assert_eq!(refused.policy(), policy, "{order:?}");
            assert_eq!(probe.dump().await, before, "{order:?}");
        }
    }
    for order in orders(&[roomy[0], roomy[1], roomy[2].cost(6)]) {
        let refused = limiter.check_all(&order).await.expect_err("one can never be");
        assert_eq!(refused.kind(), RejectionKind::Impossible);
        assert_eq!(probe.dump().await, before, "{order:?}");
    }
}

#[tokio::test]
async fn ops_01_a_refused_stack_writes_nothing_but_the_beginning_of_a_block() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let limiter = limiter(&server).await;
    let blocking = |policy: Policy| Rule::new(policy.block(MINUTE), key("a"));
    let others = [log(5, "b"), fixed(5, "b")];
    let policies = [
        Policy::sliding_window(1, DAY),
        Policy::token_bucket(1, DAY),
        Policy::fixed_window(1, Policy::MAX_WINDOW),
    ];
    for policy in policies {
        for order in orders(&[blocking(policy), others[0], others[1]]) {
            assert!(is_admitted(limiter.check_all(&order).await));
            let before = probe.dump().await;
            assert_eq!(before.len(), 3);
            assert!(!is_admitted(limiter.check_all(&order).await));
            let mut after = probe.dump().await;
            assert!(!is_admitted(limiter.check_all(&order).await));
            assert_eq!(probe.dump().await, after, "it begins once");
            let is_blocked = |key: &&String| after[*key] != before[*key];
            let blocked: Vec<String> = after.keys().filter(is_blocked).cloned().collect();
            assert_eq!(blocked.len(), 1, "{order:?}");
            let value = probe.value(&blocked[0]).await;
            assert!(value.len() > BLOCK && value[0] == b't');
            after.remove(&blocked[0]);
            // While it lasts, one that has room again is refused too, and the others are spared.
            probe.set(&blocked[0], &value[..BLOCK]).await;
            assert!(!is_admitted(limiter.check_all(&order).await));
            assert_eq!(remaining(&limiter, others[0]).await, 4);
            assert_eq!(remaining(&limiter, others[1]).await, 4);
            let _: () = probe.ask("FLUSHALL").await;
        }
    }
}

#[tokio::test]
async fn ops_01_a_blocked_client_leaves_the_shared_quota_alone() {
    let server = RedisServer::start();
    let limiter = limiter(&server).await;
    let globals = [log(10, "everybody"), bucket(10, "everybody"), fixed(10, "everybody")];
    for (n, global) in globals.into_iter().enumerate() {
        for user_first in [true, false] {
            let user = log(1, &format!("user {n} {user_first}"));
            let stack = if user_first { [user, global] } else { [global, user] };
            let mut admitted = 0;
            for _ in 0..20 {
                admitted += u32::from(is_admitted(limiter.check_all(&stack).await));
            }
            assert_eq!(admitted, 1);
            assert_eq!(remaining(&limiter, global).await, if user_first { 9 } else { 8 });
        }
    }
}

#[tokio::test]
async fn ops_01_a_stack_tells_its_tightest_and_its_longest_rule() {
    let server = RedisServer::start();
    let limiter = limiter(&server).await;
    let (short, long) = (
        log(3, "a"),
        Rule::new(Policy::sliding_window(4, DAY), key("a")).place(1),
    );
    for left in (0..3).rev() {
        let permit = admitted_by_all(&limiter, &[long, short]).await;
        let decision = permit.decision().expect("the store decides");
        assert_eq!((decision.remaining, decision.limit()), (left, 3));
    }
    let refused = limiter.check_all(&[long, short]).await.expect_err("one is full");
    assert_eq!(refused.policy(), per_minute(3));
    assert!(admits(&limiter, long).await);
    for stack in [[long, short], [short, long]] {
        let refused = limiter.check_all(&stack).await.expect_err("both are full");
        assert_eq!(refused.policy(), Policy::sliding_window(4, DAY));
        let wait = refused.retry_after().expect("it will fit");
        assert!(wait > DAY - MINUTE && wait <= DAY, "{wait:?}");
    }
}

#[tokio::test]
async fn rst_02_a_stack_is_reset_up_to_its_own_hits_in_every_rule() {
    let server = RedisServer::start();
    let limiter = limiter(&server).await;
    let before = admitted_by_all(&limiter, &of_all("a")).await;
    let slow = admitted_by_all(&limiter, &of_all("a").map(|rule| rule.cost(2))).await;
    for _ in 0..3 {
        admitted_by_all(&limiter, &of_all("a")).await;
    }
    slow.reset().await.expect("the store answers");
    let left = async || {
        let mut left = Vec::new();
        for rule in of_all("a") {
            left.push(remaining(&limiter, rule).await);
        }
        left
    };
    assert_eq!(left().await, [197, 97, 97, 47], "what came later stays counted");
    before.reset().await.expect("the store answers");
    assert_eq!(left().await, [197, 97, 97, 47], "an older one finds nothing left");
}

#[tokio::test]
async fn red_07_a_stack_survives_that_scripts_are_flushed() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let limiter = limiter(&server).await;
    let mut last = None;
    for turn in 0..30 {
        if turn % 3 == 0 {
            let _: () = probe.ask("SCRIPT FLUSH").await;
        }
        let permit = admitted_by_all(&limiter, &of_all("a")).await;
        let left = permit.decision().expect("the store decides").remaining;
        assert_eq!(left, 49 - turn, "each call is charged once");
        last = Some(permit);
    }
    let _: () = probe.ask("SCRIPT FLUSH").await;
    let permit = last.expect("there were some");
    permit.reset().await.expect("a reset loads them too");
    for (rule, count) in of_all("a").into_iter().zip([200, 100, 100, 50]) {
        assert_eq!(remaining(&limiter, rule).await, count, "{rule:?}");
    }
}
