//! A refund gives back one call's own charge, whatever comes before and after it.

use std::time::Duration;

use rate_limit::{Limiter, ManualClock, Permit, Policy, Rule};

use crate::common::{admits, both_turned_by, key, remaining};
use crate::support::RedisServer;

const HOUR: Duration = Duration::from_secs(3_600);
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

/// Three calls that weigh 1, 2 and 3.
async fn three(limiter: &Limiter, clock: &ManualClock, rule: Rule) -> [Option<Permit>; 3] {
    let mut permits = [const { None }; 3];
    for (permit, cost) in permits.iter_mut().zip(1..) {
        *permit = limiter.check(rule.cost(cost)).await.ok();
        assert!(permit.is_some(), "it fits");
        clock.advance(Duration::from_micros(1));
    }
    permits
}

#[tokio::test]
async fn refunds_in_any_order_give_all_back() {
    let server = RedisServer::start();
    let clock = ManualClock::new();
    let policies = [
        Policy::sliding_window(10, HOUR),
        Policy::sliding_window(200, HOUR),
        Policy::fixed_window(10, HOUR),
    ];
    for limiter in both_turned_by(&clock, &server).await {
        for policy in policies {
            let rule = Rule::new(policy, key("a"));
            assert!(admits(&limiter, rule).await);
            clock.advance(Duration::from_micros(1));
            for order in ORDERS {
                let mut permits = three(&limiter, &clock, rule).await;
                let mut left = policy.count() - 7;
                assert_eq!(remaining(&limiter, rule).await, left);
                for place in order {
                    let permit = permits[place].take().expect("each is given back once");
                    permit.refund().await.expect("the store answers");
                    left += place as u32 + 1;
                    assert_eq!(
                        remaining(&limiter, rule).await,
                        left,
                        "{policy:?}, {order:?}, {limiter:?}"
                    );
                }
            }
            limiter.reset(key("a")).await.expect("the store answers");
        }
    }
}

#[tokio::test]
async fn refunds_in_order_fill_a_bucket() {
    let server = RedisServer::start();
    let clock = ManualClock::new();
    for limiter in both_turned_by(&clock, &server).await {
        let rule = Rule::new(Policy::token_bucket(10, HOUR), key("a"));
        for order in ORDERS {
            let mut permits = three(&limiter, &clock, rule).await;
            for place in order {
                let permit = permits[place].take().expect("each is given back once");
                permit.refund().await.expect("the store answers");
            }
            // A token that was given back out of order may be taken for one that came back by itself: never for two.
            let left = remaining(&limiter, rule).await;
            let most = if order == ORDERS[0] { 10..=10 } else { 4..=10 };
            assert!(most.contains(&left), "{order:?}, {limiter:?}: {left}");
            limiter.reset(key("a")).await.expect("the store answers");
        }
    }
}

#[tokio::test]
async fn a_reset_after_a_refund_forgets_no_later_hit() {
    let server = RedisServer::start();
    let clock = ManualClock::new();
    let policies = [
        Policy::sliding_window(10, HOUR),
        Policy::sliding_window(200, HOUR),
        Policy::fixed_window(10, HOUR),
        Policy::token_bucket(10, HOUR),
    ];
    for limiter in both_turned_by(&clock, &server).await {
        for policy in policies {
            for (refunded, reset) in [(0, 1), (1, 0), (0, 2), (2, 1)] {
                let rule = Rule::new(policy, key("a"));
                let mut permits = three(&limiter, &clock, rule).await;
                let [refund, success] = [refunded, reset].map(|place| permits[place].take());
                let refund = refund.expect("there are three");
                refund.refund().await.expect("the store answers");
                let success = success.expect("there are three");
                success.reset().await.expect("the store answers");
                let later = (reset + 1..3).filter(|place| *place != refunded);
                let later = later.map(|place| place as u32 + 1).sum::<u32>();
                let left = remaining(&limiter, rule).await;
                assert!(left <= policy.count() - later, "{policy:?}, {limiter:?}: {left}");
                assert!(left >= policy.count() - 6, "{policy:?}, {limiter:?}: {left}");
                if refunded < reset {
                    assert_eq!(left, policy.count() - later, "{policy:?}, {limiter:?}");
                }
                limiter.reset(key("a")).await.expect("the store answers");
            }
        }
    }
}
