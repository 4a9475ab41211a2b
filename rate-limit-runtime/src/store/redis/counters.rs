//! The counters that lie in the servers, for tools.
//!
//! Each is asked by the script that decides, which takes nothing: so what is told is what a call would be told, in whichever layout the
//! value is, and of a long log a few entries are read.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use redis::Value;
use tokio::task::JoinSet;

use super::failure::Failure;
use super::link::Link;
use super::methods::BATCH;
use super::script::{is_blocked, verdict};
use super::store_key::{pattern, read_key};
use super::{RedisStore, not_ours};
use crate::decision::Decision;
use crate::error::{StoreError, StoreErrorKind};
use crate::key::{Client, Key};
use crate::method::Method;
use crate::policy::Policy;
use crate::store::Charge;
use crate::store::stored::{Pages, StoredCounter, StoredCounters, StoredRule, decode_method, policies};

/// How many keys a server looks at for one page: few enough that no call waits for it.
const LOOK_AT: u32 = 100;
/// How many counters are asked for at once: calls of others wait for no more than these.
const ASKED_AT_ONCE: usize = 8;

impl RedisStore {
    /// All counters under the prefix, a page at a time, judged by the policies of these rules: those that [`rules`](Self::rules) tells, or
    /// some of them. Of a cluster each primary is asked in turn.
    ///
    /// The user needs the right to `SCAN`. Other calls do not wait for it: a page is one `SCAN` of 100 keys, and then a call for each
    /// counter.
    ///
    /// ```no_run
    /// # async fn refused(store: rate_limit_runtime::RedisStore) -> Result<u64, rate_limit_runtime::StoreError> {
    /// let mut counters = store.counters(&store.rules().await?);
    /// let mut refused = 0;
    /// while let Some(page) = counters.next_page().await? {
    ///     let decisions = page.iter().filter_map(|counter| counter.decision);
    ///     refused += decisions.filter(|decision| !decision.allowed).count() as u64;
    /// }
    /// # Ok(refused) }
    /// ```
    pub fn counters(&self, rules: &[StoredRule]) -> StoredCounters {
        StoredCounters(Pages::Redis(Scan {
            store: self.clone(),
            policies: policies(rules),
            links: None,
            cursor: 0,
        }))
    }

    /// The counters of a client by these rules, as far as there are any.
    ///
    /// The user needs the right to `EXISTS`.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the server does not answer.
    pub async fn counters_of(&self, client: Client, rules: &[StoredRule]) -> Result<Vec<StoredCounter>, StoreError> {
        let policies = policies(rules);
        let methods: Vec<u64> = rules
            .iter()
            .filter_map(|rule| decode_method(rule.id.as_bytes()))
            .collect();
        let mut counters = Vec::new();
        for methods in methods.chunks(BATCH) {
            let keys = self.keys_of(client, methods);
            if self.existing(client, &keys).await? == 0 {
                continue;
            }
            for (method, key) in methods.iter().zip(keys) {
                if self.existing(client, &[key]).await? > 0 {
                    let key = Key::new(Method::hashed(*method), client);
                    counters.push(self.clone().stands(key, policies.get(method).copied()).await?);
                }
            }
        }
        Ok(counters)
    }

    /// How many of these keys of a client there are.
    async fn existing(&self, client: Client, keys: &[String]) -> Result<u64, StoreError> {
        Ok(self.count("EXISTS", client, keys, self.end()).await?)
    }

    async fn stands(self, key: Key, policy: Option<Policy>) -> Result<StoredCounter, StoreError> {
        let Some(policy) = policy else {
            return Ok(StoredCounter::new(&key, None));
        };
        let charge = Charge::new(key, policy, 1);
        let peek = self.0.server.scripts().peek(&self.0.prefix, &[charge]);
        let read = |reply| match reply {
            Value::BulkString(reply) => Some((verdict(&reply)?, is_blocked(&reply))),
            _ => None,
        };
        let told = self.ask_until(key.client(), peek, read, self.end()).await;
        let (decision, blocked) = match told.map_err(StoreError::from) {
            Ok((verdict, blocked)) => (Some(Decision::by(policy, &verdict)), blocked),
            Err(error) if error.kind() == StoreErrorKind::Unexpected => (None, false),
            Err(error) => return Err(error),
        };
        Ok(StoredCounter {
            blocked,
            ..StoredCounter::new(&key, decision)
        })
    }
}

/// A walk through the keys of each server in turn.
pub(in crate::store) struct Scan {
    store: RedisStore,
    policies: HashMap<u64, Policy>,
    /// Those that are left, the first being walked through. `None` before the first page.
    links: Option<VecDeque<Arc<Link>>>,
    cursor: u64,
}

impl Scan {
    pub(in crate::store) async fn next_page(&mut self) -> Result<Option<Vec<StoredCounter>>, StoreError> {
        let end = self.store.end();
        let links = match &mut self.links {
            Some(links) => links,
            None => self.links.insert(self.store.0.server.links(end).await?.into()),
        };
        let Some(link) = links.front() else {
            return Ok(None);
        };
        let mut scan = redis::cmd("SCAN");
        scan.arg(self.cursor)
            .arg("MATCH")
            .arg(pattern(&self.store.0.prefix))
            .arg("COUNT")
            .arg(LOOK_AT);
        let (cursor, names) = read_scan(link.ask(&scan, end).await?).ok_or_else(not_ours)?;
        let counters = self.judge(&names).await?;
        self.cursor = cursor;
        if cursor == 0 {
            self.links.as_mut().map(VecDeque::pop_front);
        }
        Ok(Some(counters))
    }

    async fn judge(&self, names: &[Vec<u8>]) -> Result<Vec<StoredCounter>, StoreError> {
        let mut counters = Vec::with_capacity(names.len());
        let keys: Vec<Key> = names
            .iter()
            .filter_map(|name| read_key(&self.store.0.prefix, name))
            .collect();
        for keys in keys.chunks(ASKED_AT_ONCE) {
            let mut asked = JoinSet::new();
            for key in keys {
                let policy = self.policies.get(&key.method().hash()).copied();
                asked.spawn(self.store.clone().stands(*key, policy));
            }
            while let Some(answer) = asked.join_next().await {
                counters.push(answer.map_err(Failure::from)??);
            }
        }
        Ok(counters)
    }
}

impl std::fmt::Debug for Scan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scan")
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}

fn read_scan(value: Value) -> Option<(u64, Vec<Vec<u8>>)> {
    redis::from_redis_value(value).ok()
}
