//! A slot on its way from one primary of a cluster to another: every call of its clients is decided and settled.

use std::time::Duration;

use rate_limit::{Client, Limiter, Policy, RedisStore, Rule, StoredRule};

use crate::cluster::keys;
use crate::common::{MINUTE, admits, is_admitted, key, per_minute, remaining, store, strict, wait};
use crate::support::{RedisCluster, SlotMove};

const DAY: Duration = Duration::from_secs(86_400);

/// Of each algorithm, and of both layouts of a log.
fn policies() -> [Policy; 4] {
    [
        Policy::sliding_window(5, DAY),
        Policy::sliding_window(150, DAY),
        Policy::token_bucket(5, DAY),
        Policy::fixed_window(5, Policy::MAX_WINDOW),
    ]
}

async fn limiter(cluster: &RedisCluster) -> (RedisStore, Limiter) {
    let store = store(&cluster.url()).await;
    (store.clone(), strict(store))
}

/// The key that a call which is admitted leaves.
async fn charged(cluster: &RedisCluster, limiter: &Limiter, rule: Rule) -> String {
    let before = keys(cluster);
    assert!(admits(limiter, rule).await);
    let mut new = keys(cluster);
    new.retain(|key| !before.contains(key));
    assert_eq!(new.len(), 1, "{new:?}");
    new.remove(0)
}

/// Begins to move the slot of a key.
fn begin_move<'a>(cluster: &'a RedisCluster, key: &str) -> SlotMove<'a> {
    let slot = cluster.slot_of(key);
    let from = cluster.primary_of(slot);
    let to = cluster.primaries().into_iter().find(|port| *port != from);
    cluster.begin_move(slot, to.expect("there are three"))
}

/// Two rules of one client. The key of the first stays where it was, and that of the second goes.
async fn parted<'a>(cluster: &'a RedisCluster, limiter: &Limiter, rules: &[Rule; 2]) -> SlotMove<'a> {
    charged(cluster, limiter, rules[0]).await;
    let gone = charged(cluster, limiter, rules[1]).await;
    let moving = begin_move(cluster, &gone);
    moving.move_key(&gone);
    assert_eq!(moving.keys().len(), 1);
    moving
}

fn of_one_client(policies: [Policy; 2]) -> [Rule; 2] {
    [
        Rule::new(policies[0], key("a")),
        Rule::new(policies[1], key("a")).place(1),
    ]
}

#[tokio::test]
async fn f_06_a_rule_with_a_block_is_decided_while_its_slot_migrates() {
    let cluster = RedisCluster::start();
    let (_, limiter) = limiter(&cluster).await;
    for (n, policy) in policies().into_iter().enumerate() {
        let count = policy.count();
        let block = 2 * Policy::MAX_WINDOW / 3;
        let rule = Rule::new(policy.block(block), key(&n.to_string()));
        let name = charged(&cluster, &limiter, rule).await;
        let moving = begin_move(&cluster, &name);
        assert!(
            admits(&limiter, rule.cost(count - 3)).await,
            "{policy}: at the old place"
        );
        moving.move_key(&name);
        let mut admitted = count - 2;
        for _ in 0..50 {
            admitted += u32::from(admits(&limiter, rule).await);
        }
        assert_eq!(admitted, count, "{policy}");
        let told = wait(&limiter, rule).await;
        assert!(told > block - MINUTE && told <= block.max(policy.window()), "{told:?}");
        moving.finish();
        assert!(wait(&limiter, rule).await <= told, "{policy}: at the new place");
        limiter.reset(key(&n.to_string())).await.expect("the store answers");
        assert!(admits(&limiter, rule).await, "{policy}");
    }
}

#[tokio::test]
async fn f_06_a_client_that_is_new_to_a_slot_under_way_is_decided_and_blocked() {
    let cluster = RedisCluster::start();
    let (_, limiter) = limiter(&cluster).await;
    for (n, policy) in policies().into_iter().enumerate() {
        let rule = Rule::new(policy.block(MINUTE), key(&format!("new {n}")));
        let name = charged(&cluster, &limiter, rule).await;
        limiter
            .reset(key(&format!("new {n}")))
            .await
            .expect("the store answers");
        let moving = begin_move(&cluster, &name);
        assert!(admits(&limiter, rule.cost(policy.count())).await);
        for _ in 0..50 {
            assert!(!admits(&limiter, rule).await);
        }
        moving.finish();
        assert!(!admits(&limiter, rule).await);
        assert_eq!(keys(&cluster).iter().filter(|key| **key == name).count(), 1);
    }
}

#[tokio::test]
async fn f_06_two_rules_of_a_client_are_decided_with_a_key_on_each_side() {
    let cluster = RedisCluster::start();
    let (_, limiter) = limiter(&cluster).await;
    let blocking = Policy::sliding_window(4, DAY).block(DAY);
    let rules = of_one_client([Policy::sliding_window(20, DAY), blocking]);
    let moving = parted(&cluster, &limiter, &rules).await;
    let mut admitted = 1;
    for _ in 0..50 {
        admitted += u32::from(is_admitted(limiter.check_all(&rules).await));
    }
    assert_eq!(admitted, 4);
    assert_eq!(
        remaining(&limiter, rules[0]).await,
        16,
        "a refused call charges no rule"
    );
    moving.finish();
    assert!(!is_admitted(limiter.check_all(&rules).await), "the block is kept");
    assert_eq!(remaining(&limiter, rules[0]).await, 16);
}

/// A relative: a key that does not exist yet is on neither side.
#[tokio::test]
async fn f_06_rules_without_counters_are_decided_in_a_slot_under_way() {
    let cluster = RedisCluster::start();
    let (_, limiter) = limiter(&cluster).await;
    let rules = of_one_client([per_minute(7), Policy::token_bucket(3, DAY)]);
    let name = charged(&cluster, &limiter, rules[0]).await;
    let moving = begin_move(&cluster, &name);
    let mut admitted = 0;
    for _ in 0..10 {
        admitted += u32::from(is_admitted(limiter.check_all(&rules).await));
    }
    assert_eq!(admitted, 3);
    assert_eq!(remaining(&limiter, rules[0]).await, 3);
    moving.finish();
    assert!(!is_admitted(limiter.check_all(&rules).await));
}

/// A relative: rules in several slots, of which one is under way.
#[tokio::test]
async fn f_06_rules_in_several_slots_are_decided_while_one_is_under_way() {
    let cluster = RedisCluster::start();
    let (_, limiter) = limiter(&cluster).await;
    let [first, second] = of_one_client([per_minute(9), per_minute(4)]);
    let moving = parted(&cluster, &limiter, &[first, second]).await;
    let rules = [first, second, Rule::new(per_minute(8), key("another")).place(2)];
    let mut admitted = 0;
    for _ in 0..10 {
        admitted += u32::from(is_admitted(limiter.check_all(&rules).await));
    }
    assert_eq!(admitted, 3);
    let mut left = Vec::new();
    for rule in rules {
        left.push(remaining(&limiter, rule).await);
    }
    assert_eq!(left, [5, 0, 5], "a refused call charges no rule");
    moving.finish();
}

#[tokio::test]
async fn f_06_calls_are_settled_with_a_key_on_each_side() {
    let cluster = RedisCluster::start();
    let (_, limiter) = limiter(&cluster).await;
    let rules = of_one_client([per_minute(9), Policy::fixed_window(4, Policy::MAX_WINDOW)]);
    let moving = parted(&cluster, &limiter, &rules).await;
    let left = async || [remaining(&limiter, rules[0]).await, remaining(&limiter, rules[1]).await];
    let permits = [
        limiter.check_all(&rules).await.expect("it fits"),
        limiter.check_all(&rules).await.expect("it fits"),
    ];
    assert_eq!(left().await, [6, 1]);
    let [one, two] = permits;
    one.refund().await.expect("the store answers");
    assert_eq!(left().await, [7, 2]);
    two.reset().await.expect("the store answers");
    assert_eq!(left().await, [9, 4]);
    moving.finish();
    assert_eq!(left().await, [9, 4]);
}

/// A relative: what an operator does.
#[tokio::test]
async fn f_06_a_client_is_found_reset_and_forgotten_with_a_key_on_each_side() {
    let cluster = RedisCluster::start();
    let (store, limiter) = limiter(&cluster).await;
    let policies = [per_minute(9), per_minute(4).block(DAY)];
    let rules = of_one_client(policies);
    let moving = parted(&cluster, &limiter, &rules).await;
    let client = Client::of("a").expect("it names somebody");
    let stored = [0, 1].map(|place| {
        let mut stored = StoredRule::new("login", policies[usize::from(place)].algorithm(), place);
        stored.policy = Some(policies[usize::from(place)]);
        stored
    });
    let found = store.counters_of(client, &stored).await.expect("the store answers");
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(!admits(&limiter, rules[1].cost(4)).await);
    let found = store.counters_of(client, &stored).await.expect("the store answers");
    let blocked: Vec<bool> = found.iter().map(|counter| counter.blocked).collect();
    assert_eq!(blocked, [false, true]);

    limiter.reset(key("a")).await.expect("the store answers");
    assert_eq!(remaining(&limiter, rules[0]).await, 9);
    assert!(admits(&limiter, rules[1].cost(4)).await, "its block ended too");
    assert!(admits(&limiter, rules[0]).await);
    assert_eq!(limiter.forget(client).await.expect("the store answers"), 2);
    assert_eq!(keys(&cluster), [""; 0]);
    moving.finish();
}
