//! `methods`: the functions there are counters of.

use std::fmt;

use clap::Args;
use comfy_table::CellAlignment::Left;
use rate_limit::StoredRule;
use serde::Serialize;

use super::StoreArgs;
use super::function::algorithm;
use crate::failure::Failure;
use crate::output::Output;
use crate::text::table;

/// List the functions that a store has counters of
///
/// A function has one line for each of its rules and algorithms: what the counters are judged by, and the hash that stands for the rule in
/// their keys. Functions that were counted once and are no more stay on the list.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rate-limit methods --store redis://localhost:6379/0
  RATE_LIMIT_STORE=postgres://app@db/app rate-limit methods --json")]
pub struct Methods {
    #[command(flatten)]
    store: StoreArgs,
}

impl Methods {
    pub fn run(self, output: &Output) -> Result<(), Failure> {
        self.store.ask(async |store| {
            let rules = store.rules().await?;
            if rules.is_empty() {
                eprintln!("rate-limit: there are no names in this store: {}", store.how_to_name());
            }
            output.report(&Report {
                methods: rules.iter().map(Line::new).collect(),
            })
        })
    }
}

#[derive(Debug, Serialize)]
struct Report {
    methods: Vec<Line>,
}

#[derive(Debug, Serialize)]
struct Line {
    method: String,
    /// Which of the rules of the function, from 1.
    rule: u8,
    algorithm: &'static str,
    policy: Option<String>,
    id: String,
}

impl Line {
    fn new(rule: &StoredRule) -> Self {
        Self {
            method: rule.function.clone(),
            rule: rule.place + 1,
            algorithm: algorithm(rule.algorithm),
            policy: rule.policy.map(|policy| policy.to_string()),
            id: rule.id.clone(),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = ["function", "rule", "algorithm", "policy", "in keys"];
        let mut table = table(columns.map(|column| (column, Left)));
        for line in &self.methods {
            table.add_row([
                &line.method,
                &line.rule.to_string(),
                line.algorithm,
                line.policy.as_deref().unwrap_or("not known"),
                &line.id,
            ]);
        }
        writeln!(f, "{}", table.trim_fmt())
    }
}
