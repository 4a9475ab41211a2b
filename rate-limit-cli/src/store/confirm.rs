//! Asks before anything is deleted.

use std::io::{BufRead, IsTerminal as _, Write as _};

use crate::failure::{Code, Failure};

/// Says what is about to be done, and goes on if that is wanted: by `--yes`, or by an answer on the terminal.
pub(super) fn confirm(what: &str, yes: bool) -> Result<(), Failure> {
    eprintln!("{what}");
    if yes {
        return Ok(());
    }
    let input = std::io::stdin();
    if !input.is_terminal() {
        let told = "not confirmed, and nothing was changed: there is no terminal to ask on, so add --yes";
        return Err(Failure::new(Code::Unconfirmed, told));
    }
    eprint!("Go on? [y/N] ");
    let _ = std::io::stderr().flush();
    if is_yes(&mut input.lock()) {
        Ok(())
    } else {
        Err(Failure::new(
            Code::Unconfirmed,
            "not confirmed, and nothing was changed",
        ))
    }
}

/// Anything but a clear yes is a no.
fn is_yes(input: &mut impl BufRead) -> bool {
    let mut answer = String::new();
    let read = input.read_line(&mut answer);
    read.is_ok() && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_is_one() {
        let answer = |text: &str| is_yes(&mut text.as_bytes());
        for yes in ["y\n", "Y\n", " yes \n", "YES"] {
            assert!(answer(yes), "{yes:?}");
        }
        for no in ["", "\n", "n\n", "no\n", "yy\n", "yes please\n"] {
            assert!(!answer(no), "{no:?}");
        }
        assert!(!is_yes(&mut &b"\xff\xff\n"[..]));
    }
}
