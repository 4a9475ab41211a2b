//! A `redis-server` of the test's own.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

const START: Duration = Duration::from_secs(10);

/// A running server. Dropping it stops it, also when it is paused.
pub struct RedisServer {
    child: Child,
    port: u16,
    args: Vec<String>,
}

impl RedisServer {
    /// Starts a server that keeps nothing on disk.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts a server with more arguments, such as `&["--requirepass", "secret"]`.
    pub fn start_with(args: &[&str]) -> Self {
        let args: Vec<String> = args.iter().map(ToString::to_string).collect();
        // Another process may take a free port before the server does: then another port is tried.
        for _ in 0..5 {
            let port = free_port();
            let mut server = Self {
                child: spawn(port, &args),
                port,
                args: args.clone(),
            };
            if server.answers() {
                return server;
            }
        }
        panic!("`redis-server` did not start: run it by hand to see why");
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
        self.signal(Signal::STOP);
    }

    /// Lets it go on.
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    /// Ends it: connections are closed and new ones refused.
    pub fn stop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Ends it and starts it anew, empty, on the same port.
    pub fn restart(&mut self) {
        self.stop();
        let deadline = Instant::now() + START;
        loop {
            self.child = spawn(self.port, &self.args);
            if self.answers() {
                return;
            }
            assert!(
                Instant::now() < deadline,
                "`redis-server` did not start again on its port"
            );
        }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("the server is our child");
    }

    /// Waits until it answers. `false` if it ended instead.
    fn answers(&mut self) -> bool {
        let deadline = Instant::now() + START;
        while Instant::now() < deadline {
            if self.child.try_wait().expect("the server is our child").is_some() {
                return false;
            }
            if let Ok(mut stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)) {
                let _ = stream.set_read_timeout(Some(Duration::from_secs(1)));
                let mut answer = [0; 5];
                // With a password set, it answers with an error, which is an answer.
                if stream.write_all(b"PING\r\n").is_ok() && stream.read_exact(&mut answer).is_ok() {
                    return matches!(&answer, b"+PONG" | b"-NOAU" | b"-NOPE");
                }
            }
            sleep(Duration::from_millis(10));
        }
        false
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.stop();
    }
}

fn spawn(port: u16, args: &[String]) -> Child {
    Command::new("redis-server")
        .args([
            "--port",
            &port.to_string(),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--appendonly",
            "no",
        ])
        .args(["--dir", &std::env::temp_dir().to_string_lossy()])
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("these tests need `redis-server` on the PATH: `scripts/test` installs it on Debian and Ubuntu")
}

pub(super) fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port");
    listener.local_addr().expect("it is bound").port()
}
