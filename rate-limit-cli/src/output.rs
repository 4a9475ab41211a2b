//! What a command has to say, as text or as JSON.

use std::fmt::Display;
use std::io::{ErrorKind, Write as _};

use serde::Serialize;

use crate::failure::{Code, Failure};

/// Standard output.
#[derive(Debug)]
pub struct Output {
    json: bool,
}

impl Output {
    pub const fn new(json: bool) -> Self {
        Self { json }
    }

    /// A report, as text for people or as one JSON value.
    pub fn report(&self, report: &(impl Display + Serialize)) -> Result<(), Failure> {
        let text = if self.json {
            serde_json::to_string_pretty(report)
                .map(|json| json + "\n")
                .map_err(|error| Failure::new(Code::Output, format!("the report is no JSON: {error}")))?
        } else {
            report.to_string()
        };
        self.bytes(text.as_bytes())
    }

    /// What is neither.
    pub fn bytes(&self, bytes: &[u8]) -> Result<(), Failure> {
        let mut out = std::io::stdout().lock();
        let written = out.write_all(bytes).and_then(|()| out.flush());
        written.map_err(|error| match error.kind() {
            ErrorKind::BrokenPipe => Failure::new(Code::Output, "the output was closed before all was written"),
            _ => Failure::new(Code::Output, format!("the output cannot be written: {error}")),
        })
    }
}
