//! A `redis-server` of the test's own.

use std::path::Path;

use super::ports::free_port;
use super::redis_nodes::RedisNodes;

const REDIS: &str = "redis-server";

/// A running server. Dropping it stops it, also when it is paused, and so does the end of the test process.
pub struct RedisServer {
    nodes: RedisNodes,
    port: u16,
}

impl RedisServer {
    /// Starts a server that keeps nothing on disk.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts a server with more arguments, such as `&["--requirepass", "secret"]`.
    pub fn start_with(args: &[&str]) -> Self {
        Self::start_program(REDIS, args).unwrap_or_else(|log| {
            panic!("`redis-server` did not start (`scripts/test` installs it on Debian and Ubuntu):\n{log}")
        })
    }

    /// Starts another server that takes the same arguments. An error is what it printed.
    pub(super) fn start_program(program: &str, args: &[&str]) -> Result<Self, String> {
        let args = [&["--save", "", "--appendonly", "no"], args].concat();
        let mut log = String::new();
        // Another process may take a free port before the server does: then another port is tried.
        for _ in 0..5 {
            let (mut nodes, port) = (RedisNodes::new(), free_port());
            nodes.spawn(program, port, &args);
            if nodes.serves(port) {
                return Ok(Self { nodes, port });
            }
            log = nodes.log(port);
        }
        Err(log)
    }

    /// `redis://127.0.0.1:PORT/`.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/", self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Stops the server as `SIGSTOP` does: connections stay open and nothing answers.
    pub fn pause(&self) {
        self.nodes.pause(self.port);
    }

    /// Lets it go on.
    pub fn resume(&self) {
        self.nodes.resume(self.port);
    }

    /// Ends it: connections are closed and new ones refused.
    pub fn stop(&mut self) {
        self.nodes.kill(self.port);
    }

    /// Ends it and starts it anew, empty, on the same port.
    pub fn restart(&mut self) {
        self.nodes.restart(self.port);
    }

    /// Where it runs.
    pub fn folder(&self) -> &Path {
        self.nodes.folder()
    }

    pub fn nodes(&self) -> &RedisNodes {
        &self.nodes
    }
}
