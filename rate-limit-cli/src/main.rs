//! `rate-limit`: picks a policy from an access log, tries it on the log, and looks after the counters of a store.

mod advise;
mod failure;
mod log;
mod nearest;
mod output;
mod plot;
mod progress;
mod replay;
mod store;
mod text;
mod trial;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};
use clap_complete::Shell;

use crate::advise::Advise;
use crate::failure::{Code, Failure};
use crate::output::Output;
use crate::replay::Replay;
use crate::store::{Forget, Inspect, Methods, Reset, Top};

/// From an access log to a policy, and what an operator does on call
#[derive(Debug, Parser)]
#[command(name = "rate-limit", version, max_term_width = 100, after_help = Code::TABLE)]
struct Cli {
    /// Print JSON instead of text
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Advise(Advise),
    Replay(Replay),
    Methods(Methods),
    Inspect(Inspect),
    Reset(Reset),
    Forget(Forget),
    Top(Top),
    /// Print the completions of a shell, to be put where it looks for them
    Completions {
        /// The shell
        shell: Shell,
    },
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(cli.command, &Output::new(cli.json)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("rate-limit: {failure}");
            failure.code().into()
        }
    }
}

fn run(command: Command, output: &Output) -> Result<(), Failure> {
    match command {
        Command::Advise(advise) => advise.run(output),
        Command::Replay(replay) => replay.run(output),
        Command::Methods(methods) => methods.run(output),
        Command::Inspect(inspect) => inspect.run(output),
        Command::Reset(reset) => reset.run(output),
        Command::Forget(forget) => forget.run(output),
        Command::Top(top) => top.run(output),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "rate-limit", &mut script);
            output.bytes(&script)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
