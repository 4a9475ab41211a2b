//! An example as a child process.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// The built example of this name.
pub fn command(name: &str) -> Command {
    let test = std::env::current_exe().expect("a test knows where it is");
    let path: PathBuf = test
        .ancestors()
        .nth(2)
        .expect("it is in target/PROFILE/deps")
        .join("examples")
        .join(name);
    assert!(
        path.exists(),
        "the example is not built: run all tests with `cargo test --all-features`, or `cargo build --examples --all-features` first"
    );
    Command::new(path)
}

/// A server that says where it listens in its first line. Dropping it stops it.
pub struct Server {
    child: Child,
    pub url: String,
}

impl Server {
    pub fn start(name: &str, variables: &[(&str, &str)]) -> Self {
        Self::start_with_log(name, variables, Stdio::null())
    }

    /// One whose log is to be read.
    pub fn start_with_log(name: &str, variables: &[(&str, &str)], log: impl Into<Stdio>) -> Self {
        let mut child = command(name)
            .env_remove("CONFIG")
            .env_remove("REDIS_URL")
            .env_remove("TRUSTED_PROXIES")
            .env_remove("DATABASE_URL")
            .env("ADDR", "127.0.0.1:0")
            .envs(variables.iter().copied())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("an example runs");
        let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let first = lines.next().expect("it says where it listens").expect("in text");
        let url = first
            .split(['\u{20}', ';'])
            .find(|word| word.starts_with("http://"))
            .expect("by an address")
            .to_owned();
        // Read on, so that it can go on writing.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, url }
    }
}

impl Server {
    /// Asks it to end, as Ctrl-C does, and waits until it has. Tells how long that took.
    pub fn shut_down(mut self) -> Duration {
        let start = Instant::now();
        let id = Pid::from_child(&self.child);
        kill_process(id, Signal::INT).expect("it runs");
        let status = self.child.wait().expect("it is ours");
        assert!(status.success(), "{status}");
        start.elapsed()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
