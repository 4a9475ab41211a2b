//! What an error of a server or of a connection means for us.

use redis::{ErrorKind, RedisError, ServerErrorKind};
use tokio::task::JoinError;

use crate::error::{StoreError, StoreErrorKind};

/// Why a call was not answered.
#[derive(Debug)]
pub(super) enum Failure {
    /// No answer came in time.
    Timeout,
    /// The server did not answer a call before in time, and has not answered since: nothing was sent.
    Open,
    /// So many calls are under way that this one was not sent.
    Crowded,
    /// There is no connection, for this reason: nothing was sent.
    Unsent(RedisError),
    /// The server answered an error, or the connection was lost before it answered.
    Redis(RedisError),
    /// The answer is none to what was asked.
    NotOurs,
    /// The runtime ended while the server was asked.
    Cut,
}

impl Failure {
    /// Returns `true` if nothing was sent.
    pub(super) const fn is_unsent(&self) -> bool {
        matches!(self, Self::Open | Self::Crowded | Self::Unsent(_))
    }

    /// Returns `true` for the answer that the keys of a call lie on two nodes of a cluster. It proves that nothing was kept.
    pub(super) fn is_try_again(&self) -> bool {
        matches!(self, Self::Redis(error) if error.kind() == ErrorKind::Server(ServerErrorKind::TryAgain))
    }
}

impl From<RedisError> for Failure {
    fn from(error: RedisError) -> Self {
        Self::Redis(error)
    }
}

impl From<JoinError> for Failure {
    fn from(_: JoinError) -> Self {
        Self::Cut
    }
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        let unavailable = |message| Self::new(StoreErrorKind::Unavailable, message);
        match failure {
            Failure::Timeout => Self::new(StoreErrorKind::Timeout, "Redis did not answer in time"),
            Failure::Open => unavailable("Redis has not answered for a while, and is asked again in the background"),
            Failure::Crowded => unavailable("too many calls of Redis are under way"),
            Failure::NotOurs => not_ours(),
            Failure::Cut => Self::new(StoreErrorKind::Unexpected, "the runtime ended while Redis was asked"),
            Failure::Unsent(error) | Failure::Redis(error) => store_error(error),
        }
    }
}

pub(super) fn not_ours() -> StoreError {
    StoreError::new(StoreErrorKind::Unexpected, "Redis answers what it is not asked")
}

/// A script that runs a command which its user may not is told so in words alone.
fn lacks_permission(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Server(ServerErrorKind::NoPerm)
        || error.detail().is_some_and(|detail| {
            // Within a script: Redis up to version 7.0, and later ones as well as Valkey.
            detail.contains("user executing the script") || detail.contains("ACL failure in script")
        })
}

/// What an error of the server or of the connection means for us.
pub(super) fn store_error(error: RedisError) -> StoreError {
    let (kind, message) = match error.kind() {
        ErrorKind::AuthenticationFailed => (
            StoreErrorKind::Misconfigured,
            "Redis refuses the user or password of its URL".to_owned(),
        ),
        ErrorKind::Server(_) if lacks_permission(&error) => (
            StoreErrorKind::Misconfigured,
            "Redis refuses a command: let its user run EVALSHA, SCRIPT|LOAD, TIME, GET, MGET, GETRANGE, SET, SETRANGE, APPEND, PEXPIRE, \
             DEL, UNLINK, HSET and HKEYS on the keys under the prefix"
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
        ErrorKind::InvalidClientConfig => (
            StoreErrorKind::Misconfigured,
            format!("Redis cannot be asked as it is set up: {error}"),
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
