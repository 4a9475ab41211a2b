//! Processes that call while there is fire, and what their callers saw.

use std::fs;
use std::ops::RangeInclusive;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::caller::{ENDING, Plan};
use crate::common::ms;
use crate::support::history::{Answer, Call, Checks, DecidedBy, Disturbance, Finding};

/// How many processes there are from the start.
pub(super) const PROCESSES: u32 = 3;
/// With those that start later.
pub(super) const MOST_PROCESSES: u32 = 4;
const TICK: Duration = ms(20);

/// What happened, by the processes and by the fire.
pub(super) struct Battle {
    pub(super) calls: Vec<Call>,
    pub(super) disturbances: Vec<Disturbance>,
}

/// The processes. They end with the test.
pub(super) struct Callers<'a> {
    plan: &'a Plan,
    folder: TempDir,
    begin: Instant,
    children: Vec<Child>,
}

impl<'a> Callers<'a> {
    fn start(plan: &'a Plan) -> Self {
        let mut callers = Self {
            plan,
            folder: TempDir::new().expect("a folder"),
            begin: Instant::now(),
            children: Vec::new(),
        };
        for _ in 0..PROCESSES {
            callers.start_another();
        }
        callers
    }

    /// Starts another process, which ends with the others.
    pub(super) fn start_another(&mut self) {
        let process = self.children.len() as u32;
        assert!(process < MOST_PROCESSES);
        let plan = self.plan.after(self.begin.elapsed());
        let child = Command::new(std::env::current_exe().expect("it has a path"))
            .args(["--ignored", "--exact", "under_fire::caller::calls", "--nocapture"])
            .envs(plan.written(process, self.folder.path()))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn();
        self.children.push(child.expect("it ran a moment ago"));
    }

    /// Tells all processes to end, which may not have made all their calls.
    pub(super) fn end(&mut self) {
        self.children.iter_mut().for_each(|child| drop(child.stdin.take()));
    }

    /// Stops a process as `SIGSTOP` does, for so long.
    pub(super) fn stop_for(&self, process: usize, time: Duration) {
        let pid = Pid::from_child(&self.children[process]);
        kill_process(pid, Signal::STOP).expect("it runs");
        std::thread::sleep(time);
        kill_process(pid, Signal::CONT).expect("it is stopped");
    }

    /// `None` while one runs.
    fn ended(&mut self) -> Option<Vec<ExitStatus>> {
        let ended = self
            .children
            .iter_mut()
            .map(|child| child.try_wait().expect("it is our child"));
        ended.collect()
    }

    fn calls(&self) -> Vec<Call> {
        let read = |process| {
            let history = Plan::history(process as u32, self.folder.path());
            let history = fs::read_to_string(history).expect("it was written");
            let calls = history.lines().map(|line| Call::read(line).expect("a call is a line"));
            calls.collect::<Vec<Call>>()
        };
        (0..self.children.len()).flat_map(read).collect()
    }
}

impl Drop for Callers<'_> {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Battle {
    /// Runs the plan to its end. Calls `fire` at each tick, which may disturb the servers and returns what it did.
    pub(super) fn of(plan: &Plan, mut fire: impl FnMut(u32, &mut Callers<'_>) -> Option<Disturbance>) -> Self {
        let mut callers = Callers::start(plan);
        let mut disturbances = Vec::new();
        let mut tick = 0;
        let ended = loop {
            if let Some(ended) = callers.ended() {
                break ended;
            }
            std::thread::sleep(TICK);
            tick += 1;
            disturbances.extend(fire(tick, &mut callers));
        };
        assert!(ended.iter().all(ExitStatus::success), "{ended:?}");
        Self {
            calls: callers.calls(),
            disturbances,
        }
    }

    pub(super) fn count(&self, of: impl Fn(&Call) -> bool) -> usize {
        self.calls.iter().filter(|call| of(call)).count()
    }

    /// How many that waited for as long as they were told were admitted by the store.
    pub(super) fn obeyed(&self) -> usize {
        let mut calls: Vec<&Call> = self.calls.iter().collect();
        calls.sort_by_key(|call| (&call.key, call.sent_at));
        let pairs = calls.windows(2).filter(|pair| pair[0].key == pair[1].key);
        pairs
            .filter(|pair| match (pair[0].answer, pair[0].by) {
                (Answer::Refused { retry_after }, DecidedBy::Store) => {
                    pair[1].sent_at >= pair[0].replied_at + retry_after && pair[1].is_admitted_by(DecidedBy::Store)
                }
                _ => false,
            })
            .count()
    }

    /// How many calls the store has surely admitted beyond the count after the last disturbance.
    fn beyond(&self) -> u64 {
        let last = self.disturbances.iter().map(|disturbance| disturbance.until).max();
        self.checks().beyond(&self.calls, last.unwrap_or_default())
    }

    pub(super) fn checks(&self) -> Checks {
        Checks {
            // Far above that of the store: none hangs.
            deadline: Some(5_000_000),
            lateness: 1_000_000,
            disturbances: self.disturbances.clone(),
            ..Checks::default()
        }
    }

    /// Nothing was undecided but between these times: of a call that was sent in them and of no other.
    pub(super) fn assert_decided_but(&self, times: &[RangeInclusive<u64>], what: &str) {
        let excused = |call: &Call| call.process >= ENDING || times.iter().any(|times| times.contains(&call.sent_at));
        let unexcused = |call: &&Call| !excused(call) && call.answer == Answer::Unknown;
        let undecided: Vec<&Call> = self.calls.iter().filter(unexcused).collect();
        let of = self.count(|call| !excused(call));
        println!("{what}: {} of {of} undecided that must not be", undecided.len());
        assert!(of > 100, "{of} calls show nothing");
        assert!(
            undecided.is_empty(),
            "{what}: {} of {of} undecided; the first: {:?}",
            undecided.len(),
            undecided[0]
        );
    }

    pub(super) fn assert_correct(&self, what: &str) {
        self.assert_correct_but(what, |_| false);
    }

    /// But for findings that are excused.
    pub(super) fn assert_correct_but(&self, what: &str, excused: impl Fn(&Finding) -> bool) {
        let begin = self
            .calls
            .iter()
            .map(|call| call.sent_at)
            .min()
            .expect("there are calls");
        let end = self
            .calls
            .iter()
            .map(|call| call.replied_at)
            .max()
            .expect("there are calls");
        let admitted = self.count(|call| call.is_admitted_by(DecidedBy::Store));
        let refused = self.count(|call| matches!(call.answer, Answer::Refused { .. }) && call.by == DecidedBy::Store);
        let unknown = self.count(|call| call.answer == Answer::Unknown);
        let alone = self.count(|call| call.by == DecidedBy::Fallback);
        println!(
            "{what}: {} decisions in {} ms, of the store {admitted} admitted and {refused} refused, {unknown} unknown, \
             {alone} by a process alone, {} hints obeyed, {} disturbances, {} beyond the count after them",
            self.calls.len(),
            (end - begin) / 1_000,
            self.obeyed(),
            self.disturbances.len(),
            self.beyond()
        );
        let mut findings = self.checks().of(&self.calls);
        let all = findings.len();
        findings.retain(|finding| !excused(finding));
        if all > findings.len() {
            println!("{what}: {} findings are excused", all - findings.len());
        }
        assert!(findings.is_empty(), "{}: {:#?}", findings.len(), findings.first());
        assert!(admitted > self.calls.len() / 20 && refused > self.calls.len() / 20);
    }
}
