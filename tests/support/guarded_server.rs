//! A database server that does not outlive the test process, however that ends.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::guardian::{Guardian, is_alive, stat};
use super::ports::free_port;

const START: Duration = Duration::from_secs(20);

/// How to run a kind of server: pieces of the guardian's script. It runs in the server's folder, and `$as` before a
/// command makes it run as `user`, because these servers refuse to run as root.
pub struct Recipe {
    pub name: &'static str,
    pub user: &'static str,
    /// Makes `data`.
    pub init: &'static str,
    /// The server's command, in the foreground, with a Unix socket in the folder; it listens on `$port`.
    pub serve: &'static str,
    /// The file name of that socket.
    pub socket: fn(u16) -> String,
    /// Ends `$server` at once, also when it is paused or has not quite started.
    pub stop: &'static str,
    /// Whether the server at the other end says that it is ready.
    pub answers: fn(&mut UnixStream) -> std::io::Result<bool>,
}

/// A running server, in a folder of its own. Dropping it stops it and removes the folder.
pub struct GuardedServer {
    guardian: Guardian,
    port: u16,
}

impl GuardedServer {
    pub fn start(recipe: &Recipe) -> Self {
        let deadline = Instant::now() + START;
        loop {
            let mut server = Self::spawn(recipe);
            if server.answers(recipe, deadline) {
                return server;
            }
            // Another process may take a free port before the server does: then another port is tried.
            let log = server.log();
            assert!(
                log.contains("Address already in use") && Instant::now() < deadline,
                "{} did not start (`scripts/test` installs it on Debian and Ubuntu):\n{log}",
                recipe.name
            );
        }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// All that the server keeps on disk.
    pub fn folder(&self) -> &Path {
        self.guardian.folder()
    }

    /// What the server printed.
    pub fn log(&self) -> String {
        self.guardian.log()
    }

    /// Stops the server and its children as `SIGSTOP` does: connections stay open and nothing answers.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets them go on.
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        let server = self.pid().expect("it is started");
        kill_process(server, signal).expect("it runs");
        // Listed only now: a server that is stopped has no more children.
        for entry in fs::read_dir("/proc").expect("this is Linux").flatten() {
            let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
            let Some(pid) = pid.and_then(Pid::from_raw) else {
                continue;
            };
            if stat(pid).is_some_and(|(_, parent)| parent == server.as_raw_pid()) {
                let _ = kill_process(pid, signal);
            }
        }
    }

    fn spawn(recipe: &Recipe) -> Self {
        let Recipe {
            user,
            init,
            serve,
            stop,
            ..
        } = recipe;
        let port = free_port();
        let guardian = Guardian::spawn(&format!(
            r#"
            as=
            if [ "$(id -u)" = 0 ]; then
              chown {user} .
              as="setpriv --reuid={user} --regid={user} --clear-groups"
            fi
            port={port}
            if {{ {init}; }} </dev/null; then
              (exec {serve}) </dev/null &
            fi
            server=$!
            echo $server >pid
            cat
            [ -z "$server" ] || {{ {stop}; }}
            "#
        ));
        Self { guardian, port }
    }

    /// Waits until it answers. `false` if it ended instead, or did not in time.
    fn answers(&mut self, recipe: &Recipe, deadline: Instant) -> bool {
        // On the socket in its own folder: on the port, it might be another server that answers.
        let socket = self.folder().join((recipe.socket)(self.port));
        while Instant::now() < deadline && !self.ended() {
            if let Ok(mut stream) = UnixStream::connect(&socket) {
                let _ = stream.set_read_timeout(Some(Duration::from_secs(1)));
                if (recipe.answers)(&mut stream).unwrap_or(false) && self.pid().is_some() {
                    return true;
                }
            }
            sleep(Duration::from_millis(10));
        }
        false
    }

    fn ended(&mut self) -> bool {
        if self.guardian.has_ended() {
            return true;
        }
        match self.pid() {
            Some(server) => !is_alive(server),
            // A line without a number: `init` failed.
            None => fs::read_to_string(self.folder().join("pid")).is_ok_and(|pid| pid == "\n"),
        }
    }

    fn pid(&self) -> Option<Pid> {
        self.guardian.pid("pid")
    }
}
