//! `reset`: lets one client go at one function.

use clap::Args;
use rate_limit::Key;

use super::client::{ClientArgs, Found};
use super::confirm::confirm;
use super::forget::Deleted;
use super::function::{method, rule_for, rules_of};
use super::{StoreArgs, of_store};
use crate::failure::Failure;
use crate::output::Output;

/// Let a client go at one function: delete what is counted of it there, and its block
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rate-limit reset --method portal::login alice@example.org
  rate-limit reset --method login --yes 20230001 192.0.2.7

What is deleted is told before it is asked for.")]
pub struct Reset {
    #[command(flatten)]
    store: StoreArgs,
    /// The function, by its name or the end of it: `login` for `portal::login`
    #[arg(long, value_name = "NAME")]
    method: String,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    client: ClientArgs,
}

impl Reset {
    pub fn run(self, output: &Output) -> Result<(), Failure> {
        let meant = self.client.meant()?;
        self.store.ask(async |store| {
            let limiter = store.limiter()?;
            let rules = rules_of(&store, &self.method, None).await?;
            let found = meant.find(&store, &rules, true).await?;
            let deleted = Deleted::of(&found, &rules);
            confirm(&deleted.announcement(), self.yes)?;
            for Found { client, .. } in &found {
                for function in deleted.functions() {
                    limiter
                        .reset(Key::new(method(function), *client))
                        .await
                        .map_err(of_store)?;
                }
                let by_numbers = rules.iter().filter(|rule| rule.by_numbers);
                for rule in by_numbers.filter_map(|rule| rule_for(rule, *client)) {
                    limiter.reset_rule(rule).await.map_err(of_store)?;
                }
            }
            output.report(&deleted)?;
            store.tell_who_remembers();
            Ok(())
        })
    }
}
