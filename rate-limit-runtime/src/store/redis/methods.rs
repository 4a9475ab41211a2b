//! The names of the methods whose hashes stand in keys, and what they are judged by: for tools, and to find all counters of a client.
//!
//! `{prefix}rl1:methods` is a hash from each to the name, and `{prefix}rl1:policies` one to the policy. They have an entry for each counter
//! of each annotated function, and do not expire: nothing in them is of a client.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use redis::{Cmd, Value};
use smallvec::SmallVec;

use super::store_key::{key_of, methods_key, policies_key};
use super::{RedisStore, not_ours};
use crate::error::StoreError;
use crate::key::Client;
use crate::method::Method;
use crate::policy::Policy;
use crate::store::Reply;
use crate::store::stored::{StoredRule, decode_method, encode_method};

/// How many methods a command deletes the counters of.
pub(super) const BATCH: usize = 250;

/// Stands for no generation: that of a store that has decided is higher.
const NEVER: u64 = 0;

/// How long what is written of a method stays: where calls of one method go by changing policies, each would write its own.
const STAYS: Duration = Duration::from_secs(1);

/// The methods that this process has charged by.
#[derive(Debug, Default)]
pub(super) struct Methods(RwLock<HashMap<Method, Written>>);

/// What was written of a method.
#[derive(Debug)]
struct Written {
    policy: Policy,
    /// See [`RedisStore::generation`].
    generation: u64,
    at: Instant,
}

impl Written {
    fn holds(&self, policy: Policy, generation: u64) -> bool {
        self.generation == generation && (self.policy == policy || self.at.elapsed() < STAYS)
    }
}

/// Methods, and what a call was judged by.
pub(super) type Judged = SmallVec<[(Method, Policy); 2]>;

impl Methods {
    fn is_written(&self, method: Method, policy: Policy, generation: u64) -> bool {
        let written = self.0.read().unwrap_or_else(PoisonError::into_inner);
        written
            .get(&method)
            .is_some_and(|written| written.holds(policy, generation))
    }

    /// Leaves those that are to be written, of which the caller takes care.
    fn claim(&self, methods: &mut Judged, generation: u64) {
        let mut written = self.0.write().unwrap_or_else(PoisonError::into_inner);
        methods.retain(|(method, policy)| {
            let known = written.get(method);
            let new = !known.is_some_and(|written| written.holds(*policy, generation));
            if new {
                let (policy, at) = (*policy, Instant::now());
                written.insert(*method, Written { policy, generation, at });
            }
            new
        });
    }

    /// Has them written again, with the next call that is decided.
    fn give_back(&self, methods: &Judged) {
        let mut written = self.0.write().unwrap_or_else(PoisonError::into_inner);
        for (method, _) in methods {
            written.entry(*method).and_modify(|written| written.generation = NEVER);
        }
    }

    fn hashes(&self) -> BTreeSet<u64> {
        let written = self.0.read().unwrap_or_else(PoisonError::into_inner);
        written.keys().map(Method::hash).collect()
    }
}

impl RedisStore {
    /// The rules by which there are counters under the prefix, by the names of their functions, each with the policy that a process judged
    /// by last. Those of functions that are no more stay.
    ///
    /// The user needs the right to `HGETALL`.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the server does not answer.
    pub async fn rules(&self) -> Result<Vec<StoredRule>, StoreError> {
        let all = |of: fn(&str) -> String| self.ask_at(of(&self.0.prefix), redis::cmd("HGETALL"), &[], read_pairs);
        let (names, policies) = (all(methods_key).await?, all(policies_key).await?);
        let policies: HashMap<u64, String> = policies.into_iter().collect();
        let read = |(hash, name): &(u64, String)| {
            let policy = policies.get(hash).map(String::as_str);
            StoredRule::read(*hash, name, policy)
        };
        let mut rules: Vec<StoredRule> = names.iter().filter_map(read).collect();
        StoredRule::sort(&mut rules);
        Ok(rules)
    }

    /// Has the names of the methods and their policies written that the server lacks which has decided: in the background, since nobody
    /// waits for them.
    pub(super) fn note_methods(&self, mut judged: Judged) {
        let generation = self.generation();
        judged.retain(|(method, policy)| !self.0.methods.is_written(*method, *policy, generation));
        if !judged.is_empty() {
            self.clone().write(judged);
        }
    }

    /// Another one may stand for another server, or for one that has lost what it had.
    fn generation(&self) -> u64 {
        self.0.server.generation()
    }

    fn write(self, mut methods: Judged) {
        self.0.methods.claim(&mut methods, self.generation());
        if methods.is_empty() {
            return;
        }
        let background = Arc::clone(&self.0.background);
        // Nobody waits for it.
        drop(background.finish(async move {
            match self.write_all(&methods).await {
                Ok(()) => {}
                Err(error) if error.is_transient() => self.0.methods.give_back(&methods),
                Err(error) => tracing::warn!(
                    store = ?self,
                    %error,
                    "the names of methods and their policies cannot be written: other processes will not find all counters of a client who \
                     is to be forgotten, and tools will not tell how they stand"
                ),
            }
        }));
    }

    async fn write_all(&self, methods: &Judged) -> Result<(), StoreError> {
        let entries = |value: fn(&(Method, Policy)) -> String| -> Vec<String> {
            let entry = |of: &(Method, Policy)| [encode_method(of.0.hash()), value(of)];
            methods.iter().flat_map(entry).collect()
        };
        let names = (
            methods_key(&self.0.prefix),
            entries(|(method, _)| method.name().to_owned()),
        );
        let policies = (policies_key(&self.0.prefix), entries(|(_, policy)| policy.to_string()));
        for (key, entries) in [names, policies] {
            self.ask_at(key, redis::cmd("HSET"), &entries, read_integer).await?;
        }
        Ok(())
    }

    /// Asks whoever has one of the hashes.
    async fn ask_at<T>(
        &self,
        key: String,
        mut cmd: Cmd,
        entries: &[String],
        read: fn(Value) -> Option<T>,
    ) -> Result<T, StoreError> {
        cmd.arg(&key).arg(entries);
        let answer = self.0.server.ask_for(&key, &cmd, self.end()).await?;
        read(answer).ok_or_else(not_ours)
    }

    /// Returns the keys of the counters of a client at these methods.
    pub(super) fn keys_of(&self, client: Client, methods: &[u64]) -> Vec<String> {
        let key = |method: &u64| key_of(&self.0.prefix, *method, client);
        methods.iter().map(key).collect()
    }

    pub(super) fn forget_client(&self, client: Client) -> Reply<Result<u64, StoreError>> {
        let store = self.clone();
        Reply::pending(async move {
            store.enter()?;
            // What this process has charged by may not be written yet.
            let mut methods = store.0.methods.hashes();
            let names = methods_key(&store.0.prefix);
            methods.extend(store.ask_at(names, redis::cmd("HKEYS"), &[], read_hashes).await?);
            let methods: Vec<u64> = methods.into_iter().collect();
            let mut forgotten = 0;
            for methods in methods.chunks(BATCH) {
                let keys = store.keys_of(client, methods);
                forgotten += store.count("UNLINK", client, &keys, store.end()).await?;
            }
            Ok(forgotten)
        })
    }
}

fn read_integer(value: Value) -> Option<u64> {
    redis::from_redis_value(value).ok()
}

/// What is no hash of ours was written by somebody else.
fn read_hashes(value: Value) -> Option<Vec<u64>> {
    let fields: Vec<Vec<u8>> = redis::from_redis_value(value).ok()?;
    Some(fields.iter().filter_map(|field| decode_method(field)).collect())
}

/// What is no entry of ours was written by somebody else.
fn read_pairs(value: Value) -> Option<Vec<(u64, String)>> {
    let pairs: Vec<(Vec<u8>, Vec<u8>)> = redis::from_redis_value(value).ok()?;
    let read = |(hash, text): (Vec<u8>, Vec<u8>)| Some((decode_method(&hash)?, String::from_utf8(text).ok()?));
    Some(pairs.into_iter().filter_map(read).collect())
}
