//! Exactly as many as the limit, whatever comes at once, by each algorithm and by stacks.

use std::time::Duration;

use rate_limit::{Limiter, Policy, Rule};

use crate::common::{admitted, is_admitted, key, limiter, per_minute, remaining};
use crate::probe::Probe;
use crate::support::RedisServer;

const DAY: Duration = Duration::from_secs(86_400);
const ROUNDS: usize = 5;

/// None gains a token or ends while a test runs: the boundary of the fixed one is in the year 2069.
fn policies(count: u32) -> [Policy; 4] {
    [
        Policy::sliding_window(count, DAY),
        Policy::token_bucket(count, DAY),
        Policy::fixed_window(count, Policy::MAX_WINDOW),
        Policy::fixed_window(count, Policy::MAX_WINDOW).block(DAY),
    ]
}

/// How many of the calls are admitted, all at once, by one limiter or the other in turn.
async fn admitted_at_once(limiters: &[Limiter; 2], calls: impl Iterator<Item = Vec<Rule>>) -> usize {
    let calls = calls.enumerate().map(|(n, rules)| {
        let limiter = limiters[n % 2].clone();
        tokio::spawn(async move { is_admitted(limiter.check_all(&rules).await) })
    });
    let calls: Vec<_> = calls.collect();
    let mut admitted = 0;
    for call in calls {
        admitted += usize::from(call.await.expect("no call panics"));
    }
    admitted
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn red_01_two_stores_admit_exactly_the_count_by_each_algorithm() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let (one, two) = (limiter(&server).await, limiter(&server).await);
    for policy in policies(50) {
        for _ in 0..ROUNDS {
            let rule = Rule::new(policy, key("a"));
            let (a, b) = tokio::join!(admitted(&one, rule, 200), admitted(&two, rule, 200));
            assert_eq!(a + b, 50, "{policy:?}");
            let _: () = probe.ask("FLUSHALL").await;
            // 12 of 4 leave 2, which is none of 4.
            let (a, b) = tokio::join!(admitted(&one, rule.cost(4), 200), admitted(&two, rule.cost(4), 200));
            assert_eq!(a + b, 12, "{policy:?}");
            if !policy.to_string().contains("blocked") {
                assert_eq!(remaining(&one, rule).await, 2, "{policy:?}");
            }
            let _: () = probe.ask("FLUSHALL").await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn red_01_two_stores_admit_exactly_what_the_tightest_of_a_stack_does() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let limiters = [limiter(&server).await, limiter(&server).await];
    let [log, bucket, window, _] = policies(90);
    for tightest in 0..3 {
        for _ in 0..ROUNDS {
            let mut stack = [log, bucket, window].map(|policy| Rule::new(policy, key("a")));
            stack[tightest] = Rule::new(policies(50)[tightest], key("a"));
            stack[(tightest + 1) % 3] = stack[(tightest + 1) % 3].cost(0);
            let calls = (0..400).map(|n| {
                let mut stack = stack.to_vec();
                stack.rotate_left(n % 3);
                stack
            });
            assert_eq!(admitted_at_once(&limiters, calls).await, 50);
            let mut left = Vec::new();
            for rule in stack {
                let decision = limiters[0].peek(rule.cost(0)).await.expect("it answers");
                left.push(decision.remaining);
            }
            left.rotate_left(tightest);
            assert_eq!(left, [0, 90, 40], "each admitted call is charged once, no other is");
            let _: () = probe.ask("FLUSHALL").await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ops_01_refused_calls_of_many_users_leave_the_shared_quota_alone() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let limiters = [limiter(&server).await, limiter(&server).await];
    let user = |n: usize| Rule::new(per_minute(1), key(&format!("user {n}")));
    for global in policies(10).into_iter().take(3) {
        for users in [6, 10, 20] {
            let global = Rule::new(global, key("everybody"));
            // In either order of the rules, and the calls of the users mixed.
            let calls = (0..20 * users).map(|n| {
                let stack = [user(n % users), global];
                if n / users % 2 == 0 {
                    stack.to_vec()
                } else {
                    vec![global, stack[0]]
                }
            });
            let admitted = admitted_at_once(&limiters, calls).await;
            assert_eq!(admitted, users.min(10));
            assert_eq!(10 - remaining(&limiters[0], global).await as usize, admitted);
            let mut charged = 0;
            for n in 0..users {
                charged += 1 - remaining(&limiters[1], user(n)).await as usize;
            }
            assert_eq!(charged, admitted, "whom the shared quota refuses keeps his own");
            let _: () = probe.ask("FLUSHALL").await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn red_07_stacks_at_once_are_charged_once_though_scripts_are_flushed() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let limiters = [limiter(&server).await, limiter(&server).await];
    let stack = policies(10_000).map(|policy| Rule::new(policy, key("a")));
    for round in 1..=ROUNDS {
        let _: () = probe.ask("SCRIPT FLUSH").await;
        let calls = (0..200).map(|_| stack[..3].to_vec());
        assert_eq!(admitted_at_once(&limiters, calls).await, 200);
        for rule in &stack[..3] {
            assert_eq!(remaining(&limiters[0], *rule).await as usize, 10_000 - 200 * round);
        }
    }
}
