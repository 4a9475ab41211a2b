//! Processes whose own course is disturbed, over a server that is well: what hangs on a runtime that ends or on time that goes by
//! unseen.

use std::time::Duration;

use rate_limit::OnStoreError;

use super::battle::Battle;
use super::caller::{ENDING, Plan};
use super::{SHORT, plan};
use crate::common::ms;
use crate::support::RedisServer;
use crate::support::history::{Answer, monotonic};

const DEADLINE: Duration = ms(500);

fn closed(server: &RedisServer, duration: Duration) -> Plan {
    Plan {
        deadline: DEADLINE,
        ..plan(server.url(), OnStoreError::Closed, SHORT, duration)
    }
}

/// A runtime beside the one that goes on, which ends each second while its calls are under way.
#[test]
fn f_69_a_runtime_that_ends_takes_no_call_of_another_with_it() {
    let server = RedisServer::start();
    let plan = Plan {
        runtimes: true,
        ..closed(&server, ms(4_000))
    };
    let battle = Battle::of(&plan, |_, _| None);
    let of_ending = battle.count(|call| call.process >= ENDING && call.answer != Answer::Unknown);
    println!("runtimes that end: {of_ending} calls of theirs were answered");
    assert!(of_ending > 1_000, "{of_ending}");
    battle.assert_correct("runtimes that end");
    battle.assert_decided_but(&[], "runtimes that end");
}

/// It hears of nothing for three windows.
#[test]
fn a_process_that_is_stopped_for_longer_than_the_window_goes_on_as_before() {
    const STOP: Duration = ms(600);
    /// After a process goes on, its connection is proven again.
    const AWARE: u64 = 1_000_000;
    let server = RedisServer::start();
    let plan = closed(&server, ms(4_500));
    let mut stopped = Vec::new();
    let battle = Battle::of(&plan, |tick, callers| {
        // 600 ms take no tick.
        if [25, 75].contains(&tick) {
            let from = monotonic();
            callers.stop_for(stopped.len(), STOP);
            stopped.push(from - DEADLINE.as_micros() as u64..=monotonic() + AWARE);
        }
        None
    });
    assert_eq!(stopped.len(), 2);
    battle.assert_correct("processes stopped");
    battle.assert_decided_but(&stopped, "processes stopped");
}
