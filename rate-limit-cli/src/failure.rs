//! Why a command ends without having done what it was asked.

use std::fmt;
use std::process::ExitCode;

/// What goes to standard error, and the exit code.
#[derive(Debug)]
pub struct Failure {
    code: Code,
    message: String,
}

/// The exit codes. The command line itself being wrong is 2, by clap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// What was to be read cannot be used.
    Input = 1,
    /// The store cannot be reached, or refuses.
    Store = 3,
    /// There is no such function, or no such client.
    Unknown = 4,
    /// It was not confirmed.
    Unconfirmed = 5,
    /// The output cannot be written.
    Output = 6,
}

impl Code {
    /// As the help tells them.
    pub const TABLE: &str = "\
Exit codes:
  0  done
  1  a log, a file of policies or the secret cannot be used
  2  the command line is wrong
  3  the store cannot be reached, or refuses
  4  there is no such function or client in the store
  5  a change was not confirmed, and nothing was changed
  6  the output cannot be written, or was closed before all was written";
}

impl Failure {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    pub const fn code(&self) -> Code {
        self.code
    }
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
