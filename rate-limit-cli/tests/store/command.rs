//! The binary, run on a store.

use std::process::{Command, Stdio};

use serde_json::Value;

pub use crate::said::Said;

/// The deployment's, at least 16 bytes.
pub const SECRET: &str = "the secret of the tests";

/// The command, as the deployment at this URL has it run.
pub fn rate_limit(url: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rate-limit"));
    command.args(arguments).stdin(Stdio::null());
    command
        .env_remove("RATE_LIMIT_PREFIX")
        .env("RATE_LIMIT_STORE", url)
        .env("RATE_LIMIT_SECRET", SECRET);
    command
}

impl Said {
    /// The report, of a command that did what it was asked.
    pub fn json(&self) -> Value {
        assert_eq!(self.code, Some(0), "{self:?}");
        serde_json::from_str(&self.out).expect("JSON")
    }

    /// What it said on its way to this exit code.
    pub fn failed(&self, code: i32) -> &str {
        assert_eq!((self.code, self.out.as_str()), (Some(code), ""), "{self:?}");
        &self.error
    }
}

pub fn said(url: &str, arguments: &[&str]) -> Said {
    rate_limit(url, arguments).output().expect("the binary runs").into()
}

/// The report of a command that did what it was asked.
pub fn json(url: &str, arguments: &[&str]) -> Value {
    said(url, &[arguments, &["--json"]].concat()).json()
}
