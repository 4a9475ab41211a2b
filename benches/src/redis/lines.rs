//! Connections of a peer, and the script that it calls over them.

use redis::aio::MultiplexedConnection;
use redis::{Client, Cmd, Value};

use super::server::Server;

/// Connections that tasks share.
pub struct Lines(Vec<MultiplexedConnection>);

impl Lines {
    pub async fn to(server: &Server, count: usize) -> Self {
        let client = Client::open(server.url()).expect("the URL is ours");
        let mut lines = Vec::new();
        for _ in 0..count {
            let line = client.get_multiplexed_async_connection().await;
            lines.push(line.expect("it takes us"));
        }
        Self(lines)
    }

    pub fn of(&self, task: usize) -> MultiplexedConnection {
        self.0[task % self.0.len()].clone()
    }

    pub async fn ask(&self, task: usize, cmd: &Cmd) -> Value {
        let answer = self.of(task).send_packed_command(cmd).await;
        answer.and_then(Value::extract_error).expect("it answers")
    }
}

pub struct Script {
    hash: String,
    pub lines: Lines,
}

impl Script {
    pub async fn new(server: &mut Server, code: &str, lines: usize) -> Self {
        Self {
            hash: server.ask(redis::cmd("SCRIPT").arg("LOAD").arg(code)),
            lines: Lines::to(server, lines).await,
        }
    }

    pub fn on(&self, key: String) -> Cmd {
        let mut cmd = redis::cmd("EVALSHA");
        cmd.arg(&self.hash).arg(1).arg(key);
        cmd
    }
}
