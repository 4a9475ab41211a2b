//! Where exactly the checks draw the line.

use crate::checker::{Answer, Call, Checks, DecidedBy, Disturbance, Finding, Recorder, Window, monotonic};

const WINDOW: Window = Window { count: 2, length: 100 };
const START: u64 = 1_000;

fn call(sent_at: u64, replied_at: u64, answer: Answer) -> Call {
    Call {
        process: 1,
        key: "a".into(),
        window: WINDOW,
        cost: 1,
        sent_at: START + sent_at,
        replied_at: START + replied_at,
        answer,
        by: DecidedBy::Store,
    }
}

fn admitted(sent_at: u64, replied_at: u64) -> Call {
    call(sent_at, replied_at, Answer::Admitted)
}

fn refused(sent_at: u64, replied_at: u64, retry_after: u64) -> Call {
    call(sent_at, replied_at, Answer::Refused { retry_after })
}

fn by_fallback(process: u32, call: Call) -> Call {
    Call {
        process,
        by: DecidedBy::Fallback,
        ..call
    }
}

fn costing(cost: u32, call: Call) -> Call {
    Call { cost, ..call }
}

fn exact() -> Checks {
    Checks {
        slack: 0,
        ..Checks::default()
    }
}

/// What is found, by its kind.
fn found(checks: &Checks, calls: &[Call]) -> Vec<&'static str> {
    let kind = |finding: &Finding| match finding {
        Finding::OverAdmission { .. } => "over-admission",
        Finding::Unjustified { .. } => "unjustified",
        Finding::BrokenHint { .. } => "broken hint",
        Finding::Late { .. } => "late",
    };
    checks.of(calls).iter().map(kind).collect()
}

#[test]
fn three_within_a_window_are_one_too_many_and_a_window_apart_they_are_not() {
    let three = |last| [admitted(0, 0), admitted(50, 50), admitted(last, last)];
    assert_eq!(found(&exact(), &three(99)), ["over-admission"]);
    assert_eq!(found(&exact(), &three(100)), [""; 0]);
}

#[test]
fn a_call_that_may_have_been_decided_a_window_apart_is_no_offence() {
    let three = |replied| [admitted(0, 0), admitted(50, 50), admitted(60, replied)];
    assert_eq!(found(&exact(), &three(99)), ["over-admission"]);
    assert_eq!(found(&exact(), &three(100)), [""; 0]);
}

#[test]
fn a_stretch_of_two_windows_holds_twice_the_count() {
    // No 100 of these times surely hold three, and yet five do not fit into 199.
    let slow = |replied| (0..5).map(|_| admitted(0, replied)).collect::<Vec<_>>();
    assert_eq!(found(&exact(), &slow(199)), ["over-admission"]);
    assert_eq!(found(&exact(), &slow(200)), [""; 0]);
}

#[test]
fn a_call_weighs_what_it_costs() {
    let two = [costing(2, admitted(0, 0)), admitted(50, 50)];
    let findings = exact().of(&two);
    let [Finding::OverAdmission { admitted, bound, .. }] = &findings[..] else {
        panic!("{findings:?}");
    };
    assert_eq!((*admitted, *bound), (3, 2));
    let refusal = |cost| [admitted_once(), costing(cost, refused(10, 10, 90))];
    assert_eq!(found(&exact(), &refusal(1)), ["unjustified"]);
    assert_eq!(found(&exact(), &refusal(2)), [""; 0]);
}

fn admitted_once() -> Call {
    admitted(0, 0)
}

#[test]
fn what_nobody_knows_counts_for_a_refusal_and_not_against_the_store() {
    let unknown = call(20, 30, Answer::Unknown);
    let calls = [admitted(0, 0), unknown.clone(), admitted(40, 40), refused(50, 50, 50)];
    assert_eq!(found(&exact(), &calls), [""; 0]);
    let calls = [admitted(0, 0), refused(50, 50, 50)];
    assert_eq!(found(&exact(), &calls), ["unjustified"]);
    let calls = [admitted(0, 0), unknown, refused(50, 50, 50)];
    assert_eq!(found(&exact(), &calls), [""; 0]);
}

#[test]
fn a_charge_may_come_late_but_not_later() {
    let calls = [call(0, 10, Answer::Unknown), admitted(100, 100), refused(120, 120, 10)];
    let late = |lateness| Checks { lateness, ..exact() };
    assert_eq!(found(&late(10), &calls), ["unjustified"]);
    assert_eq!(found(&late(11), &calls), [""; 0]);
}

#[test]
fn a_refusal_needs_a_full_window_at_one_moment_of_it() {
    // Each of the two may be in a window of this call, but never both.
    let calls = [admitted(0, 10), admitted(130, 130), refused(105, 150, 1)];
    assert_eq!(found(&exact(), &calls), ["unjustified"]);
    let calls = [admitted(0, 10), admitted(109, 130), refused(105, 150, 1)];
    assert_eq!(found(&exact(), &calls), [""; 0]);
}

#[test]
fn a_window_is_half_open() {
    let calls = |at| [admitted(0, 0), admitted(50, 50), refused(at, at, 1)];
    assert_eq!(found(&exact(), &calls(99)), [""; 0]);
    assert_eq!(found(&exact(), &calls(100)), ["unjustified"]);
}

#[test]
fn a_hint_holds_unless_another_call_came() {
    let full = [admitted(0, 0), admitted(1, 1), refused(10, 12, 40)];
    let then = |more: &[Call]| [&full[..], more].concat();
    assert_eq!(found(&exact(), &then(&[refused(51, 51, 1)])), [""; 0]);
    assert_eq!(found(&exact(), &then(&[refused(52, 52, 1)])), ["broken hint"]);
    assert_eq!(found(&exact(), &then(&[costing(2, refused(52, 52, 1))])), [""; 0]);
    let other = call(20, 21, Answer::Unknown);
    assert_eq!(found(&exact(), &then(&[other, refused(52, 52, 1)])), [""; 0]);
}

fn with(from: u64, until: u64, extra: u32) -> Checks {
    Checks {
        disturbances: vec![Disturbance { from, until, extra }],
        ..exact()
    }
}

#[test]
fn a_hint_from_before_the_store_lost_what_it_kept_need_not_hold() {
    let calls = [
        admitted(0, 0),
        admitted(1, 1),
        refused(110, 112, 40),
        refused(152, 152, 1),
    ];
    let lost = |from, until| with(START + from, START + until, 2);
    // Who had heard of it before may repeat it for a window.
    assert_eq!(found(&lost(5, 10), &calls)[0], "unjustified");
    assert!(!found(&lost(5, 10), &calls).contains(&"broken hint"));
    assert!(found(&lost(5, 9), &calls).contains(&"broken hint"));
    // It was lost after both.
    assert!(!found(&lost(152, 160), &calls).contains(&"broken hint"));
    assert!(found(&lost(153, 160), &calls).contains(&"broken hint"));
}

#[test]
fn a_failover_excuses_its_window_alone() {
    let calls: Vec<Call> = [0, 1, 50, 51].map(|at| admitted(at, at)).into();
    let with = |from, until, extra| with(START + from, START + until, extra);
    assert_eq!(found(&exact(), &calls), ["over-admission"]);
    assert_eq!(found(&with(20, 30, 2), &calls), [""; 0]);
    assert_eq!(found(&with(20, 30, 1), &calls), ["over-admission"]);
    assert_eq!(found(&with(52, 60, 2), &calls), ["over-admission"]);
}

#[test]
fn what_is_beyond_the_count_lies_surely_in_one_window() {
    let beyond = |calls: &[Call], since: u64| exact().beyond(calls, START + since);
    let full = [admitted(0, 0), admitted(1, 98)];
    let with = |more: Call| [&full[..], &[more]].concat();
    assert_eq!(beyond(&full, 0), 0);
    assert_eq!(beyond(&with(admitted(50, 60)), 0), 1);
    assert_eq!(beyond(&with(admitted(50, 60)), 1), 0, "the first is of before");
    assert_eq!(beyond(&with(admitted(50, 100)), 0), 0, "it may be of the next window");
    assert_eq!(beyond(&with(by_fallback(1, admitted(50, 60))), 0), 0);
    assert_eq!(beyond(&with(costing(3, admitted(50, 60))), 0), 3);
}

#[test]
fn a_process_by_itself_has_the_count_once_more_and_no_more() {
    let mut calls: Vec<Call> = vec![admitted(0, 0), admitted(1, 1)];
    for process in [1, 2] {
        calls.extend([10, 11].map(|at| by_fallback(process, admitted(at, at))));
    }
    assert_eq!(found(&exact(), &calls), [""; 0]);
    calls.push(by_fallback(2, admitted(12, 12)));
    assert_eq!(found(&exact(), &calls), ["over-admission"]);
}

#[test]
fn what_a_process_decided_by_itself_may_have_been_charged_in_the_store() {
    let stray = by_fallback(2, admitted(0, 10));
    let calls = [stray.clone(), stray, refused(20, 20, 90)];
    assert_eq!(found(&exact(), &calls), [""; 0]);
    let refusals = [by_fallback(2, refused(0, 10, 1)), by_fallback(2, refused(0, 10, 1))];
    assert_eq!(found(&exact(), &refusals), ["unjustified"], "it had admitted nobody");
}

#[test]
fn an_answer_is_late_after_the_deadline() {
    let checks = Checks {
        deadline: Some(10),
        ..exact()
    };
    assert_eq!(found(&checks, &[admitted(0, 10)]), [""; 0]);
    assert_eq!(found(&checks, &[admitted(0, 11)]), ["late"]);
}

#[test]
fn keys_are_apart() {
    let other = |call: Call| Call {
        key: "b".into(),
        ..call
    };
    let calls = [
        admitted(0, 0),
        admitted(1, 1),
        other(admitted(2, 2)),
        other(refused(3, 3, 99)),
    ];
    let findings = exact().of(&calls);
    assert_eq!(findings.iter().map(Finding::key).collect::<Vec<_>>(), ["b"]);
}

#[test]
fn a_call_is_read_as_it_was_written() {
    let all = [
        admitted(1, 2),
        refused(3, 4, 5),
        by_fallback(2, costing(3, refused(6, 7, 8))),
        call(9, 10, Answer::Unknown),
    ];
    for call in all {
        let line = call.to_string();
        assert_eq!(Call::read(&line), Some(call), "{line}");
        assert_eq!(Call::read(&format!("{line} 1")), None);
        assert_eq!(Call::read(&line[..line.len() - 9]), None);
    }
}

#[test]
fn a_recorder_goes_by_the_clock_of_the_machine() {
    let before = monotonic();
    let recorder = Recorder::new(7);
    let sent = recorder.sent("a", WINDOW, 1);
    std::thread::sleep(std::time::Duration::from_millis(2));
    recorder.replied(sent, Answer::Admitted, DecidedBy::Store);
    let call = recorder.into_calls().remove(0);
    assert!(before <= call.sent_at && call.sent_at + 2_000 <= call.replied_at && call.replied_at <= monotonic());
    assert_eq!((call.process, call.answer), (7, Answer::Admitted));
}
