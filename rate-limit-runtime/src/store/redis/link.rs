//! The connection to one server: multiplexed, and made anew in the background when it is lost or does not answer.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use redis::aio::MultiplexedConnection;
use redis::{Cmd, ErrorKind, Pipeline, RedisError, ServerErrorKind, Value};
use tokio::sync::{Mutex, watch};
use tokio::time::{Instant, timeout_at};

use super::connect::keep_connecting;
use super::failure::Failure;
use super::script::Scripts;
use super::target::Target;
use crate::observe;

/// A connection and what is loaded through it.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) target: Target,
    pub(super) scripts: Arc<Scripts>,
    pub(super) state: watch::Sender<State>,
    pub(super) connecting: AtomicBool,
    /// How many connections in a row were lost before they had answered a call.
    pub(super) useless: AtomicU32,
    /// Counts the times that the scripts were loaded, so that of many calls that find them gone one loads them.
    pub(super) loads: AtomicU64,
    loading: Mutex<()>,
    under_way: AtomicUsize,
    most: usize,
}

/// The breaker: it is closed in the first two, and open in the others until somebody answers in the background.
#[derive(Clone)]
pub(super) enum State {
    /// No attempt has ended yet.
    Connecting,
    Up(MultiplexedConnection, u64),
    /// A call had no answer in time. No other is sent before there is one, to this connection or to another.
    Suspect(MultiplexedConnection, u64),
    /// The last attempt failed; the next is under way or will be.
    Down(RedisError),
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connecting => "Connecting",
            Self::Up(..) => "Up",
            Self::Suspect(..) => "Suspect",
            Self::Down(_) => "Down",
        })
    }
}

impl State {
    const fn is_open(&self) -> bool {
        matches!(self, Self::Suspect(..) | Self::Down(_))
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if self.state.borrow().is_open() {
            observe::breaker(false);
        }
    }
}

/// A call that is under way, counted until it is dropped.
struct UnderWay<'a>(&'a AtomicUsize);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Link {
    /// A link on which at most so many calls are under way.
    pub(super) fn new(target: Target, scripts: Arc<Scripts>, most: usize) -> Arc<Self> {
        Arc::new(Self {
            target,
            scripts,
            state: watch::Sender::new(State::Connecting),
            connecting: AtomicBool::new(false),
            useless: AtomicU32::new(0),
            loads: AtomicU64::new(0),
            loading: Mutex::new(()),
            under_way: AtomicUsize::new(0),
            most,
        })
    }

    /// How many times the scripts were loaded: on each connection, and when the server had lost them.
    pub(super) fn loads(&self) -> u64 {
        self.loads.load(Ordering::Acquire)
    }

    /// Changes the state, unless `change` says that it did not.
    pub(super) fn turn(&self, change: impl FnOnce(&mut State) -> bool) -> bool {
        self.state.send_if_modified(|state| {
            let was_open = state.is_open();
            let changed = change(state);
            if state.is_open() != was_open {
                observe::breaker(state.is_open());
            }
            changed
        })
    }

    /// Waits until the first attempt to connect has ended.
    pub(super) async fn first_attempt(self: &Arc<Self>) -> Result<(), Failure> {
        self.connection().await.map(drop)
    }

    /// Asks the server, once, until `end`. Only an answer that proves that nothing was kept, `NOSCRIPT`, is followed by another
    /// try. Giving up in the middle leaves the connection as it is.
    pub(super) async fn ask(self: &Arc<Self>, cmd: &Cmd, end: Instant) -> Result<Value, Failure> {
        self.ask_as(cmd, false, end).await
    }

    /// As [`ask`](Self::ask), of a slot that is on its way to this server.
    #[cfg(feature = "redis-cluster")]
    pub(super) async fn ask_importing(self: &Arc<Self>, cmd: &Cmd, end: Instant) -> Result<Value, Failure> {
        self.ask_as(cmd, true, end).await
    }

    async fn ask_as(self: &Arc<Self>, cmd: &Cmd, importing: bool, end: Instant) -> Result<Value, Failure> {
        let under_way = self.under_way.fetch_add(1, Ordering::Relaxed);
        let _under_way = UnderWay(&self.under_way);
        if under_way >= self.most {
            return Err(Failure::Crowded);
        }
        let answer = timeout_at(end, self.ask_at_last(cmd, importing)).await;
        answer.unwrap_or_else(|_| {
            self.suspect();
            Err(Failure::Timeout)
        })
    }

    async fn ask_at_last(self: &Arc<Self>, cmd: &Cmd, importing: bool) -> Result<Value, Failure> {
        let loads = self.loads.load(Ordering::Acquire);
        match self.send(cmd, importing).await {
            Err(Failure::Redis(error)) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                self.load_scripts(loads).await?;
                self.send(cmd, importing).await
            }
            answer => answer,
        }
    }

    async fn send(self: &Arc<Self>, cmd: &Cmd, importing: bool) -> Result<Value, Failure> {
        let (mut connection, generation) = self.connection().await?;
        let answer = if importing {
            let mut both = Pipeline::with_capacity(2);
            both.cmd("ASKING").add_command(cmd.clone());
            let answer = connection.send_packed_commands(&both, 1, 1).await;
            answer.map(|mut answer| answer.pop().unwrap_or(Value::Nil))
        } else {
            connection.send_packed_command(cmd).await
        };
        let answer = answer.and_then(Value::extract_error);
        match &answer {
            Err(error) if error.is_io_error() || error.is_unrecoverable_error() => self.lost(generation),
            Err(error) if self.is_primary_no_more(error) => self.lost(generation),
            _ => self.proven(generation),
        }
        Ok(answer?)
    }

    /// Another one is, which sentinels know. A server of its own has to be waited for.
    fn is_primary_no_more(&self, error: &RedisError) -> bool {
        error.kind() == ErrorKind::Server(ServerErrorKind::ReadOnly) && !matches!(self.target, Target::Server(_))
    }

    /// What the server answered within a batch, which is no error of the whole.
    pub(super) fn heard(self: &Arc<Self>, error: &RedisError) {
        let generation = match &*self.state.borrow() {
            State::Up(_, generation) if self.is_primary_no_more(error) => *generation,
            _ => return,
        };
        self.lost(generation);
    }

    async fn connection(self: &Arc<Self>) -> Result<(MultiplexedConnection, u64), Failure> {
        let mut states = self.state.subscribe();
        loop {
            match &*states.borrow_and_update() {
                State::Up(connection, generation) => return Ok((connection.clone(), *generation)),
                State::Suspect(..) => {
                    self.connect();
                    return Err(Failure::Open);
                }
                State::Down(error) => {
                    self.connect();
                    return Err(Failure::Redis(error.clone()));
                }
                State::Connecting => self.connect(),
            }
            // The sender is ours, so it is there.
            let _ = states.changed().await;
        }
    }

    /// An answer did not come in time: the connection may be dead without a sign, or the server. Opens the breaker.
    pub(super) fn suspect(self: &Arc<Self>) {
        self.turn(|state| {
            let suspected = match &*state {
                State::Up(connection, generation) => State::Suspect(connection.clone(), *generation),
                State::Connecting => State::Down((ErrorKind::Io, "no answer to an attempt to connect").into()),
                State::Suspect(..) | State::Down(_) => return false,
            };
            *state = suspected;
            true
        });
        self.connect();
    }

    /// An answer came. Closes the breaker.
    fn proven(&self, generation: u64) {
        if self.useless.load(Ordering::Relaxed) > 0 {
            self.useless.store(0, Ordering::Relaxed);
        }
        if matches!(&*self.state.borrow(), State::Up(..)) {
            return;
        }
        self.turn(|state| match &*state {
            State::Suspect(connection, suspected) if *suspected == generation => {
                *state = State::Up(connection.clone(), generation);
                true
            }
            _ => false,
        });
    }

    fn lost(self: &Arc<Self>, generation: u64) {
        let current = self.turn(|state| {
            let current = matches!(state, State::Up(_, current) | State::Suspect(_, current) if *current == generation);
            if current {
                *state = State::Connecting;
            }
            current
        });
        if current {
            self.useless.fetch_add(1, Ordering::Relaxed);
        }
        self.connect();
    }

    /// Starts connecting in the background, unless that is under way.
    pub(super) fn connect(self: &Arc<Self>) {
        if self.connecting.swap(true, Ordering::AcqRel) {
            return;
        }
        tokio::spawn(keep_connecting(Arc::downgrade(self)));
    }

    /// Loads the scripts again, unless that was done since the caller counted the loads.
    async fn load_scripts(self: &Arc<Self>, seen: u64) -> Result<(), Failure> {
        let _one_at_a_time = self.loading.lock().await;
        if self.loads.load(Ordering::Acquire) != seen {
            return Ok(());
        }
        let (mut connection, _) = self.connection().await?;
        self.scripts.load_through(&mut connection).await?;
        self.loads.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }
}
