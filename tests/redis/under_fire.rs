//! Processes that decide while their server loses its scripts, its data and itself: what their callers see is what a
//! correct store answers.

mod battle;
mod caller;
mod clients;
mod clocks;
mod topologies;
mod witness;

use std::time::Duration;

use rate_limit::OnStoreError;
use tokio::runtime::Runtime;

use self::battle::{Battle, PROCESSES};
use self::caller::Plan;
use crate::common::ms;
use crate::support::history::{Answer, Checks, DecidedBy, Disturbance, Finding, Window, monotonic};
use crate::support::{Fault, FaultProxy, RedisCluster, RedisSentinels, RedisServer, eventually};

/// Many pass between two restarts.
const SHORT: Window = Window {
    count: 5,
    length: 200_000,
};
/// What was forgotten shows within it.
const SECOND: Window = Window {
    count: 5,
    length: 1_000_000,
};
/// One outlasts a failover.
const LONG: Window = Window {
    count: 20,
    length: 4_000_000,
};
/// How many decisions are made in all, if not [`DECISIONS`].
const SOME: u32 = 30_000;
const DECISIONS: &str = "UNDER_FIRE";
/// That of a store for which none was set.
const DEADLINE: Duration = ms(100);
/// After a failover that nobody asked for, as on a machine that is too busy, a process may go on with the old primary.
const UNAWARE: u64 = 2_000_000;

/// How many times as many decisions are asked for as are made by default.
fn scale() -> u32 {
    decisions().div_ceil(SOME)
}

fn decisions() -> u32 {
    std::env::var(DECISIONS).map_or(SOME, |decisions| decisions.parse().expect("it is a number"))
}

fn plan(url: String, mode: OnStoreError, window: Window, duration: Duration) -> Plan {
    Plan {
        url,
        mode,
        window,
        calls: decisions().div_ceil(PROCESSES),
        duration,
        deadline: DEADLINE,
        runtimes: false,
    }
}

/// Has the server forget the scripts at each tick, and all it knows every second.
fn burns(server: &mut RedisServer, tick: u32) -> Option<Disturbance> {
    if tick.is_multiple_of(50) {
        let from = monotonic();
        server.restart();
        return Some(Disturbance {
            from,
            until: monotonic(),
            extra: SHORT.count,
        });
    }
    server.nodes().order(server.port(), "SCRIPT FLUSH");
    None
}

fn lone_server(mode: OnStoreError, what: &str) -> Battle {
    let mut server = RedisServer::start();
    let plan = plan(server.url(), mode, SHORT, ms(4_000));
    let battle = Battle::of(&plan, |tick, _| burns(&mut server, tick));
    battle.assert_correct(what);
    assert!(battle.disturbances.len() >= 2, "{:?}", battle.disturbances);
    assert!(battle.obeyed() > 100);
    // Less would not have done: of so many keys one at least had its count anew.
    let strict = Checks {
        disturbances: Vec::new(),
        ..battle.checks()
    };
    let excess = strict.of(&battle.calls);
    assert!(
        excess
            .iter()
            .any(|finding| matches!(finding, Finding::OverAdmission { .. }))
    );
    battle
}

#[test]
fn red_15_a_server_that_restarts_empty_costs_the_count_where_errors_refuse() {
    let battle = lone_server(OnStoreError::Closed, "restarts, closed");
    assert!(battle.count(|call| call.answer == Answer::Unknown) > 0);
    assert_eq!(battle.count(|call| call.by == DecidedBy::Fallback), 0);
}

#[test]
fn red_15_a_server_that_restarts_empty_costs_the_count_where_processes_go_on_alone() {
    let battle = lone_server(OnStoreError::Local, "restarts, local");
    assert_eq!(battle.count(|call| call.answer == Answer::Unknown), 0);
    assert!(battle.count(|call| call.by == DecidedBy::Fallback) > 0);
}

#[test]
fn red_08_answers_that_are_lost_cost_nothing() {
    let server = RedisServer::start();
    let runtime = Runtime::new().expect("there are threads");
    let proxy = runtime.block_on(FaultProxy::start(server.port()));
    let plan = plan(proxy.url(), OnStoreError::Closed, SHORT, ms(3_000));
    let battle = Battle::of(&plan, |tick, _| {
        // Seldom, so that few others are unknown beside a call that would be charged twice.
        if tick.is_multiple_of(5) {
            proxy.arm(Fault::Drop);
        }
        None
    });
    battle.assert_correct("answers lost");
    assert!(battle.obeyed() > 100);
    assert!(battle.count(|call| call.answer == Answer::Unknown) > 20);
}

/// Kills the primary, waits for the next one, and has the old one follow it.
fn promotes(sentinels: &mut RedisSentinels) {
    let old = sentinels.kill_primary();
    sentinels.wait_for_failover(old);
    sentinels.restart(old);
    eventually("the old primary follows", ms(60_000), || {
        (sentinels.role(old)? == "slave").then_some(())
    });
}

#[test]
fn red_15_a_failover_costs_the_count_where_processes_go_on_alone() {
    let mut sentinels = RedisSentinels::start();
    let plan = plan(sentinels.url(), OnStoreError::Local, LONG, ms(15_000));
    let mut failovers = sentinels.failovers();
    let mut seen = monotonic();
    let battle = Battle::of(&plan, |tick, _| {
        if tick.is_multiple_of(150) {
            promotes(&mut sentinels);
        }
        let (from, before) = (seen, failovers);
        (failovers, seen) = (sentinels.failovers(), monotonic());
        (failovers > before).then(|| Disturbance {
            from: from - UNAWARE,
            until: seen + UNAWARE,
            extra: LONG.count * (failovers - before) as u32,
        })
    });
    battle.assert_correct("failovers, local");
    // An election under load may take its time.
    assert!(!battle.disturbances.is_empty());
    assert!(battle.count(|call| call.by == DecidedBy::Fallback) > 0);
}

#[test]
fn red_15_slots_that_move_cost_nothing() {
    let cluster = RedisCluster::start();
    let plan = plan(cluster.url(), OnStoreError::Closed, SHORT, ms(5_000));
    let mut moved = 0;
    let (mut known, mut seen) = (cluster.primaries(), monotonic());
    let battle = Battle::of(&plan, |tick, _| {
        let primaries = cluster.primaries();
        let place = tick as usize % primaries.len();
        let (from, to) = (primaries[place], primaries[(place + 1) % primaries.len()]);
        let key: Option<String> = cluster.nodes().ask(from, "RANDOMKEY").expect("it answers");
        if let Some(key) = key {
            cluster.move_slot(cluster.slot_of(&key), to);
            moved += 1;
        }
        let failover = (known != primaries).then(|| Disturbance {
            from: seen - UNAWARE,
            until: monotonic() + UNAWARE,
            extra: SHORT.count,
        });
        (known, seen) = (primaries, monotonic());
        failover
    });
    battle.assert_correct("slots moved");
    println!("{moved} slots moved");
    assert!(moved > 10);
    assert!(battle.obeyed() > 100);
}
