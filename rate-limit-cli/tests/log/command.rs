//! The binary, run on a log.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use flate2::{Compression, write::GzEncoder};
use serde_json::Value;
use tempfile::TempDir;

pub use crate::said::Said;

pub fn rate_limit(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rate-limit"));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// A folder with logs.
pub struct Logs(TempDir);

impl Logs {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    pub fn write(&self, name: &str, log: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, log).expect("it can be written");
        path
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

impl Said {
    /// The report, of a command that did what it was asked.
    pub fn json(&self) -> Value {
        assert_eq!((self.code, &*self.error), (Some(0), ""), "{}", self.out);
        serde_json::from_str(&self.out).expect("JSON")
    }
}

/// Runs `COMMAND LOG OPTIONS..`.
pub fn run(command: &str, log: &Path, options: &[&str]) -> Said {
    let log = log.to_str().expect("a name in UTF-8");
    let output = rate_limit(&[command, log]).args(options).output();
    output.expect("the command runs").into()
}

/// The same, with the log on standard input.
pub fn run_piped(command: &str, log: &[u8], options: &[&str]) -> Said {
    let mut child = rate_limit(&[command, "-"])
        .args(options)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command runs");
    let mut input = child.stdin.take().expect("it is piped");
    std::thread::scope(|scope| {
        // It may end before it has read everything.
        scope.spawn(move || drop(input.write_all(log)));
        child.wait_with_output().expect("the command ends").into()
    })
}

pub fn gzip(log: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(log).expect("it is in memory");
    gzip.finish().expect("it is in memory")
}
