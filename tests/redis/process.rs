//! This binary, run again as another process.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::support::RedisServer;

/// Where it finds the server.
pub(crate) const URL: &str = "RATE_LIMIT_TEST_REDIS";
/// Before each line that is meant for the parent: the harness prints too.
pub(crate) const ANSWER: &str = "admitted ";

/// One that ends with the test.
pub(crate) struct Process {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Process {
    /// With nothing but this test, one that is ignored unless it finds [`URL`].
    pub(crate) fn start(server: &RedisServer, test: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().expect("it has a path"))
            .args(["--ignored", "--exact", test, "--nocapture"])
            .env(URL, server.url())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it ran a moment ago");
        Self {
            orders: child.stdin.take().expect("it is piped"),
            answers: BufReader::new(child.stdout.take().expect("it is piped")),
            child,
        }
    }

    pub(crate) fn order(&mut self, line: &str) {
        writeln!(self.orders, "{line}").expect("the process reads");
    }

    pub(crate) fn answer(&mut self) -> u32 {
        let mut line = String::new();
        while self.answers.read_line(&mut line).expect("the process writes") > 0 {
            // What the harness prints without a line end stands before it.
            if let Some((_, number)) = line.split_once(ANSWER) {
                return number.trim().parse().expect("it is a number");
            }
            line.clear();
        }
        panic!("the process ended");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
