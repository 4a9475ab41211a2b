//! The one connection to the server: multiplexed, and made anew in the background when it is lost.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, Cmd, ErrorKind, RedisError, ServerErrorKind, Value};
use tokio::sync::{Mutex, watch};

use super::script::Scripts;
use crate::error::{StoreError, StoreErrorKind};

/// How long one attempt to connect may take. No call waits for it: each has a deadline of its own.
const ATTEMPT: Duration = Duration::from_secs(1);
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// A connection and what is loaded through it.
#[derive(Debug)]
pub(super) struct Link {
    client: Client,
    scripts: Scripts,
    state: watch::Sender<State>,
    connecting: AtomicBool,
    /// How many connections in a row were lost before they had answered a call.
    useless: AtomicU32,
    /// Counts the times that the scripts were loaded, so that of many calls that find them gone one loads them.
    loads: AtomicU64,
    loading: Mutex<()>,
}

#[derive(Clone)]
enum State {
    /// No attempt has ended yet.
    Connecting,
    Up(MultiplexedConnection, u64),
    /// The last attempt failed; the next is under way or will be.
    Down(RedisError),
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Connecting => "Connecting",
            Self::Up(..) => "Up",
            Self::Down(_) => "Down",
        })
    }
}

impl Link {
    pub(super) fn new(client: Client, scripts: Scripts) -> Arc<Self> {
        Arc::new(Self {
            client,
            scripts,
            state: watch::Sender::new(State::Connecting),
            connecting: AtomicBool::new(false),
            useless: AtomicU32::new(0),
            loads: AtomicU64::new(0),
            loading: Mutex::new(()),
        })
    }

    pub(super) const fn scripts(&self) -> &Scripts {
        &self.scripts
    }

    /// Waits until the first attempt to connect has ended.
    pub(super) async fn first_attempt(self: &Arc<Self>) -> Result<(), StoreError> {
        self.connection().await.map(|_| ()).map_err(store_error)
    }

    /// Asks the server, once. Only an answer that proves that nothing was kept, `NOSCRIPT`, is followed by
    /// another try.
    ///
    /// The caller bounds the time; giving up in the middle leaves the connection as it is.
    pub(super) async fn ask(self: &Arc<Self>, cmd: &Cmd) -> Result<Value, StoreError> {
        let loads = self.loads.load(Ordering::Acquire);
        match self.send(cmd).await {
            Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                self.load_scripts(loads).await.map_err(store_error)?;
                self.send(cmd).await.map_err(store_error)
            }
            answer => answer.map_err(store_error),
        }
    }

    /// Says that an answer did not come: the connection may be dead without a sign. It is used until another
    /// one stands.
    pub(super) fn suspect(self: &Arc<Self>) {
        self.connect();
    }

    async fn send(self: &Arc<Self>, cmd: &Cmd) -> Result<Value, RedisError> {
        let (mut connection, generation) = self.connection().await?;
        let answer = connection.send_packed_command(cmd).await.and_then(Value::extract_error);
        match &answer {
            Err(error) if error.is_io_error() || error.is_unrecoverable_error() => self.lost(generation),
            _ if self.useless.load(Ordering::Relaxed) > 0 => self.useless.store(0, Ordering::Relaxed),
            _ => {}
        }
        answer
    }

    async fn connection(self: &Arc<Self>) -> Result<(MultiplexedConnection, u64), RedisError> {
        let mut states = self.state.subscribe();
        loop {
            match &*states.borrow_and_update() {
                State::Up(connection, generation) => return Ok((connection.clone(), *generation)),
                State::Down(error) => {
                    self.connect();
                    return Err(error.clone());
                }
                State::Connecting => self.connect(),
            }
            // The sender is ours, so it is there.
            let _ = states.changed().await;
        }
    }

    fn lost(self: &Arc<Self>, generation: u64) {
        let current = self.state.send_if_modified(|state| {
            let current = matches!(state, State::Up(_, current) if *current == generation);
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
    fn connect(self: &Arc<Self>) {
        if self.connecting.swap(true, Ordering::AcqRel) {
            return;
        }
        tokio::spawn(keep_connecting(Connecting(Arc::downgrade(self))));
    }

    async fn attempt(&self) -> Result<MultiplexedConnection, RedisError> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(ATTEMPT))
            .set_response_timeout(None);
        let mut connection = self
            .client
            .get_multiplexed_async_connection_with_config(&config)
            .await?;
        self.load_through(&mut connection).await?;
        Ok(connection)
    }

    /// Loads the scripts again, unless that was done since the caller counted the loads.
    async fn load_scripts(self: &Arc<Self>, seen: u64) -> Result<(), RedisError> {
        let _one_at_a_time = self.loading.lock().await;
        if self.loads.load(Ordering::Acquire) != seen {
            return Ok(());
        }
        let (mut connection, _) = self.connection().await?;
        self.load_through(&mut connection).await
    }

    async fn load_through(&self, connection: &mut MultiplexedConnection) -> Result<(), RedisError> {
        for script in self.scripts.all() {
            connection.send_packed_command(&script.load()).await?.extract_error()?;
        }
        self.loads.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }
}

/// The right to connect, given back when dropped: also when the runtime that connects is shut down.
struct Connecting(Weak<Link>);

impl Drop for Connecting {
    fn drop(&mut self) {
        if let Some(link) = self.0.upgrade() {
            link.connecting.store(false, Ordering::Release);
        }
    }
}

async fn keep_connecting(connecting: Connecting) {
    let mut pause = FIRST_PAUSE;
    // Where connecting works and no call does, each loss would be followed by an attempt at once.
    let useless = connecting.0.upgrade().map_or(0, |link| {
        let useless = link.useless.load(Ordering::Relaxed);
        if useless > 1 {
            link.state.send_if_modified(|state| {
                let waiting = matches!(state, State::Connecting);
                if waiting {
                    *state = State::Down(RedisError::from((ErrorKind::Io, "connections are lost at once")));
                }
                waiting
            });
        }
        useless
    });
    for _ in 1..useless {
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
    if useless > 1 {
        tokio::time::sleep(jittered(pause)).await;
    }
    // Ends when nobody holds the link any more.
    while let Some(link) = connecting.0.upgrade() {
        let attempt = tokio::time::timeout(ATTEMPT, link.attempt())
            .await
            .unwrap_or_else(|_| Err(RedisError::from((ErrorKind::Io, "no answer to an attempt to connect"))));
        match attempt {
            Ok(connection) => {
                // Before the state says so: who then finds the connection lost can start anew.
                drop(connecting);
                // Every attempt that succeeds has loaded the scripts, so no two see the same count.
                let generation = link.loads.load(Ordering::Acquire);
                link.state.send_replace(State::Up(connection, generation));
                return;
            }
            Err(error) => {
                link.state.send_if_modified(|state| {
                    // A connection that is only suspected serves on until another one stands.
                    let down = !matches!(state, State::Up(..));
                    if down {
                        *state = State::Down(error);
                    }
                    down
                });
            }
        }
        drop(link);
        tokio::time::sleep(jittered(pause)).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Between half of a pause and all of it, so that instances that lost one server do not return together.
fn jittered(pause: Duration) -> Duration {
    use std::hash::{BuildHasher, RandomState};
    let half = pause / 2;
    let random = RandomState::new().hash_one(0) % 1000;
    half + half * random as u32 / 1000
}

/// A script that runs a command which its user may not is told so in words alone.
fn lacks_permission(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Server(ServerErrorKind::NoPerm)
        || error
            .detail()
            .is_some_and(|detail| detail.contains("user executing the script"))
}

/// What an error of the server or of the connection means for us.
fn store_error(error: RedisError) -> StoreError {
    let (kind, message) = match error.kind() {
        ErrorKind::AuthenticationFailed => (
            StoreErrorKind::Misconfigured,
            "Redis refuses the user or password of its URL".to_owned(),
        ),
        ErrorKind::Server(_) if lacks_permission(&error) => (
            StoreErrorKind::Misconfigured,
            "Redis refuses a command: let its user run EVALSHA, SCRIPT|LOAD, TIME, GET, GETRANGE, SET, SETRANGE, PEXPIRE \
             and DEL on the keys under the prefix"
                .to_owned(),
        ),
        ErrorKind::Extension if error.code() == Some("NOAUTH") => (
            StoreErrorKind::Misconfigured,
            "Redis wants a password: put it into the URL, as in `redis://:password@host/`".to_owned(),
        ),
        ErrorKind::Extension if matches!(error.code(), Some("FOREIGN" | "WRONGTYPE")) => (
            StoreErrorKind::Unexpected,
            "Redis holds what is no rate limit under a key of ours: give the store a prefix of its own".to_owned(),
        ),
        ErrorKind::Parse | ErrorKind::UnexpectedReturnType => (
            StoreErrorKind::Unexpected,
            "what answers is no Redis, or something between garbles it".to_owned(),
        ),
        // Whatever else a server says, a loading, failing over or full one for example, it did not decide.
        _ => (StoreErrorKind::Unavailable, "Redis does not decide".to_owned()),
    };
    StoreError::new(kind, message).with_source(error)
}
