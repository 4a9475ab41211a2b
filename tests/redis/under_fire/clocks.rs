//! Servers whose clocks are 5 s apart, of which one follows the other as the primary.

use rate_limit::OnStoreError;

use super::battle::Battle;
use super::caller::Plan;
use super::{SECOND, plan};
use crate::common::ms;
use crate::support::RedisSentinels;
use crate::support::history::{Disturbance, Finding, monotonic};

/// Of the primary, the next one and the one after it: the time goes back by 5 s and then on by 10.
const OFFSETS: [i32; 3] = [0, -5, 5];
/// After a promotion the old primary may admit for so long, in microseconds.
const AWARE: u64 = 1_500_000;
/// The ticks at which the primary changes.
const CHANGES: [u32; 2] = [25, 125];

/// What a server has from one that is ahead counts for a window from then on, and no longer: a client may be refused for one
/// window more.
#[test]
fn a_clock_that_steps_with_a_failover_costs_the_count_or_a_window() {
    let sentinels = RedisSentinels::start_with_clocks(OFFSETS);
    sentinels.set_down_after(3_000);
    let ports = sentinels.server_ports().to_vec();
    // The next in turn is the one that sentinels like best.
    sentinels.nodes().order(ports[1], "CONFIG SET replica-priority 10");
    let plan = Plan {
        deadline: ms(500),
        ..plan(sentinels.url(), OnStoreError::Closed, SECOND, ms(6_500))
    };
    let mut changes = CHANGES.into_iter().peekable();
    let battle = Battle::of(&plan, |tick, callers| {
        changes.next_if(|change| *change <= tick)?;
        let from = monotonic();
        let old = sentinels.begin_failover();
        let new = sentinels.wait_for_failover(old);
        let promoted = monotonic();
        if old == ports[0] {
            assert_eq!(new, ports[1]);
            sentinels.nodes().order(ports[0], "CONFIG SET replica-priority 0");
            callers.start_another();
        } else {
            assert_eq!(new, ports[2]);
        }
        Some(Disturbance {
            from,
            until: promoted + AWARE,
            extra: SECOND.count,
        })
    });
    assert_eq!(battle.disturbances.len(), CHANGES.len());
    let window = SECOND.length;
    battle.assert_correct_but("clocks 5 s apart", |finding| {
        let (Finding::Unjustified { refused, .. } | Finding::BrokenHint { refused, .. }) = finding else {
            return false;
        };
        let steps = &mut battle.disturbances.iter();
        steps.any(|step| (step.from..=step.until + window).contains(&refused.sent_at))
    });
}
