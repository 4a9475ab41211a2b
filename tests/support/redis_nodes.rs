//! Servers that speak Redis' protocol, in one folder and under one guardian.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use redis::{Client, FromRedisValue, RedisResult};
use rustix::process::{Pid, Signal, kill_process};

use super::guardian::{Guardian, is_alive};

const START: Duration = Duration::from_secs(10);

/// Any number of servers, each named by its port. Dropping them stops all, and so does the end of the test process,
/// also by `kill -9`.
pub struct RedisNodes {
    guardian: Guardian,
    /// How each is started.
    commands: BTreeMap<u16, String>,
}

impl RedisNodes {
    pub fn new() -> Self {
        // A server that was killed has no such file any more.
        let script = r#"
            while read -r line; do eval "$line"; done
            kill -KILL $(cat */pid)
        "#;
        Self {
            guardian: Guardian::spawn(script),
            commands: BTreeMap::new(),
        }
    }

    /// Has a server start that keeps no data on disk, but what it rewrites of its configuration. [`serves`](Self::serves)
    /// waits for it. The program may have words before it, such as `env NAME=VALUE`.
    pub fn spawn(&mut self, program: &str, port: u16, args: &[&str]) {
        let port_text = port.to_string();
        let own = [
            "conf",
            "--port",
            &port_text,
            "--bind",
            "127.0.0.1",
            "--unixsocket",
            "socket",
        ];
        let program: Vec<&str> = program.split(' ').collect();
        let words = [&program[..], &own, args].concat();
        let words: Vec<String> = words.into_iter().map(quoted).collect();
        let command = format!(
            "mkdir -p {port}; : >>{port}/conf; (cd {port} && exec {}) </dev/null >>{port}/log 2>&1 & echo $! >{port}/pid",
            words.join(" ")
        );
        self.guardian.tell(&command);
        self.commands.insert(port, command);
    }

    /// Waits until it answers. `false` if it ended instead, or did not in time.
    pub fn serves(&self, port: u16) -> bool {
        let deadline = Instant::now() + START;
        while Instant::now() < deadline {
            if let Some(pid) = self.pid(port) {
                // On the socket in its own folder: on the port, it might be another server that answers.
                if pong(&self.folder_of(port).join("socket")).unwrap_or(false) {
                    return true;
                }
                if !is_alive(pid) {
                    return false;
                }
            }
            sleep(Duration::from_millis(10));
        }
        false
    }

    pub fn ports(&self) -> Vec<u16> {
        self.commands.keys().copied().collect()
    }

    pub fn folder(&self) -> &Path {
        self.guardian.folder()
    }

    /// What the server printed.
    pub fn log(&self, port: u16) -> String {
        let log = fs::read(self.folder_of(port).join("log")).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }

    /// Ends it as `SIGKILL` does, unless it has ended: connections are closed and new ones refused.
    pub fn kill(&self, port: u16) {
        let Some(pid) = self.pid(port) else { return };
        let _ = kill_process(pid, Signal::KILL);
        let deadline = Instant::now() + START;
        while is_alive(pid) {
            assert!(Instant::now() < deadline, "the server at {port} does not end");
            sleep(Duration::from_millis(1));
        }
        for file in ["pid", "socket"] {
            let _ = fs::remove_file(self.folder_of(port).join(file));
        }
    }

    /// Ends it and starts it anew on its port: without its data, and with its configuration as it rewrote that.
    pub fn restart(&mut self, port: u16) {
        let deadline = Instant::now() + START;
        loop {
            self.kill(port);
            self.guardian.tell(&self.commands[&port]);
            if self.serves(port) {
                return;
            }
            assert!(
                Instant::now() < deadline,
                "the server at {port} did not start again:\n{}",
                self.log(port)
            );
        }
    }

    /// Stops it as `SIGSTOP` does: connections stay open and nothing answers.
    pub fn pause(&self, port: u16) {
        self.signal(port, Signal::STOP);
    }

    /// Lets it go on.
    pub fn resume(&self, port: u16) {
        self.signal(port, Signal::CONT);
    }

    /// Sends one command, written as words, on a connection of its own.
    pub fn ask<T: FromRedisValue>(&self, port: u16, command: &str) -> RedisResult<T> {
        let client = Client::open(format!("redis://127.0.0.1:{port}/"))?;
        let second = Duration::from_secs(1);
        let mut connection = client.get_connection_with_timeout(second)?;
        connection.set_read_timeout(Some(second))?;
        let mut words = command.split(' ');
        let mut cmd = redis::cmd(words.next().unwrap_or_default());
        words.for_each(|word| {
            cmd.arg(word);
        });
        cmd.query(&mut connection)
    }

    /// Sends a command that must be taken.
    pub fn order(&self, port: u16, command: &str) {
        let answer: RedisResult<redis::Value> = self.ask(port, command);
        answer.unwrap_or_else(|error| panic!("`{command}` at {port}: {error}"));
    }

    /// Waits until these replicas have all that the primary has now. `WAIT` knows only of writes on its own connection.
    pub fn wait_for_copies(&self, primary: u16, replicas: &[u16]) {
        let offset = |port: u16, field: &str| -> Option<u64> {
            let info: String = self.ask(port, "INFO replication").ok()?;
            let line = info.lines().find_map(|line| line.strip_prefix(field))?;
            line.parse().ok()
        };
        let written = offset(primary, "master_repl_offset:").expect("the primary answers");
        for replica in replicas {
            eventually("a replica has it all", START, || {
                (offset(*replica, "slave_repl_offset:")? >= written).then_some(())
            });
        }
    }

    fn signal(&self, port: u16, signal: Signal) {
        let pid = self.pid(port).expect("it is started");
        kill_process(pid, signal).expect("it runs");
    }

    fn pid(&self, port: u16) -> Option<Pid> {
        self.guardian.pid(&format!("{port}/pid"))
    }

    fn folder_of(&self, port: u16) -> PathBuf {
        self.folder().join(port.to_string())
    }
}

/// Waits until `done` gives something.
pub fn eventually<T>(what: &str, limit: Duration, mut done: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(done) = done() {
            return done;
        }
        assert!(Instant::now() < deadline, "not within {limit:?}: {what}");
        sleep(Duration::from_millis(20));
    }
}

fn pong(socket: &Path) -> std::io::Result<bool> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    stream.write_all(b"PING\r\n")?;
    let mut answer = [0; 5];
    stream.read_exact(&mut answer)?;
    // With a password set, it answers with an error, which is an answer.
    Ok(matches!(&answer, b"+PONG" | b"-NOAU" | b"-NOPE"))
}

/// As one word for the shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
