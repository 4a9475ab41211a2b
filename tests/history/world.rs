//! Callers of a store, over a network that takes its time and loses answers. All times are invented.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::checker::{Answer, Call, DecidedBy, Recorder, Window};
use crate::toy::{Bug, Toy};

pub(crate) const WINDOW: Window = Window {
    count: 5,
    length: 100_000,
};
pub(crate) const DEADLINE: u64 = 10_000;
/// How long after its caller gave up a call may be charged.
pub(crate) const LATENESS: u64 = 20_000;
/// Of the way to the store, and back.
const LONGEST_WAY: u64 = 1_000;
const KEYS: usize = 3;
const CALLERS: usize = 9;
const END: u64 = 2_000_000;

pub(crate) struct Run {
    pub(crate) calls: Vec<Call>,
    pub(crate) forgot_at: Option<u64>,
}

#[derive(Default, Debug)]
pub(crate) struct Told {
    pub(crate) admitted: u32,
    pub(crate) refused: u32,
    pub(crate) unknown: u32,
}

impl Run {
    pub(crate) fn told(&self) -> Told {
        let mut told = Told::default();
        for call in &self.calls {
            *match call.answer {
                Answer::Admitted => &mut told.admitted,
                Answer::Refused { .. } => &mut told.refused,
                Answer::Unknown => &mut told.unknown,
            } += 1;
        }
        told
    }
}

/// What reaches the store.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Arrival {
    at: u64,
    sent_at: u64,
    caller: usize,
    /// Its caller has given up.
    stray: bool,
}

pub(crate) struct World {
    random: u64,
    bug: Option<Bug>,
    toys: Vec<Toy>,
    arrivals: BinaryHeap<Reverse<Arrival>>,
    clock: Cell<u64>,
}

impl World {
    pub(crate) fn run(seed: u64, bug: Option<Bug>) -> Run {
        let mut world = Self {
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            bug,
            toys: (0..KEYS).map(|_| Toy::new(WINDOW, bug)).collect(),
            arrivals: BinaryHeap::new(),
            clock: Cell::new(0),
        };
        // Some while after the clock began.
        (0..CALLERS).for_each(|caller| world.send(caller, 1_000_000));
        let mut calls = Vec::new();
        let mut forgot_at = None;
        while let Some(Reverse(arrival)) = world.arrivals.pop() {
            if bug == Some(Bug::Forgets) && forgot_at.is_none() && arrival.at > 1_000_000 + END / 2 {
                // When the windows are full.
                world.toys.iter_mut().for_each(Toy::forget);
                forgot_at = Some(arrival.at);
            }
            calls.extend(world.arrives(arrival));
        }
        Run { calls, forgot_at }
    }

    fn arrives(&mut self, arrival: Arrival) -> Option<Call> {
        let Arrival {
            at,
            sent_at,
            caller,
            stray,
        } = arrival;
        let gives_up = sent_at + DEADLINE;
        let fate = self.below(100);
        if stray {
            self.toys[caller % KEYS].decide(at);
            return None;
        }
        let (answer, replied_at) = match fate {
            0..2 => (Answer::Unknown, gives_up),
            2..4 => {
                let late = gives_up + self.below(LATENESS);
                self.arrivals.push(Reverse(Arrival {
                    at: late,
                    stray: true,
                    ..arrival
                }));
                (Answer::Unknown, gives_up)
            }
            4..8 => {
                let answer = self.toys[caller % KEYS].decide(at);
                match self.bug {
                    Some(Bug::NoDeadline) => (answer, gives_up + 50_000),
                    Some(Bug::AsksAgain) => (self.toys[caller % KEYS].decide(at + 1), at + 1_000),
                    _ => (Answer::Unknown, gives_up),
                }
            }
            _ => {
                let answer = self.toys[caller % KEYS].decide(at);
                (answer, at + self.below(LONGEST_WAY))
            }
        };
        let pause = match answer {
            Answer::Refused { retry_after } if self.below(2) == 0 => retry_after + 20,
            _ => self.below(20_000),
        };
        if replied_at + pause < 1_000_000 + END {
            self.send(caller, replied_at + pause);
        }
        Some(self.recorded(caller, sent_at, replied_at, answer))
    }

    fn recorded(&self, caller: usize, sent_at: u64, replied_at: u64, answer: Answer) -> Call {
        let recorder = Recorder::by(caller as u32, || self.clock.get());
        self.clock.set(sent_at);
        let sent = recorder.sent(format!("key-{}", caller % KEYS), WINDOW, 1);
        self.clock.set(replied_at);
        recorder.replied(sent, answer, DecidedBy::Store);
        recorder.into_calls().remove(0)
    }

    fn send(&mut self, caller: usize, sent_at: u64) {
        // Now and then several arrive in one microsecond.
        let at = (sent_at + self.below(LONGEST_WAY)).next_multiple_of(50);
        self.arrivals.push(Reverse(Arrival {
            at,
            sent_at,
            caller,
            stray: false,
        }));
    }

    /// By xorshift.
    fn below(&mut self, bound: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % bound
    }
}
