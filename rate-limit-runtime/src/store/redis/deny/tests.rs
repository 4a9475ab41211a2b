//! The refusals that are known, against a model.

use std::collections::BTreeMap;

use super::*;
use crate::clock::ManualClock;
use crate::error::StoreErrorKind;
use crate::key::{Client, Key};
use crate::method::Method;
use crate::store::draws::draws;
use crate::store::{Change, MemoryStore, Store as _};
use crate::verdict::Hit;

const STALENESS: Duration = Duration::from_secs(1);
/// The longest way of a message, there or back.
const WAY: u64 = 40_000;

fn key(client: &str) -> Key {
    Key::new(Method::named("login"), Client::of(client).expect("it names somebody"))
}

fn denied(micros: u64) -> Result<Verdict, StoreError> {
    Ok(Verdict::Denied {
        longest: 0,
        remaining: 0,
        retry_after: micros,
        reset_after: micros,
    })
}

fn ask(denials: &Arc<Denials>, charge: Charge, now: Instant) -> Asked {
    match denials.look(&[charge], now) {
        Some(Look::Ask(asked)) => asked,
        _ => panic!("it is not to be asked"),
    }
}

fn is_refused(denials: &Arc<Denials>, charge: Charge, now: Instant) -> bool {
    matches!(denials.look(&[charge], now), Some(Look::Refused(_)))
}

fn charge(client: &str) -> Charge {
    Charge::new(
        key(client),
        Policy::sliding_window(5, Duration::from_secs(600)).block(Duration::from_secs(900)),
        2,
    )
}

#[test]
fn only_a_call_that_is_sure_to_be_refused_is() {
    let denials = Denials::new(STALENESS).expect("it is on");
    let (now, mine) = (Instant::now(), charge("a"));
    ask(&denials, mine, now).answered(&denied(9_000_000), now + Duration::from_millis(3));
    let soon = now + Duration::from_millis(500);
    assert!(is_refused(&denials, mine, soon));
    assert!(is_refused(&denials, Charge { cost: 3, ..mine }, soon));
    assert!(!is_refused(&denials, Charge { cost: 1, ..mine }, soon));
    for policy in [
        Policy::sliding_window(6, Duration::from_secs(600)).block(Duration::from_secs(900)),
        Policy::sliding_window(5, Duration::from_secs(601)).block(Duration::from_secs(900)),
        Policy::sliding_window(5, Duration::from_secs(600)).block(Duration::from_secs(901)),
        Policy::fixed_window(5, Duration::from_secs(600)).block(Duration::from_secs(900)),
    ] {
        assert!(!is_refused(&denials, Charge { policy, ..mine }, soon), "{policy:?}");
    }
    assert!(!is_refused(&denials, charge("b"), soon));
    for unlike in [
        Charge { observe: true, ..mine },
        Charge { at: Some(0), ..mine },
        Charge { cost: 6, ..mine },
    ] {
        assert!(denials.look(&[unlike], soon).is_none());
    }
    assert!(Denials::new(Duration::ZERO).is_none());
}

fn no_block(client: &str) -> Charge {
    let policy = Policy::sliding_window(5, Duration::from_secs(600));
    Charge {
        policy,
        ..charge(client)
    }
}

#[test]
fn f_57_a_call_by_several_rules_is_refused_by_the_rule_that_refused_one() {
    let denials = Denials::new(STALENESS).expect("it is on");
    let (now, stack) = (Instant::now(), ["a", "b", "c"].map(no_block));
    let refused_by = |charges: &[Charge], now| match denials.look(charges, now) {
        Some(Look::Refused(Verdict::Denied { longest, .. })) => Some(longest),
        _ => None,
    };
    let asked = denials.look(&stack, now);
    let Some(Look::Ask(asked)) = asked else {
        panic!("nothing is known yet")
    };
    let by_the_second = Ok(Verdict::Denied {
        longest: 1,
        remaining: 0,
        retry_after: 9_000_000,
        reset_after: 9_000_000,
    });
    asked.answered(&by_the_second, now);
    let soon = now + Duration::from_millis(500);
    assert_eq!(refused_by(&stack, soon), Some(1));
    assert_eq!(refused_by(&stack[1..], soon), Some(0), "whatever its place is");
    assert_eq!(
        refused_by(&[stack[0], stack[2]], soon),
        None,
        "the others refused nothing"
    );
    let may_begin_a_block = [stack[1], charge("d")];
    assert_eq!(refused_by(&may_begin_a_block, soon), None, "only the server begins it");
    let can_never_be = [
        stack[1],
        Charge {
            cost: 6,
            ..no_block("d")
        },
    ];
    assert_eq!(refused_by(&can_never_be, soon), None);
    let observes = [
        stack[1],
        Charge {
            observe: true,
            ..no_block("d")
        },
    ];
    assert_eq!(refused_by(&observes, soon), Some(0));

    // Stale: one call asks, and the others are refused meanwhile.
    let later = now + STALENESS;
    let Some(Look::Ask(asked)) = denials.look(&stack, later) else {
        panic!("it is stale")
    };
    assert_eq!(refused_by(&stack, later), Some(1));
    asked.answered(
        &Ok(Verdict::Allowed {
            tightest: 0,
            remaining: 0,
            reset_after: 0,
            hits: crate::verdict::Hits::new(),
        }),
        later,
    );
    assert_eq!(refused_by(&stack, later), None, "it was admitted");
}

#[test]
fn the_wait_ends_by_the_sending_and_is_told_by_the_answer() {
    let denials = Denials::new(STALENESS).expect("it is on");
    let (now, mine) = (Instant::now(), charge("a"));
    ask(&denials, mine, now).answered(&denied(10_000), now + Duration::from_millis(3));
    let Some(Look::Refused(verdict)) = denials.look(&[mine], now + Duration::from_nanos(9_999_999)) else {
        panic!("it still waits");
    };
    // Of the 13 ms after the sending less than 3,000.001 us are left.
    assert_eq!(verdict, denied(3_001).expect("it is a verdict"));
    assert!(!is_refused(&denials, mine, now + Duration::from_millis(10)));
}

#[test]
fn one_call_asks_when_it_is_stale() {
    let denials = Denials::new(STALENESS).expect("it is on");
    let (now, mine) = (Instant::now(), charge("a"));
    ask(&denials, mine, now).answered(&denied(9_000_000), now);
    let later = now + STALENESS;
    let asking = ask(&denials, mine, later);
    assert!(is_refused(&denials, mine, later));
    drop(asking);
    let asking = ask(&denials, mine, later);
    assert!(is_refused(&denials, mine, later));
    asking.answered(&denied(8_000_000), later);
    assert!(is_refused(&denials, mine, later + Duration::from_millis(999)));
    let asking = ask(&denials, mine, later + STALENESS);
    asking.answered(&Err(StoreError::new(StoreErrorKind::Timeout, "")), later + STALENESS);
    assert!(!is_refused(&denials, mine, later + STALENESS), "it cannot be asked for");
}

#[test]
fn nobody_is_refused_while_the_server_does_not_decide() {
    let denials = Denials::new(STALENESS).expect("it is on");
    let (now, mine) = (Instant::now(), charge("a"));
    ask(&denials, mine, now).answered(&denied(9_000_000), now);
    let fail = |kind| ask(&denials, charge("b"), now).answered(&Err(StoreError::new(kind, "")), now);
    fail(StoreErrorKind::Unexpected);
    assert!(is_refused(&denials, mine, now), "that was about another key");
    fail(StoreErrorKind::Unavailable);
    assert!(!is_refused(&denials, mine, now));
    ask(&denials, charge("b"), now).answered(&denied(9_000_000), now);
    assert!(is_refused(&denials, mine, now));
}

#[test]
fn one_that_asks_while_its_neighbours_are_forgotten_leaves_the_asking_to_the_next() {
    let denials = Denials::new(STALENESS).expect("it is on");
    let (now, mine) = (Instant::now(), charge("a"));
    ask(&denials, mine, now).answered(&denied(9_000_000), now);
    let asking = ask(&denials, mine, now + STALENESS);
    denials.shard(Id::of(&mine.key)).change().epoch += 1;
    asking.answered(&denied(8_000_000), now + STALENESS);
    assert!(!is_refused(&denials, mine, now + STALENESS), "this one asks");
}

#[test]
fn rst_05_a_refusal_under_way_is_not_kept_after_a_reset() {
    let denials = Denials::new(STALENESS).expect("it is on");
    let (now, mine) = (Instant::now(), charge("a"));
    let before = ask(&denials, mine, now);
    let reset = Settlement::new(mine.key, mine.policy, Change::Reset { upto: Hit::NONE });
    drop(denials.changing(&[reset]));
    before.answered(&denied(9_000_000), now);
    assert!(!is_refused(&denials, mine, now));
}

#[test]
fn an_earlier_answer_that_comes_late_changes_nothing() {
    let denials = Denials::new(STALENESS).expect("it is on");
    let (now, mine) = (Instant::now(), charge("a"));
    let first = ask(&denials, mine, now);
    let later = now + Duration::from_millis(1);
    ask(&denials, mine, later).answered(&denied(9_000_000), later);
    first.answered(&Ok(Verdict::Impossible { which: 0 }), later);
    assert!(is_refused(&denials, mine, later));
}

#[test]
fn the_oldest_goes_when_there_are_too_many() {
    let denials = Denials::new(STALENESS).expect("it is on");
    let now = Instant::now();
    let clients = 3 * REFUSALS as u64;
    for client in 0..clients {
        let at = now + Duration::from_micros(client);
        let mine = charge(&client.to_string());
        ask(&denials, mine, at).answered(&denied(9_000_000), at);
    }
    let kept: usize = denials.shards.iter().map(|shard| shard.lock().refusals.len()).sum();
    assert_eq!(kept, SHARDS * REFUSALS_A_SHARD);
    let at = now + Duration::from_micros(clients);
    let known = |client: &u64| is_refused(&denials, charge(&client.to_string()), at);
    assert!((clients - 1_000..clients).all(|client| known(&client)));
    assert_eq!((0..10_000).filter(known).count(), 0);
}

enum Event {
    Call,
    Arrives(Charge, Asked),
    Answers(Asked, Result<Verdict, StoreError>),
    ResetElsewhere,
    Reset,
    Forgets(Changing),
    Ends(Changing),
}

/// Calls by one instance, resets by it and by others, messages that take their time and get lost: whatever is refused
/// without asking, the store would refuse, or would have a moment ago.
#[test]
fn rst_05_nobody_is_refused_who_fits_but_for_the_staleness() {
    let mut told_again = 0;
    let (mut refused, mut excused, mut asked_again) = (0, 0, 0);
    for seed in 1..=40 {
        let mut draw = draws(seed);
        let window = Duration::from_millis(500 + draw(20_000));
        let policy = match draw(4) {
            0 => Policy::fixed_window(5, window),
            1 => Policy::token_bucket(5, window / 5),
            2 => Policy::sliding_window(5, window).block(2 * window),
            _ => Policy::sliding_window(5, window),
        };
        let key = key("a").counted_by(policy.algorithm(), 0);
        let clock = ManualClock::new();
        let store = MemoryStore::builder().clock(&clock).build();
        let (start, origin) = (clock.now(), Instant::now());
        let denials = Denials::new(STALENESS).expect("it is on");
        let clear = Settlement::new(key, policy, Change::Clear);
        let mut events = BTreeMap::new();
        let mut number = 0;
        let mut at = |events: &mut BTreeMap<_, _>, time, event| {
            number += 1;
            events.insert((time, number), event);
        };
        let mut time = start;
        for _ in 0..3_000 {
            time += draw(30_000);
            let event = match draw(400) {
                0 | 1 => Event::ResetElsewhere,
                2 | 3 => Event::Reset,
                _ => Event::Call,
            };
            at(&mut events, time, event);
        }
        let (mut elsewhere, mut lost, mut changing) = (0, 0, 0);
        while let Some(((time, _), event)) = events.pop_first() {
            clock.advance(Duration::from_micros(time - clock.now()));
            let now = origin + Duration::from_micros(time - start);
            match event {
                Event::Call => {
                    let charge = Charge::new(key, policy, 1 + draw(2) as u32);
                    let told = denials.told(&charge, || now);
                    let looked = denials.look(&[charge], now);
                    if let Some(told) = told {
                        assert!(
                            matches!(&looked, Some(Look::Refused(verdict)) if *verdict == told),
                            "seed {seed}"
                        );
                        told_again += 1;
                    }
                    match looked {
                        Some(Look::Refused(verdict)) => {
                            refused += 1;
                            let truth = store.peek(charge).answer().map(|answer| answer.as_ref().ok().cloned());
                            let excuse = changing > 0
                                || time - elsewhere < STALENESS.as_micros() as u64 + 2 * WAY
                                || lost >= elsewhere && elsewhere > 0 && time - lost < 2 * STALENESS.as_micros() as u64;
                            match (truth.flatten(), verdict) {
                                (
                                    Some(Verdict::Denied {
                                        retry_after: longest, ..
                                    }),
                                    Verdict::Denied { retry_after, .. },
                                ) => assert!(excuse || retry_after <= longest + 2 * WAY, "seed {seed}"),
                                (Some(Verdict::Allowed { .. }), _) => {
                                    assert!(excuse, "seed {seed}, {policy:?}");
                                    excused += 1;
                                }
                                unlike => panic!("{unlike:?}"),
                            }
                        }
                        Some(Look::Ask(asked)) => {
                            asked_again += asked.charges.iter().filter(|charge| charge.doubts).count();
                            at(&mut events, time + draw(WAY), Event::Arrives(charge, asked));
                        }
                        None => panic!("it has one charge"),
                    }
                }
                // The caller gave up, and the message may arrive all the same.
                Event::Arrives(charge, asked) if draw(20) == 0 => {
                    lost = time;
                    drop(asked);
                    if draw(2) == 0 {
                        drop(store.acquire(&[charge]));
                    }
                }
                Event::Arrives(charge, asked) => {
                    let answer = match draw(20) {
                        0 => Err(StoreError::new(StoreErrorKind::Timeout, "")),
                        _ => match store.acquire(&[charge]).answer() {
                            Some(Ok(verdict)) => Ok(verdict.clone()),
                            _ => panic!("it is in memory"),
                        },
                    };
                    at(&mut events, time + draw(WAY), Event::Answers(asked, answer));
                }
                Event::Answers(asked, answer) => asked.answered(&answer, now),
                Event::ResetElsewhere => {
                    elsewhere = time;
                    drop(store.settle(&[clear]));
                }
                Event::Reset => {
                    changing += 1;
                    let change = denials.changing(&[clear]);
                    at(&mut events, time + draw(WAY), Event::Forgets(change));
                }
                Event::Forgets(change) => {
                    drop(store.settle(&[clear]));
                    at(&mut events, time + draw(WAY), Event::Ends(change));
                }
                Event::Ends(change) => {
                    changing -= 1;
                    drop(change);
                }
            }
        }
    }
    println!(
        "{refused} refused without asking, {told_again} without a lock, {excused} who would fit, {asked_again} asked again"
    );
    assert!(refused > 10_000 && told_again > 5_000 && excused > 10 && asked_again > 100);
}
