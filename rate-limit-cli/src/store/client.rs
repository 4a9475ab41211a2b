//! Whom an operator means.

use clap::Args;
use rate_limit::{Client, StoredCounter, StoredRule};

use super::Store;
use crate::failure::{Code, Failure};

/// A client, as the operator knows him.
#[derive(Args)]
pub(super) struct ClientArgs {
    /// The client, one argument for each part of its key: text, a number, an address or a UUID. A part that may be several is tried as
    /// each. It is hashed under the deployment's secret, RATE_LIMIT_SECRET in the environment
    #[arg(value_name = "CLIENT", required = true)]
    client: Vec<String>,
}

/// Shows nobody.
impl std::fmt::Debug for ClientArgs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ClientArgs({} parts)", self.client.len())
    }
}

/// A client of whom there are counters.
pub(super) struct Found {
    pub(super) client: Client,
    pub(super) counters: Vec<StoredCounter>,
}

/// All clients that may be meant.
pub(super) struct Meant(Vec<Client>);

impl ClientArgs {
    pub(super) fn meant(&self) -> Result<Meant, Failure> {
        let meant = Client::as_written(&self.client);
        meant
            .map(Meant)
            .map_err(|error| Failure::new(Code::Input, error.to_string()))
    }
}

impl Meant {
    /// Those of them that have counters: by these rules alone, or by whichever. There is one at least.
    pub(super) async fn find(&self, store: &Store, rules: &[StoredRule], alone: bool) -> Result<Vec<Found>, Failure> {
        let mut found = Vec::new();
        for client in &self.0 {
            let client = *client;
            let mut counters = store.counters_of(client, rules).await?;
            let place = |counter: &StoredCounter| rules.iter().position(|rule| rule.id == counter.rule);
            counters.retain(|counter| !alone || place(counter).is_some());
            counters.sort_by_key(|counter| place(counter).unwrap_or(usize::MAX));
            if !counters.is_empty() {
                found.push(Found { client, counters });
            }
        }
        if found.is_empty() {
            return Err(nobody());
        }
        Ok(found)
    }
}

fn nobody() -> Failure {
    let secret = match std::env::var_os("RATE_LIMIT_SECRET") {
        None => "it is not set here",
        Some(_) => "it is set here",
    };
    Failure::new(
        Code::Unknown,
        format!(
            "nothing is counted of this client. Either it made no call lately, or it is looked for under another name: see whether \
             RATE_LIMIT_SECRET is that of the deployment ({secret}), whether --prefix and --method are right, and whether each part of the \
             key is an argument of its own, in the order that the program has them in"
        ),
    )
}
