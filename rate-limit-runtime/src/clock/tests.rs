//! The clock of a process on emulated machines, and on this one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::Clock;
use super::anchor::PERIOD;
use super::emulated::{Machine, Ticking};
use super::process::ProcessClock;
use super::sources::System;
use crate::key::{Client, Key};
use crate::method::Method;
use crate::policy::Policy;
use crate::store::{Charge, MemoryStore, Store as _};
use crate::verdict::Verdict;

const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MILLISECOND;
const HOUR: u64 = 3_600 * SECOND;
/// What the counters of an old machine with two sockets may differ by.
const BEHIND: i64 = -1_600 * MILLISECOND as i64;
/// The most microseconds that a counter may be off whose rate is 16 millionths wrong.
const SOME: u64 = 3;

/// A clock beside the time that is right.
struct Beside {
    clock: Arc<ProcessClock<Machine>>,
    start: u64,
    /// Nanoseconds.
    passed: u64,
    last: u64,
}

impl Beside {
    fn on(machine: Machine) -> Self {
        let clock = Arc::new(ProcessClock::new(machine));
        let start = clock.now();
        Self {
            clock,
            start,
            passed: 0,
            last: start,
        }
    }

    fn machine(&self) -> &Machine {
        &self.clock.sources
    }

    fn run(&mut self, nanos: u64) {
        self.machine().run(nanos);
        self.passed += nanos;
    }

    /// Returns by how many microseconds the clock is off.
    fn off(&self) -> u64 {
        self.clock.now().abs_diff(self.start + self.passed / 1_000)
    }

    /// As [`off`](Self::off), of a clock that does not step back.
    fn error(&mut self) -> u64 {
        let now = self.clock.now();
        assert!(
            now >= self.last,
            "it steps back by {} us after {} ns",
            self.last - now,
            self.passed
        );
        self.last = now;
        self.off()
    }

    /// Advances the machine in random steps of less than 50 ms, and returns the largest error of the clock.
    fn largest_error(&mut self, nanos: u64) -> u64 {
        let (end, mut random, mut largest) = (self.passed + nanos, 7_u64, 0);
        while self.passed < end {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            self.run((random >> 33) % (50 * MILLISECOND));
            largest = largest.max(self.error());
        }
        largest
    }

    fn store(&self) -> MemoryStore {
        let clock = Clock::Emulated(Arc::clone(&self.clock));
        MemoryStore::builder().decides_by(clock).build()
    }
}

fn charge(policy: Policy) -> Charge {
    let client = Client::of("alice").expect("it names somebody");
    Charge::new(Key::new(Method::named("login"), client), policy, 1)
}

fn is_admitted(store: &MemoryStore, charge: Charge) -> bool {
    matches!(store.charge(&[charge]), Verdict::Allowed { .. })
}

/// Every machine whose kernel does not use the counter, and those whose kernel is mistaken.
fn machines_with_one_behind() -> Vec<Machine> {
    let counters = [Ticking::new(BEHIND, 0), Ticking::RIGHT];
    vec![
        Machine::distrusting(counters),
        Machine::trusting(counters),
        Machine::trusting([counters[1], counters[0]]),
    ]
}

#[test]
fn f_32_calls_on_two_processors_are_limited_as_on_one() {
    for warm in [0, 50 * MILLISECOND, SECOND] {
        for (which, machine) in machines_with_one_behind().into_iter().enumerate() {
            let mut beside = Beside::on(machine);
            let store = beside.store();
            for _ in 0..warm / (10 * MILLISECOND) {
                beside.run(10 * MILLISECOND);
                beside.error();
            }
            let five = charge(Policy::sliding_window(5, Duration::from_secs(1)));
            let mut admitted = 0;
            for call in 0..14 {
                beside.machine().move_to(call % 2);
                admitted += u32::from(is_admitted(&store, five));
                beside.run(MILLISECOND);
            }
            assert_eq!(admitted, 5, "machine {which}, warm for {warm} ns");
            beside.run(SECOND);
            assert!(is_admitted(&store, five));
        }
    }
}

#[test]
fn f_32_a_thread_that_was_moved_is_not_refused_for_ever() {
    for machine in machines_with_one_behind() {
        for first in [0, 1] {
            let beside = &mut Beside::on(machine.again());
            let (store, one) = (beside.store(), Policy::sliding_window(1, Duration::from_millis(100)));
            beside.machine().move_to(first);
            assert!(is_admitted(&store, charge(one)));
            beside.machine().move_to(1 - first);
            for call in 0..50 {
                beside.run(100 * MILLISECOND);
                assert!(is_admitted(&store, charge(one)), "call {call}");
                beside.run(MILLISECOND);
                assert!(!is_admitted(&store, charge(one)), "call {call}");
            }
        }
    }
}

/// However a thread is moved between the first calls, and however far the processors differ.
#[test]
fn f_32_moves_between_the_first_calls_do_no_harm() {
    for (ahead, largest) in [(-1_600, SOME), (1_600, SOME), (-30, 31_000), (30, 31_000)] {
        for moves in 0..256_u32 {
            let other = Ticking::new(ahead * MILLISECOND as i64, 0);
            let mut beside = Beside::on(Machine::trusting([Ticking::RIGHT, other]));
            for call in 0..8 {
                beside.machine().move_to((moves >> call & 1) as usize);
                beside.run(70 * MILLISECOND);
                let error = beside.off();
                assert!(error <= largest, "{error} us at call {call} of {moves:b}, {ahead} ms");
            }
            // Both have been seen now, and the kernel's clock is read.
            for call in 0..8 {
                beside.machine().move_to(call % 2);
                beside.run(2 * PERIOD);
                beside.off();
            }
            for call in 0..8 {
                beside.machine().move_to(call % 2);
                beside.run(70 * MILLISECOND);
                let error = beside.off();
                assert!(error <= SOME, "{error} us after {moves:b}, {ahead} ms");
            }
        }
    }
}

#[test]
fn f_32_a_counter_at_another_rate_is_right_to_some_microseconds() {
    for faster in [0, 16, -16, 10_000, -10_000] {
        let mut beside = Beside::on(Machine::trusting([Ticking::new(0, faster)]));
        let error = beside.largest_error(10 * 60 * SECOND);
        assert!(error <= SOME, "{error} us at {faster} millionths");
        assert!(beside.clock.is_by_counter(), "it is in use");
        // A day in which nobody asks.
        beside.run(24 * HOUR);
        assert!(beside.error() <= SOME);
        assert!(beside.largest_error(SECOND) <= SOME);
    }
}

#[test]
fn f_32_a_counter_that_changes_its_rate_is_followed_or_given_up() {
    for (faster, largest, stays) in [
        (16, SOME, true),
        (-16, SOME, true),
        (10_000, 1_600, false),
        (-10_000, 1_600, false),
    ] {
        let mut beside = Beside::on(Machine::trusting([Ticking::RIGHT]));
        assert!(beside.largest_error(SECOND) <= SOME);
        beside.machine().change(0, |counter| counter.faster = faster);
        let error = beside.largest_error(SECOND);
        assert!(error <= largest, "{error} us at {faster} millionths");
        let error = beside.largest_error(60 * SECOND);
        assert!(error <= SOME, "{error} us at {faster} millionths, a second later");
        assert_eq!(beside.clock.is_by_counter(), stays, "{faster} millionths");
    }
}

/// Read every few microseconds, so that a correction by less than that would be seen.
#[test]
fn f_32_a_correction_does_not_step_back() {
    for faster in [16, 900, 10_000] {
        let mut beside = Beside::on(Machine::trusting([Ticking::RIGHT]));
        beside.largest_error(SECOND);
        beside.machine().change(0, |counter| counter.faster = faster);
        let mut largest = 0;
        for _ in 0..4 * PERIOD / 5_000 {
            beside.run(5_000);
            largest = largest.max(beside.error());
        }
        // What the rate is off in one period, and in the next, in which it is corrected.
        assert!(
            largest <= SOME + faster as u64 / 10,
            "{largest} us at {faster} millionths"
        );
        assert!(beside.error() <= SOME);
    }
}

/// A virtual machine that was moved to another host, and a counter that stands.
#[test]
fn f_32_a_counter_that_jumps_or_stands_is_given_up() {
    for jump in [-(HOUR as i64), HOUR as i64] {
        let mut beside = Beside::on(Machine::trusting([Ticking::RIGHT]));
        beside.largest_error(SECOND);
        beside.machine().change(0, |counter| counter.ahead += jump);
        assert!(beside.error() <= SOME);
        assert!(beside.largest_error(SECOND) <= SOME);
        assert!(!beside.clock.is_by_counter());
    }
    let mut beside = Beside::on(Machine::trusting([Ticking::new(0, -1_000_000)]));
    assert!(beside.largest_error(SECOND) <= SOME);
    assert!(!beside.clock.is_by_counter());
}

#[test]
fn f_70_a_step_of_the_wall_clock_is_no_time() {
    for step in [HOUR as i64, -(HOUR as i64)] {
        for machine in [
            Machine::trusting([Ticking::RIGHT]),
            Machine::distrusting([Ticking::RIGHT]),
        ] {
            let mut beside = Beside::on(machine);
            beside.largest_error(SECOND);
            assert_eq!(beside.clock.wall_ahead(), 0);
            beside.machine().step_wall(step);
            assert!(beside.error() <= SOME);
            assert!(beside.largest_error(60 * SECOND) <= SOME);
            let micros = step / 1_000;
            assert!(beside.clock.wall_ahead().abs_diff(micros) <= SOME);
            // And back again.
            beside.machine().step_wall(-step);
            assert!(beside.largest_error(60 * SECOND) <= SOME);
            assert!(beside.clock.wall_ahead().unsigned_abs() <= SOME);
        }
    }
}

/// The wall clock is read at another moment than the clock, and both in whole microseconds: what is
/// 50 s apart stays so.
#[test]
fn f_70_times_of_events_keep_their_distances() {
    let mut beside = Beside::on(Machine::trusting([Ticking::new(0, 16)]));
    let (store, clock) = (beside.store(), Clock::Emulated(Arc::clone(&beside.clock)));
    let policy = Policy::token_bucket(1, Duration::from_secs(50));
    for step in [0, HOUR as i64, -2 * HOUR as i64] {
        beside.machine().step_wall(step);
        beside.largest_error(60 * SECOND);
        let from = clock.to_wall([clock.now()])[0] - 2_000 * 50 * SECOND / 1_000;
        store.sweep();
        let key = Key::new(Method::named("read"), Client::of(&step).expect("it names somebody"));
        for event in 0..2_000 {
            let event = Charge {
                at: Some(from + event * 50 * SECOND / 1_000),
                ..Charge::new(key, policy, 1)
            };
            assert!(is_admitted(&store, event), "{event:?}");
            beside.run(12_345_678);
        }
        drop(store.forget(key.client()));
    }
}

#[test]
fn f_70_a_limit_goes_on_while_the_machine_sleeps() {
    let ten_minutes = charge(Policy::sliding_window(1, Duration::from_secs(600)));
    for machine in [
        Machine::trusting([Ticking::RIGHT]),
        Machine::distrusting([Ticking::RIGHT]),
    ] {
        let mut beside = Beside::on(machine);
        let store = beside.store();
        beside.largest_error(SECOND);
        assert!(is_admitted(&store, ten_minutes));
        for sleep in [300, 250] {
            beside.machine().suspend(sleep * SECOND);
            beside.passed += sleep * SECOND;
            beside.machine().run(PERIOD);
            beside.passed += PERIOD;
            assert!(beside.error() <= SOME, "it slept");
            assert!(!is_admitted(&store, ten_minutes));
        }
        beside.largest_error(49 * SECOND);
        assert!(!is_admitted(&store, ten_minutes));
        beside.run(SECOND);
        assert!(is_admitted(&store, ten_minutes), "it slept for nine minutes of ten");
        assert!(beside.clock.wall_ahead().unsigned_abs() <= SOME);
        assert_eq!(
            beside.clock.is_by_counter(),
            beside.machine().is_trusted(),
            "the counter is measured anew"
        );
    }
}

/// A sleep counts as far as both clocks tell of it, and neither a step of one nor of the other
/// opens a limit.
#[test]
fn f_70_what_is_not_known_to_be_sleep_is_none() {
    let hidden = Machine::trusting([Ticking::RIGHT]);
    hidden.hide_boot();
    let mut beside = Beside::on(hidden);
    beside.machine().suspend(HOUR);
    beside.run(PERIOD);
    assert!(beside.error() <= SOME, "an hour that only the wall clock tells of");

    let mut beside = Beside::on(Machine::trusting([Ticking::RIGHT]));
    beside.machine().suspend(HOUR);
    beside.machine().step_wall(-(HOUR as i64));
    beside.run(PERIOD);
    assert!(beside.error() <= SOME, "an hour that the wall clock does not tell of");

    let mut beside = Beside::on(Machine::trusting([Ticking::RIGHT]));
    beside.machine().suspend(60 * SECOND);
    beside.machine().step_wall(HOUR as i64);
    beside.run(PERIOD);
    beside.passed += 60 * SECOND;
    assert!(beside.error() <= SOME, "a minute of sleep and an hour of NTP");

    let mut beside = Beside::on(Machine::trusting([Ticking::RIGHT]));
    beside.machine().suspend(HOUR);
    beside.machine().step_wall(60 * SECOND as i64 - HOUR as i64);
    beside.run(PERIOD);
    beside.passed += 60 * SECOND;
    assert!(beside.error() <= SOME, "an hour of which the wall clock tells a minute");
}

/// Threads on all processors of this machine, beside the kernel's clock.
#[test]
fn f_32_the_clock_of_this_machine_neither_steps_back_nor_strays() {
    const READS: u32 = 200_000;
    /// How far it may be off, in microseconds, whatever else the machine does.
    const OFF: u64 = 50;
    let clock = ProcessClock::new(System::new());
    let (origin, start) = (Instant::now(), clock.now());
    let latest = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for read in 0..READS {
                    let known = latest.load(Ordering::SeqCst);
                    let before = origin.elapsed().as_micros() as u64;
                    let now = clock.now();
                    let after = origin.elapsed().as_micros() as u64;
                    assert!(now >= known, "{} us back", known - now);
                    latest.fetch_max(now, Ordering::SeqCst);
                    let now = now - start;
                    assert!(now + OFF >= before && now <= after + OFF, "{before} {now} {after}");
                    if read % 20_000 == 0 {
                        std::thread::sleep(Duration::from_millis(60));
                    }
                }
            });
        }
    });
}
