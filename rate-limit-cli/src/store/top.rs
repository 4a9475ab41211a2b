//! `top`: who is refused, and who is about to be.

use std::fmt;
use std::io::IsTerminal as _;
use std::time::Duration;

use clap::Args;
use comfy_table::CellAlignment::{Left, Right};
use rate_limit::{Policy, StoredRule};
use serde::Serialize;

use super::counter::Counter;
use super::function::rules_of;
use super::{Store, StoreArgs, of_store};
use crate::failure::Failure;
use crate::output::Output;
use crate::text::{Count, Many, table};

/// Show who is refused now, and which counters are the heaviest
///
/// Goes through all counters of the store, a hundred at a time, so that no call waits for it: those that refuse come first, the
/// longest of them before the others, then those of whose limit the most is used. A client is told by its hash, as it stands in keys.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rate-limit top
  rate-limit top --method portal::login --limit 50
  rate-limit top --watch 5
  rate-limit top --json | jq '.counters[] | select(.allowed == false) | .method' | sort | uniq -c")]
pub struct Top {
    #[command(flatten)]
    store: StoreArgs,
    /// Only at this function, by its name or the end of it: `login` for `portal::login`
    #[arg(long, value_name = "NAME")]
    method: Option<String>,
    /// Judge by this policy in place of the one that the store tells, or where it tells none: `5 in 10m`
    #[arg(long, value_name = "POLICY", requires = "method")]
    policy: Option<Policy>,
    /// How many to show
    #[arg(long, value_name = "ROWS", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    limit: u32,
    /// Show it again so many seconds after it was shown, until it is interrupted
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    watch: Option<u32>,
}

impl Top {
    pub fn run(self, output: &Output) -> Result<(), Failure> {
        self.store.ask(async |store| {
            loop {
                let report = self.report(&store).await?;
                if self.watch.is_some() && std::io::stdout().is_terminal() {
                    output.bytes(b"\x1b[H\x1b[2J")?;
                }
                output.report(&report)?;
                let Some(seconds) = self.watch else { return Ok(()) };
                tokio::time::sleep(Duration::from_secs(u64::from(seconds))).await;
            }
        })
    }

    async fn report(&self, store: &Store) -> Result<Report, Failure> {
        let rules = match &self.method {
            Some(name) => rules_of(store, name, self.policy).await?,
            None => store.rules().await?,
        };
        let mut report = Report::default();
        let mut counters = store.counters(&rules);
        while let Some(page) = counters.next_page().await.map_err(of_store)? {
            let asked_for = |rule: &String| self.method.is_none() || rules.iter().any(|known| known.id == *rule);
            let page = page.into_iter().filter(|counter| asked_for(&counter.rule));
            report.add(page.map(|counter| Counter::new(counter, &rules)), self.limit as usize);
        }
        report.notes = notes(store, &rules, &report.counters);
        Ok(report)
    }
}

fn notes(store: &Store, rules: &[StoredRule], counters: &[Counter]) -> Vec<String> {
    let mut notes = Vec::new();
    if counters.iter().any(|counter| counter.method.is_none()) {
        notes.push(format!(
            "the names of some functions are not known: {}",
            store.how_to_name()
        ));
    }
    if rules.iter().any(|rule| rule.policy.is_none()) {
        notes.push("by which policy some are judged is not known: give it by --method and --policy".to_owned());
    }
    notes
}

#[derive(Debug, Default, Serialize)]
struct Report {
    counters: Vec<Counter>,
    /// How many there are, about: some may be counted twice.
    seen: u64,
    /// How many of them refuse.
    refused: u64,
    notes: Vec<String>,
}

impl Report {
    /// Adds some, and keeps the first of all.
    fn add(&mut self, counters: impl Iterator<Item = Counter>, limit: usize) {
        for counter in counters {
            self.seen += 1;
            self.refused += u64::from(counter.standing.as_ref().is_some_and(|standing| standing.refuses()));
            self.counters.push(counter);
        }
        self.counters.sort_by_cached_key(Counter::order);
        self.counters.dedup_by(|one, other| one.is(other));
        self.counters.truncate(limit);
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = [
            ("function", Left),
            ("client", Left),
            ("used", Right),
            ("refused for", Left),
            ("policy", Left),
        ];
        let mut table = table(columns);
        for counter in &self.counters {
            let standing = counter.standing.as_ref();
            table.add_row([
                counter.name(),
                &counter.client,
                &standing.map_or_else(|| "?".to_owned(), |standing| standing.used()),
                &standing.map_or_else(String::new, |standing| standing.refused_for()),
                counter.policy.as_deref().unwrap_or("not known"),
            ]);
        }
        if !self.counters.is_empty() {
            writeln!(f, "{}\n", table.trim_fmt())?;
        }
        let (seen, refused, shown) = (Many(self.seen, "counter"), Count(self.refused), self.counters.len());
        writeln!(f, "{seen}, {refused} refused now, {shown} shown")?;
        self.notes.iter().try_for_each(|note| writeln!(f, "{note}"))
    }
}
