//! Servers whose clocks are 5 s apart, of which one follows the other as the primary.
//!
//! What a server has from one that is ahead of it counts for a window from the promotion on, and no longer: so a client may be
//! refused for one window more. What it has from one that is behind is forgotten, as by a failover.

use std::time::{SystemTime, UNIX_EPOCH};

use super::SECOND;
use super::battle::Battle;
use super::topologies::{AWARE, closed, end};
use crate::support::RedisSentinels;
use crate::support::history::{Disturbance, Finding, monotonic};

/// Of the primary, the next one and the one after it: the time goes back by 5 s and then on by 10.
const OFFSETS: [i32; 3] = [0, -5, 5];
/// The ticks at which the primary changes.
const CHANGES: [u32; 2] = [25, 100];

fn assert_apart(sentinels: &RedisSentinels) {
    for (port, offset) in sentinels.server_ports().iter().zip(OFFSETS) {
        let (told, _): (i64, i64) = sentinels.nodes().ask(*port, "TIME").expect("it tells the time");
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later");
        let off = told - now.as_secs() as i64 - i64::from(offset);
        assert!(off.abs() <= 1, "the clock of {port} is off by {off} s");
    }
}

#[test]
fn a_clock_that_steps_with_a_failover_costs_the_count_or_a_window() {
    let sentinels = RedisSentinels::start_with_clocks(OFFSETS);
    assert_apart(&sentinels);
    sentinels.set_down_after(3_000);
    let ports = sentinels.server_ports().to_vec();
    sentinels.prefer(&ports[1..]);
    let plan = closed(sentinels.url());
    let mut changes = CHANGES.into_iter().zip([ports[1], ports[2]]).peekable();
    let mut until = u64::MAX;
    let battle = Battle::of(&plan, |tick, callers| {
        if monotonic() > until {
            callers.end();
        }
        let (_, next) = changes.next_if(|(change, _)| *change <= tick)?;
        let from = monotonic();
        let old = sentinels.begin_failover();
        assert_eq!(sentinels.wait_for_failover(old), next);
        let promoted = monotonic();
        if next == ports[1] {
            callers.start_another();
        } else {
            until = end(promoted);
        }
        Some(Disturbance {
            from,
            until: promoted + AWARE,
            extra: SECOND.count,
        })
    });
    assert_eq!(battle.disturbances.len(), CHANGES.len());
    battle.assert_correct_but("clocks 5 s apart", |finding| {
        let (Finding::Unjustified { refused, .. } | Finding::BrokenHint { refused, .. }) = finding else {
            return false;
        };
        let steps = &mut battle.disturbances.iter();
        steps.any(|step| (step.from..=step.until + SECOND.length).contains(&refused.sent_at))
    });
}
