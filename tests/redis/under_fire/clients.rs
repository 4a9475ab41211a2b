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

/// More than a busy machine adds.
const DEADLINE: Duration = ms(1_000);

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

/// It hears of nothing for three windows, and another one for longer than the deadline.
#[test]
fn a_process_that_is_stopped_for_longer_than_the_window_goes_on_as_before() {
    const STOPS: [(u32, Duration); 2] = [(25, ms(600)), (75, ms(1_500))];
    /// After a process goes on, its connection is proven again.
    const AWARE: u64 = 1_000_000;
    let server = RedisServer::start();
    let plan = closed(&server, ms(4_500));
    let mut stopped = Vec::new();
    let battle = Battle::of(&plan, |tick, callers| {
        // While it is stopped there are no ticks.
        for (process, (_, time)) in STOPS.into_iter().enumerate().filter(|(_, (at, _))| *at == tick) {
            let from = monotonic();
            callers.stop_for(process, time);
            stopped.push(from - DEADLINE.as_micros() as u64..=monotonic() + AWARE);
        }
        None
    });
    assert_eq!(stopped.len(), STOPS.len());
    battle.assert_correct("processes stopped");
    battle.assert_decided_but(&stopped, "processes stopped");
}
