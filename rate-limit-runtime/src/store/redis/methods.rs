//! The names of the methods whose hashes stand in keys: for tools, and to find all counters of a client.
//!
//! `{prefix}rl1:methods` is a hash from each to the name. It has an entry for each counter of each annotated function, and
//! does not expire: nothing in it is of a client.

use std::collections::{BTreeSet, HashMap};
use std::sync::{PoisonError, RwLock};

use redis::{Cmd, Value};
use smallvec::SmallVec;

use super::store_key::{block_of, decode_method, encode_method, key_of, methods_key};
use super::{RedisStore, in_runtime, not_ours};
use crate::error::StoreError;
use crate::key::Client;
use crate::method::Method;
use crate::store::{Charge, Reply};

/// How many methods a command deletes the counters of.
const BATCH: usize = 250;

/// Stands for no generation: that of a store that has decided is higher.
const NEVER: u64 = 0;

/// The methods that this process has charged by, each with what it was written at: see [`RedisStore::generation`].
#[derive(Debug, Default)]
pub(super) struct Methods(RwLock<HashMap<Method, u64>>);

impl Methods {
    fn is_written(&self, method: Method, generation: u64) -> bool {
        let written = self.0.read().unwrap_or_else(PoisonError::into_inner);
        written.get(&method) == Some(&generation)
    }

    /// Leaves those that are to be written, of which the caller takes care.
    fn claim(&self, methods: &mut SmallVec<[Method; 2]>, generation: u64) {
        let mut written = self.0.write().unwrap_or_else(PoisonError::into_inner);
        methods.retain(|method| written.insert(*method, generation) != Some(generation));
    }

    /// Has them written again, with the next call that is decided.
    fn give_back(&self, methods: &[Method]) {
        let mut written = self.0.write().unwrap_or_else(PoisonError::into_inner);
        written.extend(methods.iter().map(|method| (*method, NEVER)));
    }

    fn hashes(&self) -> BTreeSet<u64> {
        let written = self.0.read().unwrap_or_else(PoisonError::into_inner);
        written.keys().map(Method::hash).collect()
    }
}

impl RedisStore {
    /// The methods of which there are counters under the prefix: the hash, as it stands in keys, and the name. Of an annotated function
    /// there is one for each of its rules and algorithms. Those of functions that are no more stay.
    ///
    /// The user needs the right to `HGETALL`.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the server does not answer.
    pub async fn methods(&self) -> Result<Vec<(String, String)>, StoreError> {
        let mut methods = self.ask_for_methods(redis::cmd("HGETALL"), &[], read_pairs).await?;
        methods.sort_by(|(hash, name), (other_hash, other_name)| (name, hash).cmp(&(other_name, other_hash)));
        Ok(methods)
    }

    /// Has the names of the methods written, once the store has decided by them: in the background, since nobody waits for them.
    pub(super) fn noting_methods<T: 'static>(
        &self,
        charges: &[Charge],
        reply: Reply<Result<T, StoreError>>,
    ) -> Reply<Result<T, StoreError>> {
        let generation = self.generation();
        let methods = charges.iter().map(|charge| charge.key.method());
        let new: SmallVec<[Method; 2]> = methods
            .filter(|method| !self.0.methods.is_written(*method, generation))
            .collect();
        if new.is_empty() {
            return reply;
        }
        let store = self.clone();
        reply.map(move |answer| {
            if answer.is_ok() {
                store.write(new);
            }
            answer
        })
    }

    /// Another one may stand for another server, or for one that has lost what it had.
    fn generation(&self) -> u64 {
        self.0.server.generation()
    }

    fn write(self, mut methods: SmallVec<[Method; 2]>) {
        self.0.methods.claim(&mut methods, self.generation());
        if methods.is_empty() {
            return;
        }
        let entry = |method: &Method| [encode_method(method.hash()), method.name().to_owned()];
        let entries: Vec<String> = methods.iter().flat_map(entry).collect();
        tokio::spawn(async move {
            match self.ask_for_methods(redis::cmd("HSET"), &entries, read_integer).await {
                Ok(_) => {}
                Err(error) if error.is_transient() => self.0.methods.give_back(&methods),
                Err(error) => tracing::warn!(
                    store = ?self,
                    %error,
                    "the names of methods cannot be written: other processes will not find all counters of a client who is to be forgotten"
                ),
            }
        });
    }

    async fn ask_for_methods<T>(
        &self,
        mut cmd: Cmd,
        entries: &[String],
        read: fn(Value) -> Option<T>,
    ) -> Result<T, StoreError> {
        let key = methods_key(&self.0.prefix);
        cmd.arg(&key).arg(entries);
        let answer = self.0.server.ask_for(&key, &cmd, self.end()).await?;
        read(answer).ok_or_else(not_ours)
    }

    pub(super) fn forget_client(&self, client: Client) -> Reply<Result<u64, StoreError>> {
        let store = self.clone();
        Reply::pending(async move {
            in_runtime()?;
            // What this process has charged by may not be written yet.
            let mut methods = store.0.methods.hashes();
            methods.extend(store.ask_for_methods(redis::cmd("HKEYS"), &[], read_hashes).await?);
            let methods: Vec<u64> = methods.into_iter().collect();
            let mut forgotten = 0;
            for methods in methods.chunks(BATCH) {
                let mut cmd = redis::cmd("UNLINK");
                for method in methods {
                    let counter = key_of(&store.0.prefix, *method, client);
                    cmd.arg(&counter).arg(block_of(counter));
                }
                forgotten += store.ask_without_clock(client, &cmd, read_integer, store.end()).await?;
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

fn read_pairs(value: Value) -> Option<Vec<(String, String)>> {
    redis::from_redis_value(value).ok()
}
