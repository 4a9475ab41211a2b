//! What tools ask a database: which rules there are, and how all counters stand.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::row::{Columns, Seen};
use super::{Database, MAX_BATCH, SqlStore, accepts, verdict};
use crate::decision::Decision;
use crate::error::StoreError;
use crate::key::{Client, Key};
use crate::method::Method;
use crate::policies::Policies;
use crate::policy::{Algorithm, Policy};
use crate::registry;
use crate::store::Charge;
use crate::store::stored::{Pages, StoredCounter, StoredCounters, StoredRule, policies};

/// A row of the table of names: the hash, the name of the function, and the policy.
pub(super) type Named = (i64, String, Option<String>);

impl SqlStore {
    /// Writes down for tools how the annotated functions of this program are called, whose hashes stand in the rows, and by which of these
    /// policies or numbers of their own each is judged. [`create_table`](Self::create_table) does so without policies; do it again with
    /// those of the limiter, when it starts and when they change. Where the policy of a function is not known, what was written before
    /// stays.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the database cannot be reached, or refuses.
    pub async fn publish_methods(&self, policies: &Policies) -> Result<(), StoreError> {
        let names: Arc<[Named]> = names(policies).into();
        decide!(self.housekeeping(), |database, wait| {
            let names = Arc::clone(&names);
            async move { database.publish(&names, wait).await }
        })
    }

    /// The rules that were [published](Self::publish_methods), by the names of their functions. None if the database has no table of
    /// names.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the database does not answer, or has no table `rate_limit` either.
    pub async fn rules(&self) -> Result<Vec<StoredRule>, StoreError> {
        let names = decide!(self.housekeeping(), |database, wait| async move {
            database.names(wait).await
        })?;
        if names.is_empty() {
            self.rows_behind(Columns::BEFORE_ALL).await?;
        }
        let read = |(method, name, policy): &Named| StoredRule::read(*method as u64, name, policy.as_deref());
        let mut rules: Vec<StoredRule> = names.iter().filter_map(read).collect();
        StoredRule::sort(&mut rules);
        Ok(rules)
    }

    /// All counters, a page at a time, judged by the policies of these rules: those that [`rules`](Self::rules) tells, or some of them.
    pub fn counters(&self, rules: &[StoredRule]) -> StoredCounters {
        StoredCounters(Pages::Sql(Paging {
            store: self.clone(),
            policies: policies(rules),
            after: Some(Columns::BEFORE_ALL),
        }))
    }

    /// The counters of a client, whether their rules are among these or not.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the database does not answer.
    pub async fn counters_of(&self, client: Client, rules: &[StoredRule]) -> Result<Vec<StoredCounter>, StoreError> {
        let (policies, client) = (policies(rules), client.to_bytes());
        let mut after = Some(Columns {
            client,
            method: i64::MIN,
        });
        let mut counters = Vec::new();
        while let Some(behind) = after {
            let rows = self.rows_behind(behind).await?;
            after = next(&rows).filter(|last| last.client == client);
            let own = rows.iter().take_while(|(columns, _)| columns.client == client);
            counters.extend(own.map(|row| counter(row, &policies)));
        }
        Ok(counters)
    }

    async fn rows_behind(&self, after: Columns) -> Result<Vec<(Columns, Seen)>, StoreError> {
        decide!(self.housekeeping(), |database, wait| async move {
            database.rows(&after, wait).await
        })
    }
}

/// The last of a page, if there may be more behind it.
fn next(rows: &[(Columns, Seen)]) -> Option<Columns> {
    let full = rows.len() >= MAX_BATCH as usize;
    rows.last().filter(|_| full).map(|(columns, _)| *columns)
}

fn counter((columns, seen): &(Columns, Seen), policies: &HashMap<u64, Policy>) -> StoredCounter {
    let method = columns.method as u64;
    let key = Key::new(Method::hashed(method), Client::hashed(columns.client));
    let decision = policies.get(&method).map(|policy| {
        let charge = Charge::new(key, *policy, 1);
        Decision::by(*policy, &verdict(&[charge], &[seen.peeked(&charge)]))
    });
    StoredCounter::new(&key, decision)
}

/// The rules of the annotated functions that a database can keep, or may.
fn names(policies: &Policies) -> Vec<Named> {
    let mut names = BTreeMap::new();
    for rule in registry::rules() {
        let policy = rule.policy(policies);
        if policy.is_some_and(|policy| accepts(policy).is_err()) {
            continue;
        }
        let mut method = rule.site.method().counted_by(Algorithm::TokenBucket, rule.place);
        if let Some(numbers) = policy.filter(|_| rule.counts_by_numbers(policies)) {
            method = method.counted_for(&numbers);
        }
        let name = (method.name().to_owned(), policy.map(|policy| policy.to_string()));
        // Functions of one name may say different things of it.
        let known: &mut (String, Option<String>) = names.entry(method.hash() as i64).or_insert_with(|| name.clone());
        if name.1.is_some() {
            *known = name;
        }
    }
    let row = |(method, (name, policy))| (method, name, policy);
    names.into_iter().map(row).collect()
}

/// A walk through the table in the order of its key.
#[derive(Debug)]
pub(in crate::store) struct Paging {
    store: SqlStore,
    policies: HashMap<u64, Policy>,
    /// `None` at the end.
    after: Option<Columns>,
}

impl Paging {
    pub(in crate::store) async fn next_page(&mut self) -> Result<Option<Vec<StoredCounter>>, StoreError> {
        let Some(after) = self.after else {
            return Ok(None);
        };
        let rows = self.store.rows_behind(after).await?;
        self.after = next(&rows);
        let counters = rows.iter().map(|row| counter(row, &self.policies));
        Ok(Some(counters.collect()))
    }
}
