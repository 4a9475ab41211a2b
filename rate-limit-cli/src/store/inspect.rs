//! `inspect`: how a client stands.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use jiff::Timestamp;
use rate_limit::{Client, Limiter, Policy, StoredRule};
use serde::Serialize;

use super::client::ClientArgs;
use super::counter::Counter;
use super::function::{rule_for, rules_of};
use super::{Store, StoreArgs, of_store};
use crate::failure::Failure;
use crate::output::Output;
use crate::text::time;

/// Tell how a client stands: at one function, or at all
///
/// For each counter: whether a call that weighs 1 would be admitted now, how many would be, when one would be again and when the limit is
/// whole, and of a sliding window when the calls were admitted that count. Nothing is counted by looking.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rate-limit inspect alice@example.org
  rate-limit inspect --method portal::login 20230001 192.0.2.7    # a key of two parts, such as (student_id, ip)
  rate-limit inspect --method read --policy '3 and one more each 50s' 4711 --json

The store is RATE_LIMIT_STORE or --store URL, the secret RATE_LIMIT_SECRET.")]
pub struct Inspect {
    #[command(flatten)]
    store: StoreArgs,
    /// Only at this function, by its name or the end of it: `login` for `portal::login`
    #[arg(long, value_name = "NAME")]
    method: Option<String>,
    /// Judge by this policy in place of the one that the store tells, or where it tells none: `5 in 10m`
    #[arg(long, value_name = "POLICY", requires = "method")]
    policy: Option<Policy>,
    #[command(flatten)]
    client: ClientArgs,
}

impl Inspect {
    pub fn run(self, output: &Output) -> Result<(), Failure> {
        let meant = self.client.meant()?;
        self.store.ask(async |store| {
            let rules = match &self.method {
                Some(name) => rules_of(&store, name, self.policy).await?,
                None => store.rules().await?,
            };
            let limiter = store.limiter()?;
            let mut counters = Vec::new();
            for found in meant.find(&store, &rules, self.method.is_some()).await? {
                for counter in found.counters {
                    let rule = rules.iter().find(|rule| rule.id == counter.rule);
                    let admitted = match rule {
                        Some(rule) => admitted(&limiter, rule, found.client).await?,
                        None => Vec::new(),
                    };
                    counters.push(Inspected {
                        counter: Counter::new(counter, &rules),
                        admitted,
                    });
                }
            }
            tell_what_is_missing(&store, &counters);
            output.report(&Report { counters })
        })
    }
}

/// When the calls were admitted that count, where that is kept.
async fn admitted(limiter: &Limiter, rule: &StoredRule, client: Client) -> Result<Vec<Timestamp>, Failure> {
    let Some(rule) = rule_for(rule, client) else {
        return Ok(Vec::new());
    };
    let times = limiter.inspect(rule).await;
    let time = |at: SystemTime| time(at.duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as u64);
    Ok(times.map_err(of_store)?.into_iter().map(time).collect())
}

fn tell_what_is_missing(store: &Store, counters: &[Inspected]) {
    if counters.iter().any(|of| of.counter.method.is_none()) {
        eprintln!(
            "rate-limit: the names of some functions are not known: {}",
            store.how_to_name()
        );
    } else if counters.iter().any(|of| of.counter.standing.is_none()) {
        eprintln!("rate-limit: by which policy some are judged is not known: give it by --method and --policy");
    }
}

#[derive(Debug, Serialize)]
struct Report {
    counters: Vec<Inspected>,
}

#[derive(Debug, Serialize)]
struct Inspected {
    #[serde(flatten)]
    counter: Counter,
    admitted: Vec<Timestamp>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut client = None;
        for Inspected { counter, admitted } in &self.counters {
            if client != Some(&counter.client) {
                client = Some(&counter.client);
                writeln!(f, "client {}", counter.client)?;
            }
            let policy = counter.policy.as_deref().unwrap_or("policy not known");
            writeln!(f, "\n{}  ({policy})", counter.name())?;
            if let Some(standing) = &counter.standing {
                writeln!(f, "  {standing}")?;
            }
            if !admitted.is_empty() {
                let times: Vec<String> = admitted.iter().map(|time| format!("{time:.3}")).collect();
                writeln!(f, "  admitted at {}", times.join(", "))?;
            }
        }
        Ok(())
    }
}
