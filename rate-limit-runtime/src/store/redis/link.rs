//! The connection to one server: multiplexed, and made anew in the background when it is lost or does not answer.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex as SyncMutex, PoisonError};
use std::time::{Duration, Instant as SystemInstant};

use redis::{Cmd, ErrorKind, RedisError, ServerErrorKind, Value};
use tokio::sync::{Mutex, watch};
use tokio::time::Instant;

use super::connect::keep_connecting;
#[cfg(feature = "redis-sentinel")]
use super::connection::AbortOnDrop;
use super::connection::Connection;
use super::failure::Failure;
use super::script::Scripts;
use super::state::State;
use super::target::Target;
use crate::observe;
use crate::store::background::Background;

/// How long a connection may be quiet before the next call tests it: what lies between forgets idle connections and tells nobody.
const QUIET: Duration = Duration::from_secs(1);
/// The part of what is left of a deadline that such a test may take.
const TEST_PART: u32 = 4;
/// How many calls in a row may have no answer in time from a server that answers late.
const MANY: u32 = 8;
/// A connection that is lost before has served nobody, unless a call was answered over it.
const YOUNG: Duration = Duration::from_millis(500);

/// A connection and what is loaded through it.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) target: Target,
    pub(super) scripts: Arc<Scripts>,
    pub(super) background: Arc<Background>,
    pub(super) state: watch::Sender<State>,
    pub(super) connecting: AtomicBool,
    /// How many connections in a row were lost before they had answered a call.
    pub(super) useless: AtomicU32,
    /// Counts the times that the scripts were loaded, so that of many calls that find them gone one loads them.
    pub(super) loads: AtomicU64,
    /// The server that the last connection was opened to.
    pub(super) address: SyncMutex<String>,
    /// The last connection over which a call was answered, by its generation.
    served: AtomicU64,
    /// How many calls in a row had no answer in time.
    unanswered: AtomicU32,
    loading: Mutex<()>,
    testing: Mutex<()>,
    #[cfg(feature = "redis-sentinel")]
    watch: SyncMutex<Option<AbortOnDrop>>,
    under_way: AtomicUsize,
    most: usize,
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
    /// Creates a link on which at most so many calls are under way.
    pub(super) fn new(target: Target, scripts: Arc<Scripts>, most: usize, background: Arc<Background>) -> Arc<Self> {
        Arc::new(Self {
            target,
            scripts,
            background,
            state: watch::Sender::new(State::Connecting),
            connecting: AtomicBool::new(false),
            useless: AtomicU32::new(0),
            loads: AtomicU64::new(0),
            address: SyncMutex::default(),
            served: AtomicU64::new(0),
            unanswered: AtomicU32::new(0),
            loading: Mutex::new(()),
            testing: Mutex::new(()),
            #[cfg(feature = "redis-sentinel")]
            watch: SyncMutex::default(),
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
        self.settle_in();
        self.connection().await.map(drop)
    }

    /// Asks the server, once, until `end`. Only what proves that nothing was kept is followed by another try: `NOSCRIPT`, a server that
    /// is no primary any more, and a connection that was closed before the call was written. Giving up in the middle leaves the
    /// connection as it is.
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
        let started = SystemInstant::now();
        let answer = self
            .background
            .lag()
            .wait(end, self.ask_at_last(cmd, importing, end))
            .await;
        answer.unwrap_or_else(|| {
            self.unanswered(started);
            Err(Failure::Timeout)
        })
    }

    async fn ask_at_last(self: &Arc<Self>, cmd: &Cmd, importing: bool, end: Instant) -> Result<Value, Failure> {
        let loads = self.loads.load(Ordering::Acquire);
        match self.send(cmd, importing, end).await {
            Err(Failure::Redis(error)) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                self.load_scripts(loads).await?;
                self.send(cmd, importing, end).await
            }
            answer => answer,
        }
    }

    async fn send(self: &Arc<Self>, cmd: &Cmd, importing: bool, end: Instant) -> Result<Value, Failure> {
        loop {
            let (mut connection, generation) = self.connection().await?;
            if !self.passes_test(&mut connection, generation, end).await {
                continue;
            }
            let written = connection.written();
            let answer = send_over(&mut connection, cmd, importing).await;
            match &answer {
                Err(error) if error.is_io_error() || error.is_unrecoverable_error() => {
                    self.lost(generation);
                    if connection.written() == written {
                        continue;
                    }
                }
                // A write that a replica refuses has kept nothing.
                Err(error) if self.is_primary_no_more(error) => {
                    self.lost(generation);
                    continue;
                }
                _ => self.proven(generation),
            }
            return Ok(answer?);
        }
    }

    /// Returns `false` if a connection that was quiet does not answer: it is lost then, and a new one is made.
    async fn passes_test(self: &Arc<Self>, connection: &mut Connection, generation: u64, end: Instant) -> bool {
        if !connection.is_quiet_for(QUIET) {
            return true;
        }
        let _one_at_a_time = self.testing.lock().await;
        if !connection.is_quiet_for(QUIET) {
            return true;
        }
        let is_current = matches!(&*self.state.borrow(), State::Up(_, current) if *current == generation);
        if !is_current {
            return false;
        }
        let now = Instant::now();
        let patience = now + end.saturating_duration_since(now) / TEST_PART;
        let ping = redis::cmd("PING");
        let answer = self.background.lag().wait(patience, connection.send(&ping)).await;
        // A server that refuses the command is there.
        let passes = answer.is_some_and(|answer| !answer.is_err_and(|error| error.is_io_error()));
        if !passes {
            self.lost(generation);
        }
        passes
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

    async fn connection(self: &Arc<Self>) -> Result<(Connection, u64), Failure> {
        let mut states = self.state.subscribe();
        loop {
            let closed = match &*states.borrow_and_update() {
                State::Up(connection, generation) if connection.is_closed() => Some(*generation),
                State::Up(connection, generation) => return Ok((connection.clone(), *generation)),
                State::Suspect(..) => {
                    self.connect();
                    return Err(Failure::Open);
                }
                State::Down(error) => {
                    self.connect();
                    return Err(Failure::Unsent(error.clone()));
                }
                State::Connecting => None,
            };
            match closed {
                Some(generation) => self.lost(generation),
                None => {
                    self.connect();
                    // The sender is of this link, so it is there.
                    let _ = states.changed().await;
                }
            }
        }
    }

    /// Notes a call that had no answer in time. Opens the breaker if the server has said nothing since the call began, or has answered no
    /// call in time for a while.
    fn unanswered(self: &Arc<Self>, started: SystemInstant) {
        let in_a_row = self.unanswered.fetch_add(1, Ordering::Relaxed) + 1;
        self.turn(|state| {
            let suspected = match &*state {
                State::Up(connection, generation) if in_a_row >= MANY || !connection.was_heard_since(started) => {
                    State::Suspect(connection.clone(), *generation)
                }
                State::Connecting => State::Down((ErrorKind::Io, "no answer to an attempt to connect").into()),
                State::Up(..) | State::Suspect(..) | State::Down(_) => return false,
            };
            *state = suspected;
            true
        });
        self.connect();
    }

    /// Notes an answer that came in time. Closes the breaker.
    fn proven(&self, generation: u64) {
        for counter in [&self.useless, &self.unanswered] {
            if counter.load(Ordering::Relaxed) > 0 {
                counter.store(0, Ordering::Relaxed);
            }
        }
        if self.served.load(Ordering::Relaxed) != generation {
            self.served.store(generation, Ordering::Relaxed);
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

    /// Leaves a connection that a call has found lost, and makes a new one.
    pub(super) fn lost(self: &Arc<Self>, generation: u64) {
        self.leave(generation);
        self.connect();
    }

    /// Leaves a connection that was closed. A new one is made at once if this one has served a call, or else when the next call
    /// comes: a server that closes what is idle is left alone by a process that is.
    pub(super) fn closed(self: &Arc<Self>, generation: u64) {
        if self.leave(generation) && self.served.load(Ordering::Relaxed) == generation {
            self.connect();
        }
    }

    /// Returns `false` if the connection was left before.
    fn leave(&self, generation: u64) -> bool {
        let served = self.served.load(Ordering::Relaxed) == generation;
        self.turn(|state| match state {
            State::Up(connection, current) | State::Suspect(connection, current) if *current == generation => {
                if !served && connection.age() < YOUNG {
                    self.useless.fetch_add(1, Ordering::Relaxed);
                }
                *state = State::Connecting;
                true
            }
            _ => false,
        })
    }

    /// Leaves the connection, if it leads to another server than this.
    #[cfg(feature = "redis-sentinel")]
    pub(super) fn follow(self: &Arc<Self>, primary: &str) {
        let elsewhere = *self.address() != *primary;
        let generation = match &*self.state.borrow() {
            State::Up(_, generation) | State::Suspect(_, generation) if elsewhere => *generation,
            _ => return,
        };
        self.lost(generation);
    }

    pub(super) fn address(&self) -> std::sync::MutexGuard<'_, String> {
        self.address.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Connects anew on the runtime where background tasks belong now. The runtime of the old connection may end or stand still. Calls that
    /// were sent over the old connection still wait for their answers.
    pub(super) fn move_in(self: &Arc<Self>) {
        self.turn(|state| {
            *state = State::Connecting;
            true
        });
        self.connecting.store(false, Ordering::Release);
        self.settle_in();
    }

    /// Connects, and has the link follow failovers, on the runtime where background tasks belong now.
    fn settle_in(self: &Arc<Self>) {
        self.connect();
        #[cfg(feature = "redis-sentinel")]
        if let Target::Primary(sentinels) = &self.target {
            let watch = self.background.spawn(sentinels.clone().watch(Arc::downgrade(self)));
            *self.watch.lock().unwrap_or_else(PoisonError::into_inner) = Some(AbortOnDrop(watch));
        }
    }

    /// Starts connecting in the background, unless that is under way.
    pub(super) fn connect(self: &Arc<Self>) {
        if self.connecting.swap(true, Ordering::AcqRel) {
            return;
        }
        self.background.spawn(keep_connecting(Arc::downgrade(self)));
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

async fn send_over(connection: &mut Connection, cmd: &Cmd, importing: bool) -> redis::RedisResult<Value> {
    #[cfg(feature = "redis-cluster")]
    if importing {
        return connection.send_asking(cmd).await;
    }
    debug_assert!(!importing, "only the nodes of a cluster import slots");
    connection.send(cmd).await
}
