//! Primaries that change while they can still be reached: what a process does not notice by itself.
//!
//! One more process starts after each change, so that it asks the new primary while the others may still ask the old one. At
//! most the count once more is admitted of a key, none of it later than 1.5 s after the promotion, and calls are undecided for
//! 3 s after it at most.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rate_limit::OnStoreError;

use super::battle::Battle;
use super::caller::Plan;
use super::{SECOND, plan, scale};
use crate::common::ms;
use crate::support::history::{Disturbance, monotonic};
use crate::support::{RedisCluster, RedisSentinels};

/// After a promotion the old primary may admit for so long, in microseconds.
pub(super) const AWARE: u64 = 1_500_000;
/// And calls may be undecided for so long.
const DECIDED: u64 = 3_000_000;
/// The tick at which the primary changes.
const CHANGE: u32 = 25;
/// The decisions of a battle would take so long: that is their rate, however long a failover takes.
const RATE: Duration = ms(5_000);
/// How many times as long the processes go on at most.
const PATIENCE: u32 = 12;
/// More than a busy machine adds.
const DEADLINE: Duration = ms(1_000);

/// Processes that refuse where the store does not decide.
pub(super) fn closed(url: String) -> Plan {
    let plan = Plan {
        deadline: DEADLINE,
        ..plan(url, OnStoreError::Closed, SECOND, RATE * scale())
    };
    plan.prolonged(PATIENCE)
}

/// Until when the processes go on after a promotion at this time.
pub(super) fn end(promoted: u64) -> u64 {
    promoted + DECIDED + 1_000_000 * u64::from(scale())
}

/// Changes the primary once. `change` returns when the new one was promoted, as all know who are asked for it.
fn battle(plan: &Plan, what: &str, change: impl FnOnce()) {
    let mut change = Some(change);
    let mut until = u64::MAX;
    let battle = Battle::of(plan, |tick, callers| {
        if monotonic() > until {
            callers.end();
        }
        let change = change.take_if(|_| tick >= CHANGE)?;
        let from = monotonic();
        change();
        let promoted = monotonic();
        println!("{what}: promoted after {} ms", (promoted - from) / 1_000);
        callers.start_another();
        until = end(promoted);
        Some(Disturbance {
            from,
            until: promoted + AWARE,
            extra: plan.window.count,
        })
    });
    let [change] = battle.disturbances[..] else {
        panic!("the primary has changed once: {:?}", battle.disturbances);
    };
    battle.assert_correct(what);
    // What was sent before, and was on its way when the primary went.
    let deadline = DEADLINE.as_micros() as u64;
    battle.assert_decided_but(&[change.from - deadline..=change.until - AWARE + DECIDED], what);
}

#[test]
fn f_67_a_failover_that_is_asked_for_is_followed_by_all() {
    let sentinels = RedisSentinels::start();
    sentinels.tell_old_primaries_late();
    sentinels.set_down_after(3_000);
    battle(&closed(sentinels.url()), "a failover that is asked for", || {
        let old = sentinels.begin_failover();
        sentinels.wait_for_failover(old);
    });
}

#[test]
fn f_67_a_primary_that_was_stopped_and_goes_on_is_left() {
    let sentinels = RedisSentinels::start();
    sentinels.tell_old_primaries_late();
    battle(&closed(sentinels.url()), "a primary that is stopped", || {
        let old = sentinels.primary_port();
        sentinels.pause(old);
        sentinels.wait_for_failover(old);
        sentinels.resume(old);
    });
}

#[test]
fn f_67_a_primary_that_was_killed_and_comes_back_is_left() {
    let mut sentinels = RedisSentinels::start();
    sentinels.tell_old_primaries_late();
    battle(&closed(sentinels.url()), "a primary that is killed", || {
        let old = sentinels.kill_primary();
        sentinels.wait_for_failover(old);
        sentinels.restart(old);
    });
}

/// It takes its clients, and nobody tells it that it is the primary no more.
#[test]
fn f_67_a_primary_that_its_sentinels_cannot_reach_is_left() {
    let sentinels = RedisSentinels::start();
    let plan = closed(sentinels.url_of_clients());
    battle(&plan, "a primary cut off from its sentinels", || {
        let old = sentinels.cut_off_primary();
        sentinels.wait_for_failover(old);
    });
}

/// It takes its clients, and goes on as the primary of its slots.
#[test]
fn f_67_a_node_that_the_others_cannot_reach_is_left() {
    let cluster = RedisCluster::start();
    battle(&closed(cluster.url()), "a node cut off from the others", || {
        let old = cluster.primaries()[0];
        cluster
            .nodes()
            .order(old, "CONFIG SET cluster-require-full-coverage no");
        cluster.cut_off(old);
    });
}

/// It takes no calls, and is the first to tell of the time before.
#[test]
fn f_68_a_stale_node_that_answers_first_undoes_no_failover() {
    let cluster = Arc::new(RedisCluster::start());
    let ended = Arc::new(AtomicBool::new(false));
    let mut slow = Vec::new();
    battle(&closed(cluster.url()), "a stale node that answers first", || {
        let old = cluster.primaries()[0];
        cluster.cut_off(old);
        slow = cluster.slow_down(cluster.ports().iter().copied().filter(|port| *port != old), &ended);
    });
    ended.store(true, Ordering::Relaxed);
    slow.into_iter()
        .for_each(|thread| thread.join().expect("it slowed a node"));
}
