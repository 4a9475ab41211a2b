//! How a link stands.

use std::fmt;

use redis::RedisError;

use super::connection::Connection;

/// The breaker: it is closed in the first two, and open in the others until somebody answers in the background.
#[derive(Clone)]
pub(super) enum State {
    /// There is no connection, and no attempt to make one has failed.
    Connecting,
    Up(Connection, u64),
    /// The server did not answer in time. No call is sent before it answers, over this connection or over another.
    Suspect(Connection, u64),
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
    pub(super) const fn is_open(&self) -> bool {
        matches!(self, Self::Suspect(..) | Self::Down(_))
    }
}
