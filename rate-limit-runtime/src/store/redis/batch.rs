//! Decisions of one process go out together while others are under way: the server then decides more of them in its time.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant as SystemInstant};

use smallvec::{SmallVec, smallvec};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::error::{StoreError, StoreErrorKind};
use crate::store::Charge;
use crate::store::background::Background;
use crate::verdict::Verdict;

/// How many script calls are under way before others wait for one of them to return. With one, client and server would take
/// turns.
const UNDER_WAY: usize = 4;
/// How many may be under way in all. One that has as many keys as it may have gains nothing by waiting for another to return.
const MOST_UNDER_WAY: usize = 16;
/// How many keys a script call has at most, so that nobody else at the server waits for long.
const KEYS: usize = 64;
/// The part of the deadline that a call may be expected to wait in the line. One that would wait for longer is refused at once.
const LINE_PART: u32 = 2;
/// How many calls may wait whatever is expected of them: they go out with the next script calls.
const SHORT_LINE: usize = UNDER_WAY * KEYS;
/// The part of the deadline for which no script call returns before another one goes out for those that wait: a caller may hold one, and
/// not be polled.
const STUCK_PART: u32 = 2;
/// How many batches say how fast the line moves before any call is refused for it.
const KNOWN: u32 = 2 * UNDER_WAY as u32;
/// The part by which a batch makes the pace slower at the most: one that is late says little, and many in a row do.
const SLOWER: u32 = 8;

/// What one call charges.
pub(super) type Charges = SmallVec<[Charge; 2]>;
/// Calls that go out together, decided in this order.
pub(super) type Calls = SmallVec<[Charges; 1]>;
/// What is answered to each of them.
pub(super) type Answers = SmallVec<[Result<Verdict, StoreError>; 1]>;

/// Sends calls out over one connection.
pub(super) struct Batcher {
    /// How long a script call may be under way.
    deadline: Duration,
    /// How many calls may wait. What is beyond is not decided.
    most: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    under_way: usize,
    /// Empty unless as many are under way as may be.
    waiting: VecDeque<Waiting>,
    /// How many have left the line, and have no answer yet.
    carried: usize,
    /// When a script call last went out or returned.
    moved: Option<SystemInstant>,
    pace: Pace,
    /// Whether a task watches the line, as one does from the first call that waits until no call is under way.
    is_watched: bool,
}

struct Waiting {
    charges: Charges,
    answer: oneshot::Sender<Result<Verdict, StoreError>>,
}

/// How fast the line moves while this process runs.
#[derive(Default)]
struct Pace {
    /// The time between two calls that are answered, while others wait.
    a_call: Duration,
    /// How many batches it was reckoned by.
    batches: u32,
    /// When the last batch returned, and the lag of the process by then, unless the line was empty since.
    returned: Option<(SystemInstant, Duration)>,
}

impl Pace {
    fn note(&mut self, calls: usize, now: SystemInstant, lag: Duration) {
        let Some((before, lag_before)) = self.returned.replace((now, lag)) else {
            return;
        };
        let took = now.saturating_duration_since(before).saturating_sub(lag - lag_before);
        let a_call = took / u32::try_from(calls).unwrap_or(u32::MAX).max(1);
        self.a_call = match self.batches {
            0 => a_call,
            _ => a_call.min(self.a_call + self.a_call / SLOWER),
        };
        self.batches = self.batches.saturating_add(1);
    }

    /// Returns how long a call is expected to wait behind so many.
    fn wait(&self, calls: usize) -> Duration {
        if self.batches < KNOWN {
            return Duration::ZERO;
        }
        self.a_call.saturating_mul(u32::try_from(calls).unwrap_or(u32::MAX))
    }
}

/// A way to send one script call with these calls over the connection, and to hear what is answered to each.
pub(super) trait Line: Clone + Send + Sync + 'static {
    /// An error is one of all calls: all or none of them may have been decided, so nothing is sent again. Ends at `end`.
    fn send(&self, calls: Calls, end: Instant) -> impl Future<Output = Result<Answers, StoreError>> + Send;

    /// Runs what no caller may take along.
    fn background(&self) -> &Arc<Background>;
}

/// The right to have a script call under way. Dropped, it passes to those that wait.
struct Turn<L: Line> {
    batcher: Arc<Batcher>,
    line: L,
}

impl Batcher {
    pub(super) fn new(deadline: Duration, most: usize) -> Arc<Self> {
        Arc::new(Self {
            deadline,
            most,
            state: Mutex::default(),
        })
    }

    /// Decides a call until `end`: by a script call of its own while few are under way, else together with those that wait too.
    ///
    /// Giving up leaves alone what goes out together with it.
    pub(super) async fn decide(
        self: &Arc<Self>,
        charges: Charges,
        line: impl Line,
        end: Instant,
    ) -> Result<Verdict, Undecided> {
        let waiting = {
            let mut state = self.state();
            if state.under_way < UNDER_WAY {
                state.go_out();
                None
            } else {
                let answer = state.wait(&charges, self.most, self.deadline / LINE_PART)?;
                let is_full = state.waiting.len() >= KEYS && state.under_way < MOST_UNDER_WAY;
                if is_full {
                    state.go_out();
                }
                let is_watched = std::mem::replace(&mut state.is_watched, true);
                Some((answer, is_full, is_watched))
            }
        };
        if let Some((answer, is_full, is_watched)) = waiting {
            if !is_watched {
                self.watch(&line);
            }
            if is_full {
                // It goes out as when another one returns.
                drop(Turn::new(self, line.clone()));
            }
            let answer = line.background().lag().wait(end, answer).await;
            return Ok(answer.ok_or(Undecided::InLine)?.unwrap_or_else(|_| Err(unanswered()))?);
        }
        let turn = Turn::new(self, line);
        let mut answers = turn.line.send(smallvec![charges], end).await?;
        Ok(answers.pop().unwrap_or_else(|| Err(unanswered()))?)
    }

    /// Starts a task that measures the lag of the process until no call is under way, and sends the calls that wait when no script
    /// call returns.
    fn watch<L: Line>(self: &Arc<Self>, line: &L) {
        let (watch, start) = (Watch(Arc::clone(self)), Instant::now());
        let own_line = line.clone();
        line.background().spawn(async move {
            let goes_on = || {
                if watch.0.state().is_stuck(watch.0.deadline / STUCK_PART) {
                    drop(Turn::new(&watch.0, own_line.clone()));
                }
                watch.0.state().under_way > 0
            };
            own_line.background().lag().measure(start, goes_on).await;
        });
    }

    /// Lets the next call that waits start a new watch: the runtime of the old one may stand still.
    pub(super) fn settle_in(&self) {
        self.state().is_watched = false;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn go_out(&mut self) {
        self.under_way += 1;
        self.moved = Some(SystemInstant::now());
    }

    /// Returns `true`, and counts another script call as under way, if calls wait and nothing has moved for so long.
    fn is_stuck(&mut self, long: Duration) -> bool {
        let is_stuck = !self.waiting.is_empty() && self.moved.is_none_or(|moved| moved.elapsed() > long);
        if is_stuck {
            self.go_out();
        }
        is_stuck
    }

    /// Takes a place in the line, if there is one and the wait is expected to be no longer than `longest`.
    fn wait(
        &mut self,
        charges: &Charges,
        most: usize,
        longest: Duration,
    ) -> Result<oneshot::Receiver<Result<Verdict, StoreError>>, Undecided> {
        let is_full = |state: &Self| {
            let calls = state.waiting.len();
            calls + state.carried >= most || calls >= SHORT_LINE && state.pace.wait(calls) > longest
        };
        if is_full(self) {
            self.waiting.retain(|waiting| !waiting.answer.is_closed());
        }
        if is_full(self) {
            return Err(Undecided::FullLine(self.waiting.len()));
        }
        let (answer, answered) = oneshot::channel();
        self.waiting.push_back(Waiting {
            charges: charges.clone(),
            answer,
        });
        Ok(answered)
    }

    /// Those that go out next, for the turn that has ended, or none, and one less is under way.
    fn next(&mut self) -> Option<Vec<Waiting>> {
        self.moved = Some(SystemInstant::now());
        let mut batch = Vec::new();
        let mut room = KEYS;
        // One that is too large for all goes alone.
        while let Some(next) = self
            .waiting
            .pop_front_if(|next| batch.is_empty() || next.charges.len() <= room)
        {
            // Whose caller has given up is not charged any more.
            if !next.answer.is_closed() {
                room = room.saturating_sub(next.charges.len());
                batch.push(next);
            }
        }
        if batch.is_empty() {
            self.under_way -= 1;
            self.pace.returned = None;
            return None;
        }
        self.carried += batch.len();
        Some(batch)
    }
}

/// Watches the line until it is dropped, also by a runtime that ends.
struct Watch(Arc<Batcher>);

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.state().is_watched = false;
    }
}

/// So many calls that have left the line, until their batch has returned, also when its runtime ends.
struct Carried(Arc<Batcher>, usize);

impl Drop for Carried {
    fn drop(&mut self) {
        self.0.state().carried -= self.1;
    }
}

impl<L: Line> Drop for Turn<L> {
    fn drop(&mut self) {
        let Some(batch) = self.batcher.state().next() else {
            return;
        };
        let turn = Self::new(&self.batcher, self.line.clone());
        let carried = Carried(Arc::clone(&self.batcher), batch.len());
        self.line.background().spawn(turn.carry(batch, carried));
    }
}

impl<L: Line> Turn<L> {
    fn new(batcher: &Arc<Batcher>, line: L) -> Self {
        let batcher = Arc::clone(batcher);
        Self { batcher, line }
    }

    async fn carry(self, batch: Vec<Waiting>, carried: Carried) {
        let (calls, callers): (Calls, Vec<_>) = batch
            .into_iter()
            .map(|waiting| (waiting.charges, waiting.answer))
            .unzip();
        let end = Instant::now() + self.batcher.deadline;
        match self.line.send(calls, end).await {
            Ok(answers) => {
                let (now, lag) = (SystemInstant::now(), self.line.background().lag().total());
                self.batcher.state().pace.note(callers.len(), now, lag);
                for (caller, answer) in callers.into_iter().zip(answers) {
                    let _ = caller.send(answer);
                }
            }
            Err(error) => {
                for caller in callers {
                    let _ = caller.send(Err(error.shared()));
                }
            }
        }
        drop(carried);
        // Whoever was answered and calls again goes out with the next.
        tokio::task::yield_now().await;
        drop(self);
    }
}

fn unanswered() -> StoreError {
    StoreError::new(StoreErrorKind::Timeout, "the answer of Redis is no longer waited for")
}

/// Why a call was not decided.
#[derive(Debug)]
pub(super) enum Undecided {
    /// So many calls wait that this one was not sent.
    FullLine(usize),
    /// It waited until its deadline, and says nothing of the server.
    InLine,
    Asked(StoreError),
}

impl From<StoreError> for Undecided {
    fn from(error: StoreError) -> Self {
        Self::Asked(error)
    }
}

impl From<Undecided> for StoreError {
    fn from(undecided: Undecided) -> Self {
        match undecided {
            Undecided::FullLine(waiting) => Self::new(
                StoreErrorKind::Unavailable,
                format!("the line of calls for Redis is full: {waiting} wait, since it decides fewer than are made"),
            ),
            Undecided::InLine => Self::new(
                StoreErrorKind::Timeout,
                "the call waited in the line for Redis until its deadline",
            ),
            Undecided::Asked(error) => error,
        }
    }
}
