//! Decisions of one process go out together while others are under way: the server then decides more of them in its time.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use smallvec::{SmallVec, smallvec};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::error::{StoreError, StoreErrorKind};
use crate::store::Charge;
use crate::verdict::Verdict;

/// How many script calls are under way before others wait for one of them to return. With one, client and server would take
/// turns.
const UNDER_WAY: usize = 4;
/// How many keys a script call has at most, so that nobody else at the server waits for long.
const KEYS: usize = 64;

/// What one call charges.
pub(super) type Charges = SmallVec<[Charge; 2]>;
/// Calls that go out together, decided in this order.
pub(super) type Calls = SmallVec<[Charges; 1]>;
/// What is answered to each of them.
pub(super) type Answers = SmallVec<[Result<Verdict, StoreError>; 1]>;

/// Sends calls out over one connection.
pub(super) struct Batcher {
    /// How long a script call may be under way that nobody may be waiting for any more.
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
}

struct Waiting {
    charges: Charges,
    answer: oneshot::Sender<Result<Verdict, StoreError>>,
}

/// A way to send one script call with these calls over the connection, and to hear what is answered to each.
pub(super) trait Line: Clone + Send + Sync + 'static {
    /// An error is one of all calls: all or none of them may have been decided, so nothing is sent again.
    fn send(&self, calls: Calls) -> impl Future<Output = Result<Answers, StoreError>> + Send;
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

    /// Decides a call: by a script call of its own while few are under way, else together with those that wait too.
    ///
    /// The caller bounds the time; giving up leaves alone what goes out together with it.
    pub(super) async fn decide(self: &Arc<Self>, charges: Charges, line: impl Line) -> Result<Verdict, StoreError> {
        let waiting = {
            let mut state = self.state();
            if state.under_way < UNDER_WAY {
                state.under_way += 1;
                None
            } else {
                Some(state.wait(&charges, self.most)?)
            }
        };
        if let Some(answer) = waiting {
            return answer.await.unwrap_or_else(|_| Err(unanswered()));
        }
        let turn = Turn {
            batcher: Arc::clone(self),
            line,
        };
        let mut answers = turn.line.send(smallvec![charges]).await?;
        answers.pop().unwrap_or_else(|| Err(unanswered()))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn wait(
        &mut self,
        charges: &Charges,
        most: usize,
    ) -> Result<oneshot::Receiver<Result<Verdict, StoreError>>, StoreError> {
        if self.waiting.len() >= most {
            self.waiting.retain(|waiting| !waiting.answer.is_closed());
        }
        if self.waiting.len() >= most {
            return Err(StoreError::new(
                StoreErrorKind::Unavailable,
                "more calls wait for Redis than may: it decides fewer than are made",
            ));
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
            return None;
        }
        Some(batch)
    }
}

impl<L: Line> Drop for Turn<L> {
    fn drop(&mut self) {
        loop {
            let Some(batch) = self.batcher.state().next() else {
                return;
            };
            if let Ok(runtime) = Handle::try_current() {
                let turn = Self {
                    batcher: Arc::clone(&self.batcher),
                    line: self.line.clone(),
                };
                // A task of its own: no caller takes the others with him when he gives up.
                runtime.spawn(turn.carry(batch));
                return;
            }
        }
    }
}

impl<L: Line> Turn<L> {
    async fn carry(self, batch: Vec<Waiting>) {
        let (calls, callers): (Calls, Vec<_>) = batch
            .into_iter()
            .map(|waiting| (waiting.charges, waiting.answer))
            .unzip();
        let answers = tokio::time::timeout(self.batcher.deadline, self.line.send(calls)).await;
        match answers {
            Ok(Ok(answers)) => {
                for (caller, answer) in callers.into_iter().zip(answers) {
                    let _ = caller.send(answer);
                }
            }
            Ok(Err(error)) => {
                for caller in callers {
                    let _ = caller.send(Err(error.shared()));
                }
            }
            // Each caller waits no longer than for this, and for longer by now.
            Err(_) => {}
        }
        // Whoever was answered and calls again goes out with the next.
        tokio::task::yield_now().await;
        drop(self);
    }
}

fn unanswered() -> StoreError {
    StoreError::new(StoreErrorKind::Timeout, "the answer of Redis is no longer waited for")
}
