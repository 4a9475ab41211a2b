//! `replay`: whom a policy would have refused.

mod candidate;
mod plot;
mod report;

use std::path::PathBuf;

use clap::Args;

use self::candidate::Candidate;
use self::report::{Report, Tried};
use crate::failure::{Code, Failure};
use crate::log::{self, LogArgs};
use crate::output::Output;
use crate::progress;
use crate::trial;
use crate::trial::slots::Slots;

/// Find out whom a policy would have refused, by the events of a log
///
/// Every event of the log is a call that weighs 1, and is decided by the algorithms of the library itself, at the time that the log says:
/// an event that is refused is not charged, and one that is admitted is. Policies that are given apart are tried apart, side by side; those
/// with a + between them hold together, as several attributes on one function do.
///
/// Below each policy are its neighbours: what one somewhat lower or higher number would change.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rate-limit replay reads.csv --client member --time read_at --policy '3 and one more each 50s'
  rate-limit replay reads.csv --policy '5 in 10m' --policy '5 in 1m + 100 in 1d' --plot refused.svg
  zcat access.jsonl.gz | rate-limit replay - --policies policies.yaml --only login --json

A policy is `5 in 10m` (sliding window), `5 in each 10m` (fixed window) or `3 and one more each 50s` (token bucket), and behind any of them
`, then blocked for 30m`.")]
pub struct Replay {
    #[command(flatten)]
    log: LogArgs,
    /// A policy to try, or several that hold together: `5 in 1m + 100 in 1d`. May be given more than once
    #[arg(long = "policy", value_name = "POLICY", required_unless_present = "policies")]
    given: Vec<Candidate>,
    /// A file of policies by name to try, in YAML, JSON or TOML: those of a function, NAME, NAME#2 and so on, hold together
    #[arg(long, value_name = "FILE")]
    policies: Option<PathBuf>,
    /// Of the file, try only the policies of this function. May be given more than once
    #[arg(long, value_name = "NAME", requires = "policies")]
    only: Vec<String>,
    /// Draw the events refused over time into this SVG file
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
}

impl Replay {
    pub fn run(self, output: &Output) -> Result<(), Failure> {
        let candidates = self.candidates()?;
        let log = log::read(&self.log)?;
        let summary = log.summary();
        let timelines = log.timelines();
        let (first, last) = timelines.first_and_last();
        let slots = Slots::between(first, last);

        let neighbours: Vec<Vec<Candidate>> = candidates.iter().map(Candidate::neighbours).collect();
        let all = candidates.iter().chain(neighbours.iter().flatten());
        let stacks: Vec<_> = all.map(|candidate| &candidate.policies[..]).collect();
        let progress = progress::of_clients(timelines.clients());
        let mut outcomes = trial::run(&stacks, &timelines, &slots, &|clients| progress.inc(clients));
        let mut of_neighbours = outcomes.split_off(candidates.len()).into_iter();

        if let Some(path) = &self.plot {
            let refused = candidates.iter().zip(&outcomes);
            let lines: Vec<_> = refused
                .map(|(candidate, outcome)| (&*candidate.name, &outcome.over_time[..]))
                .collect();
            plot::write(path, &slots, &lines)?;
        }
        let name = |client| timelines.name(client);
        let tried = candidates.into_iter().zip(neighbours).zip(&outcomes);
        let tried = tried.map(|((candidate, neighbours), outcome)| {
            let neighbours = neighbours.into_iter().zip(of_neighbours.by_ref());
            Tried::new(candidate, outcome, neighbours, &summary, &slots, name)
        });
        let candidates = tried.collect();
        output.report(&Report {
            log: summary,
            candidates,
        })
    }

    fn candidates(&self) -> Result<Vec<Candidate>, Failure> {
        let mut candidates = self.given.clone();
        if let Some(path) = &self.policies {
            let in_file = Candidate::from_file(path)?;
            for only in &self.only {
                if in_file.iter().all(|candidate| candidate.name != *only) {
                    let known: Vec<&str> = in_file.iter().map(|candidate| &*candidate.name).collect();
                    let told = format!(
                        "{}: there is no policy `{only}` in it, but `{}`",
                        path.display(),
                        known.join("`, `")
                    );
                    return Err(Failure::new(Code::Input, told));
                }
            }
            let is_wanted = |candidate: &Candidate| self.only.is_empty() || self.only.contains(&candidate.name);
            candidates.extend(in_file.into_iter().filter(is_wanted));
        }
        Ok(candidates)
    }
}
