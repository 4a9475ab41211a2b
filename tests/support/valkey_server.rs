//! A `valkey-server` of the test's own.

use std::ops::{Deref, DerefMut};

use super::redis_server::RedisServer;

/// Names the program.
const PROGRAM: &str = "VALKEY_SERVER";

/// A running server, as [`RedisServer`] is.
pub struct ValkeyServer(RedisServer);

impl ValkeyServer {
    /// Starts a server that keeps nothing on disk.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts a server with more arguments.
    pub fn start_with(args: &[&str]) -> Self {
        let program = std::env::var(PROGRAM).unwrap_or_else(|_| {
            panic!(
                "{PROGRAM} names no `valkey-server`: `scripts/test` sets it, and so does `eval \"$(scripts/valkey)\"`"
            )
        });
        let server = RedisServer::start_program(&program, args);
        Self(server.unwrap_or_else(|log| panic!("`{program}` did not start:\n{log}")))
    }
}

impl Deref for ValkeyServer {
    type Target = RedisServer;

    fn deref(&self) -> &RedisServer {
        &self.0
    }
}

impl DerefMut for ValkeyServer {
    fn deref_mut(&mut self) -> &mut RedisServer {
        &mut self.0
    }
}
