//! `forget`: deletes all of a client.

use std::collections::BTreeSet;
use std::fmt;

use clap::Args;
use rate_limit::StoredRule;
use serde::Serialize;

use super::client::{ClientArgs, Found};
use super::confirm::confirm;
use super::counter::Counter;
use super::{StoreArgs, of_store};
use crate::failure::Failure;
use crate::output::Output;

/// Forget a client: delete all that is counted of it, at whichever function
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rate-limit forget alice@example.org
  rate-limit forget --yes --json 67e55044-10b1-426f-9247-bb680e5fe0c8

A client that is also counted under other keys, such as by its address, is forgotten under each by a call of its own.")]
pub struct Forget {
    #[command(flatten)]
    store: StoreArgs,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    client: ClientArgs,
}

impl Forget {
    pub fn run(self, output: &Output) -> Result<(), Failure> {
        let meant = self.client.meant()?;
        self.store.ask(async |store| {
            let limiter = store.limiter()?;
            let rules = store.rules().await?;
            let found = meant.find(&store, &rules, false).await?;
            let deleted = Deleted::of(&found, &rules);
            confirm(&deleted.announcement(), self.yes)?;
            for Found { client, .. } in &found {
                limiter.forget(*client).await.map_err(of_store)?;
            }
            output.report(&deleted)?;
            store.tell_who_remembers();
            Ok(())
        })
    }
}

/// What is deleted, as it stood before.
#[derive(Debug, Serialize)]
pub(super) struct Deleted {
    deleted: Vec<Counter>,
}

impl Deleted {
    pub(super) fn of(found: &[Found], rules: &[StoredRule]) -> Self {
        let counters = found.iter().flat_map(|found| found.counters.iter().cloned());
        Self {
            deleted: counters.map(|counter| Counter::new(counter, rules)).collect(),
        }
    }

    /// Each once.
    pub(super) fn functions(&self) -> BTreeSet<&str> {
        self.deleted
            .iter()
            .filter_map(|counter| counter.method.as_deref())
            .collect()
    }

    pub(super) fn announcement(&self) -> String {
        let mut told = "These counters are about to be deleted:".to_owned();
        for counter in &self.deleted {
            let standing = counter.standing.as_ref().map(|standing| format!(": {standing}"));
            let standing = standing.unwrap_or_default();
            told += &format!("\n  {}, client {}{standing}", counter.name(), counter.client);
        }
        told
    }
}

impl fmt::Display for Deleted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let functions: BTreeSet<&str> = self.deleted.iter().map(Counter::name).collect();
        let functions: Vec<&str> = functions.into_iter().collect();
        match self.deleted.len() {
            1 => write!(f, "1 counter is deleted, of ")?,
            counters => write!(f, "{counters} counters are deleted, of ")?,
        }
        writeln!(f, "{}", functions.join(", "))
    }
}
