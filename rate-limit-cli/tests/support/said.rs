//! What comes of a command.

use std::process::Output;

/// What a command said, and its exit code.
#[derive(Debug)]
pub struct Said {
    pub code: Option<i32>,
    pub out: String,
    pub error: String,
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).expect("text"),
            error: String::from_utf8(output.stderr).expect("text"),
        }
    }
}
