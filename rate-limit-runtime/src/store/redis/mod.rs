//! The store that all instances share: Redis, or what speaks its protocol.

mod across;
mod batch;
mod builder;
#[cfg(feature = "redis-cluster")]
mod cluster;
mod connect;
mod connection;
mod counters;
mod deny;
mod endpoint;
mod failure;
mod link;
mod methods;
mod parted;
mod script;
#[cfg(feature = "redis-sentinel")]
mod sentinel;
mod server;
mod state;
mod store_key;
mod target;
#[cfg(feature = "redis-tls")]
mod tls;
mod told;
#[cfg(feature = "redis-cluster")]
mod topology;
mod version;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use redis::{Cmd, Value};
use smallvec::smallvec;
use tokio::time::Instant;

use self::batch::{Answers, Batcher, Calls, Charges, Line, Undecided};
pub use self::builder::RedisStoreBuilder;
pub(super) use self::counters::Scan;
use self::deny::{Asked, Denials, Look};
use self::failure::{Failure, not_ours, store_error};
use self::methods::{Judged, Methods};
use self::script::{times, verdict, verdicts};
use self::server::Server;
use super::background::Background;
use super::{Change, Charge, Reply, Settlement, Store};
#[cfg(feature = "test-util")]
use crate::clock::ManualClock;
use crate::error::{StoreError, StoreErrorKind};
use crate::key::{Client, Key};
use crate::method::Method;
use crate::policy::{Algorithm, Policy};
use crate::verdict::Verdict;

/// Counters in Redis 6.2 or later, or in Valkey, shared by all instances that use it: on one server, on the primary that sentinels know, or
/// on a cluster.
///
/// Each decision is made in one script call by the server's own clock, and ends within a [deadline](RedisStoreBuilder::deadline). While
/// four calls are under way to one server, further ones wait until one of them returns or until they fill a script call, and go
/// out together. A key that was refused is refused again without asking, [for up to a second](RedisStoreBuilder::deny_cache). A server
/// that sends nothing until a deadline ends opens a breaker: no call is sent before it has answered one that asks in the background.
///
/// The store needs the Tokio runtime. It holds one connection to each server, and one or two to each sentinel, on the runtime of its
/// first call, or on a thread of its own once calls come from several runtimes. A connection that ends is made anew; the next call
/// waits for it and is decided by the server. Settlements go on when their caller is gone; [`drain`](crate::Limiter::drain) waits for them.
///
/// What is kept of a client is a hash and the times of its admitted calls, for at most two windows after the last. Beside the
/// counters lie the [names](Self::rules) of the functions and the policies that they are judged by.
///
/// Replicas follow a primary asynchronously: when one takes over, calls that were admitted just before may be forgotten, so a key may
/// admit its `count` once more for each failover. In a cluster the counters of a client lie in one slot. Rules of one call by different
/// clients are each reserved where they lie, and given back if one of them refuses; so are those of one client while its slot migrates and
/// they lie on two nodes.
#[derive(Clone)]
pub struct RedisStore(Arc<Inner>);

struct Inner {
    server: Server,
    background: Arc<Background>,
    prefix: String,
    deadline: Duration,
    /// Where the server is.
    name: String,
    methods: Methods,
    denials: Option<Arc<Denials>>,
    batcher: Arc<Batcher>,
    #[cfg(feature = "test-util")]
    clock: Option<ManualClock>,
}

impl RedisStore {
    /// A store to set up, at `url`:
    ///
    /// * `redis://user:password@host:6379/0`, or as redis-rs takes it; `redis+unix:///path?db=0` for a socket;
    /// * `redis-sentinel://user:password@host:26379,host:26379/service/0` for the primary of a service, with the feature `redis-sentinel`;
    ///   the credentials are those of the primary;
    /// * `redis-cluster://user:password@host:6379,host:6379` for a cluster, by one or more of its nodes, with the feature `redis-cluster`;
    /// * the same with `rediss` for TLS, with the feature `redis-tls`.
    pub fn builder(url: &str) -> RedisStoreBuilder {
        RedisStoreBuilder::new(url)
    }

    /// Notes the runtime of a caller, beside which the background tasks go on.
    fn enter(&self) -> Result<(), StoreError> {
        if self.0.background.enter("Redis")? {
            self.0.batcher.settle_in();
            self.0.server.move_in();
        }
        Ok(())
    }

    /// Calls a script on the keys of a client.
    fn ask<T: 'static>(&self, client: Client, cmd: Cmd, read: fn(Value) -> Option<T>) -> Reply<Result<T, StoreError>> {
        let store = self.clone();
        Reply::pending(async move {
            store.enter()?;
            let end = store.end();
            Ok(store.ask_until(client, cmd, read, end).await?)
        })
    }

    async fn ask_until<T>(
        &self,
        client: Client,
        cmd: Cmd,
        read: fn(Value) -> Option<T>,
        end: Instant,
    ) -> Result<T, Failure> {
        self.ask_without_clock(client, &self.with_time(cmd), read, end).await
    }

    async fn ask_without_clock<T>(
        &self,
        client: Client,
        cmd: &Cmd,
        read: fn(Value) -> Option<T>,
        end: Instant,
    ) -> Result<T, Failure> {
        let answer = self.0.server.ask(client, cmd, end).await?;
        read(answer).ok_or(Failure::NotOurs)
    }

    /// When a call that begins now is over.
    fn end(&self) -> Instant {
        Instant::now() + self.0.deadline
    }

    /// Decides a call: on one server together with others, if many are under way; on a cluster by the node or nodes that have its keys.
    /// `doubtful` says that one of the charges may be refused.
    async fn decide(&self, charges: Charges, doubtful: bool, end: Instant) -> Result<Verdict, Undecided> {
        if self.0.server.one().is_some() {
            return self.0.batcher.decide(charges, self.clone(), end).await;
        }
        let together = |one: &Charge, other: &Charge| self.0.server.together(one.key.client(), other.key.client());
        let groups = across::apart(&charges, together);
        let decided = match groups[..] {
            [_] => self.acquire_together(&charges, end).await,
            _ => self.acquire_apart(charges.clone(), groups, doubtful, end).await,
        };
        let decided = match decided {
            Err(error) if charges.len() > 1 && error.is_try_again() && Instant::now() < end => {
                let each = across::apart(&charges, |_, _| false);
                self.acquire_apart(charges, each, true, end).await
            }
            decided => decided,
        };
        Ok(decided.map_err(StoreError::from)?)
    }

    /// Decides charges in several slots, in a task that goes on when the caller is gone.
    async fn acquire_apart(
        &self,
        charges: Charges,
        groups: Vec<Vec<usize>>,
        doubtful: bool,
        end: Instant,
    ) -> Result<Verdict, Failure> {
        let decided = self.clone().acquire_across(charges, groups, doubtful, end);
        self.0.background.finish(decided).await.unwrap_or(Err(Failure::Cut))
    }

    /// Decides charges whose keys one call can have.
    async fn acquire_together(&self, charges: &[Charge], end: Instant) -> Result<Verdict, Failure> {
        let cmd = self.0.server.scripts().acquire(&self.0.prefix, charges);
        self.ask_until(charges[0].key.client(), cmd, read_verdict, end).await
    }

    /// Settles each slot by itself.
    async fn settle_until(&self, settlements: &[Settlement], end: Instant) -> Result<(), Failure> {
        let together =
            |one: &Settlement, other: &Settlement| self.0.server.together(one.key.client(), other.key.client());
        for group in across::apart(settlements, together) {
            let own: Vec<Settlement> = group.iter().map(|place| settlements[*place]).collect();
            self.settle_slot(&own, end).await?;
        }
        Ok(())
    }

    /// Settles, but for what is cleared, counters whose keys one call can have.
    async fn settle_together(&self, settlements: &[Settlement], end: Instant) -> Result<(), Failure> {
        let Some(settle) = self.0.server.scripts().settle(&self.0.prefix, settlements) else {
            return Ok(());
        };
        let client = settlements[0].key.client();
        self.ask_until(client, settle, read_nothing, end).await
    }

    /// Adds the time that the test has turned its clock to.
    #[cfg(feature = "test-util")]
    fn with_time(&self, mut cmd: Cmd) -> Cmd {
        if let Some(clock) = &self.0.clock {
            cmd.arg(clock.now());
        }
        cmd
    }

    #[cfg(not(feature = "test-util"))]
    fn with_time(&self, cmd: Cmd) -> Cmd {
        cmd
    }

    /// Asks the server its version, and reads a counter that nobody has.
    async fn trial(&self) -> Result<(), StoreError> {
        let client =
            Client::of("trial").map_err(|error| StoreError::new(StoreErrorKind::Misconfigured, error.to_string()))?;
        let policy = Policy::sliding_window(1, Policy::MIN_WINDOW);
        let mut info = redis::cmd("INFO");
        info.arg("server");
        // Its user need not be allowed to.
        if let Ok(Value::BulkString(info)) = self.0.server.ask(client, &info, self.end()).await {
            version::check(&String::from_utf8_lossy(&info))?;
        }
        let key = Key::new(Method::named("rate_limit::trial"), client);
        self.peek(Charge::new(key, policy, 1)).await.map(|_| ())
    }
}

impl Line for RedisStore {
    async fn send(&self, calls: Calls, end: Instant) -> Result<Answers, StoreError> {
        let scripts = self.0.server.scripts();
        let client = calls[0][0].key.client();
        if let [charges] = &calls[..] {
            return Ok(smallvec![Ok(self.acquire_together(charges, end).await?)]);
        }
        let cmd = scripts.acquire_many(&self.0.prefix, &calls);
        let answers = self.ask_until(client, cmd, read_bytes, end).await?;
        let answers = verdicts(&answers, &calls).ok_or_else(not_ours)?;
        let heard = |error| {
            if let Some(link) = self.0.server.one() {
                link.heard(&error);
            }
            store_error(error)
        };
        Ok(answers.into_iter().map(|answer| answer.map_err(heard)).collect())
    }

    fn background(&self) -> &Arc<Background> {
        &self.0.background
    }
}

impl Store for RedisStore {
    fn acquire(&self, charges: &[Charge]) -> Reply<Result<Verdict, StoreError>> {
        let denials = self.0.denials.as_ref();
        let asked = match denials.and_then(|denials| denials.look(charges, std::time::Instant::now())) {
            Some(Look::Refused(verdict)) => return Reply::ready(Ok(verdict)),
            Some(Look::Ask(asked)) => Some(asked),
            None => None,
        };
        let (store, own) = (self.clone(), Charges::from_slice(charges));
        let judged: Judged = charges
            .iter()
            .map(|charge| (charge.key.method(), charge.policy))
            .collect();
        let doubtful = asked.as_ref().is_none_or(Asked::is_doubtful);
        Reply::pending(async move {
            store.enter()?;
            let end = store.end();
            let answer = match store.decide(own, doubtful, end).await {
                Ok(verdict) => Ok(verdict),
                Err(Undecided::Asked(error)) => Err(error),
                // Nothing is known of the server.
                Err(undecided) => return Err(undecided.into()),
            };
            if let Some(asked) = asked {
                asked.answered(&answer, std::time::Instant::now());
            }
            if answer.is_ok() {
                store.note_methods(judged);
            }
            answer
        })
    }

    fn refuses(&self, charge: &Charge) -> Option<Verdict> {
        self.0.denials.as_ref()?.told(charge, std::time::Instant::now)
    }

    fn peek(&self, charge: Charge) -> Reply<Result<Verdict, StoreError>> {
        let cmd = self.0.server.scripts().peek(&self.0.prefix, &[charge]);
        self.ask(charge.key.client(), cmd, read_verdict)
    }

    fn inspect(&self, key: Key, policy: Policy) -> Reply<Result<Vec<u64>, StoreError>> {
        if policy.algorithm() != Algorithm::SlidingWindow {
            return Reply::ready(Ok(Vec::new()));
        }
        let cmd = self.0.server.scripts().inspect(&self.0.prefix, &key, policy);
        self.ask(key.client(), cmd, |value| match value {
            Value::BulkString(reply) => times(&reply),
            _ => None,
        })
    }

    fn settle(&self, settlements: &[Settlement]) -> Reply<Result<(), StoreError>> {
        if settlements
            .iter()
            .all(|settlement| matches!(settlement.change, Change::Refund { cost: 0, .. }))
        {
            return Reply::ready(Ok(()));
        }
        if let Err(error) = self.enter() {
            return Reply::ready(Err(error));
        }
        let denials = self.0.denials.as_ref();
        let changing = denials.map(|denials| denials.changing(settlements));
        let (store, settlements) = (self.clone(), settlements.to_vec());
        // It goes on when its caller is gone: the call that it settles has ended.
        let settled = self.0.background.finish(async move {
            let end = store.end();
            let settled = store.settle_until(&settlements, end).await;
            drop(changing);
            Ok(settled?)
        });
        Reply::pending(async move { settled.await? })
    }

    fn drain(&self) -> Reply<()> {
        let store = self.clone();
        Reply::pending(async move { store.0.background.drain().await })
    }

    fn forget(&self, client: Client) -> Reply<Result<u64, StoreError>> {
        let denials = self.0.denials.clone();
        self.forget_client(client).map(move |forgotten| {
            denials.inspect(|denials| denials.forget(client));
            forgotten
        })
    }
}

fn read_nothing(value: Value) -> Option<()> {
    matches!(value, Value::BulkString(reply) if reply.is_empty()).then_some(())
}

fn read_verdict(value: Value) -> Option<Verdict> {
    match value {
        Value::BulkString(reply) => verdict(&reply),
        _ => None,
    }
}

fn read_bytes(value: Value) -> Option<Vec<u8>> {
    match value {
        Value::BulkString(reply) => Some(reply),
        _ => None,
    }
}

/// Shows which server, and no credential.
impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore")
            .field("server", &self.0.name)
            .field("prefix", &self.0.prefix)
            .field("deadline", &self.0.deadline)
            .finish_non_exhaustive()
    }
}
