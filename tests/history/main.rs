//! The checker of histories, against stores with a known bug each.

#[path = "../support/history/mod.rs"]
mod checker;

mod by_hand;
mod toy;
mod world;

use self::checker::{Checks, Disturbance, Finding};
use self::toy::Bug;
use self::world::{DEADLINE, LATENESS, World};

const RUNS: u64 = 100;

fn checks() -> Checks {
    Checks {
        deadline: Some(DEADLINE),
        lateness: LATENESS,
        slack: 10,
        disturbances: Vec::new(),
    }
}

/// In how many of the runs something of the kind was found.
fn found(bug: Bug, kind: fn(&Finding) -> bool) -> u64 {
    let runs = (0..RUNS).filter(|seed| {
        let run = World::run(*seed, Some(bug));
        checks().of(&run.calls).iter().any(kind)
    });
    runs.count() as u64
}

#[test]
fn a_correct_store_is_never_accused() {
    for seed in 0..10 * RUNS {
        let run = World::run(seed, None);
        assert_eq!(checks().of(&run.calls), [], "seed {seed}");
        // Otherwise nothing would have been shown.
        let told = run.told();
        assert!(told.admitted > 50 && told.refused > 50 && told.unknown > 5, "{told:?}");
    }
}

#[test]
fn a_store_that_records_what_it_refuses_is_found() {
    let found = found(Bug::RecordsDenials, |finding| {
        matches!(finding, Finding::Unjustified { .. })
    });
    assert_eq!(found, RUNS);
}

#[test]
fn a_store_that_merges_equal_times_is_found() {
    let found = found(Bug::MergesEqualTimes, |finding| {
        matches!(finding, Finding::OverAdmission { .. })
    });
    assert_eq!(found, RUNS);
}

#[test]
fn a_store_that_asks_again_blindly_is_found() {
    let found = found(Bug::AsksAgain, |finding| matches!(finding, Finding::Unjustified { .. }));
    // A call of unknown outcome near by may hide it.
    assert!(found >= RUNS * 95 / 100, "in {found} of {RUNS}");
}

#[test]
fn a_store_without_a_deadline_is_found() {
    let found = found(Bug::NoDeadline, |finding| matches!(finding, Finding::Late { .. }));
    assert_eq!(found, RUNS);
}

#[test]
fn a_store_that_admits_one_too_many_is_found() {
    let found = found(Bug::OneTooMany, |finding| {
        matches!(finding, Finding::OverAdmission { .. })
    });
    assert_eq!(found, RUNS);
}

#[test]
fn a_store_that_admits_one_too_few_is_found() {
    let found = found(Bug::OneTooFew, |finding| matches!(finding, Finding::Unjustified { .. }));
    assert_eq!(found, RUNS);
}

#[test]
fn a_store_that_tells_too_short_a_wait_is_found() {
    let found = found(Bug::ShortHints, |finding| matches!(finding, Finding::BrokenHint { .. }));
    assert_eq!(found, RUNS);
}

#[test]
fn a_failover_may_cost_the_count_and_no_more() {
    let mut without = 0;
    for seed in 0..RUNS {
        let run = World::run(seed, Some(Bug::Forgets));
        let at = run.forgot_at.expect("it has forgotten");
        without += u64::from(!checks().of(&run.calls).is_empty());
        let mut checks = checks();
        checks.disturbances.push(Disturbance {
            from: at,
            until: at,
            extra: world::WINDOW.count,
        });
        assert_eq!(checks.of(&run.calls), [], "seed {seed}");
        // At another time it is none.
        checks.disturbances[0].from = at + 10 * world::WINDOW.length;
        checks.disturbances[0].until = checks.disturbances[0].from;
        without += u64::from(!checks.of(&run.calls).is_empty());
    }
    assert_eq!(without, 2 * RUNS);
}
