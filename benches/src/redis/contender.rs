//! Who decides, each over the same client.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rate_limit::{Charge, Client, Key, Method, Policy, RedisStore, Store as _, Verdict};
use redis::{Pipeline, Value};

use super::lines::{Lines, Script};
use super::server::Server;
use super::traffic::{Cell, STEP};

pub const SORTED_SET: &str = include_str!("sorted_set.lua");
pub const GCRA: &str = include_str!("gcra.lua");
/// How many connections there are where nothing goes out together, as of so many processes.
const INSTANCES: usize = 8;

pub trait Contender: Sized + Send + Sync + 'static {
    const NAME: &'static str;
    /// What the server spends its time in for a decision.
    const COMMANDS: &'static [&'static str] = &["evalsha"];

    async fn new(server: &mut Server, clients: usize) -> Self;

    /// Adds to the pipeline what puts a client where the cell has him, at this time of the server.
    fn place(&self, server: &mut Server, pipeline: &mut Pipeline, cell: &Cell, client: usize, now: u64);

    /// Decides a call of the client, and tells whether it is admitted. Each task of the caller has a number.
    fn decide(&self, task: usize, client: usize, cell: &Cell) -> impl Future<Output = bool> + Send;
}

/// Ours, with a store for each of several processes, so that nothing goes out together, or one for all.
pub struct Ours<const STORES: usize> {
    stores: Vec<RedisStore>,
    /// Those of the clients.
    keys: Vec<String>,
}

pub type Apart = Ours<INSTANCES>;
pub type Together = Ours<1>;

pub fn key(client: usize) -> Key {
    let client = Client::of(&(client as u64)).expect("a number names somebody");
    Key::new(Method::named("call"), client)
}

/// A store that asks for each call.
pub async fn store(server: &Server) -> RedisStore {
    let store = RedisStore::builder(&server.url()).deny_cache(Duration::ZERO);
    let store = store.deadline(Duration::from_secs(10)).connect().await;
    store.expect("it takes us")
}

impl<const STORES: usize> Contender for Ours<STORES> {
    const NAME: &'static str = "ours";

    async fn new(server: &mut Server, clients: usize) -> Self {
        let mut stores = Vec::new();
        for _ in 0..STORES {
            stores.push(store(server).await);
        }
        // The names of keys are hashes: each client's is told from when it goes.
        for client in 0..clients {
            let policy = Policy::sliding_window(1, Duration::from_secs(3_600 * (1 + client as u64)));
            let answer = stores[0].acquire(&[Charge::new(key(client), policy, 1)]).await;
            answer.expect("it decides");
        }
        let mut keys = server.keys("rl1:*:{*}");
        keys.sort_by_cached_key(|key| server.ask::<u64>(redis::cmd("PTTL").arg(key)));
        assert_eq!(keys.len(), clients);
        Self { stores, keys }
    }

    fn place(&self, _: &mut Server, pipeline: &mut Pipeline, cell: &Cell, client: usize, now: u64) {
        let (key, calls) = (&self.keys[client], cell.calls(client));
        if calls == 0 {
            pipeline.del(key).ignore();
            return;
        }
        let lasts = u64::from(cell.limit) * STEP * 3 / 2;
        let entries = (1..=u64::from(calls)).rev().flat_map(|ago| number(now - ago * STEP));
        let mut value = vec![if cell.limit > 128 { b'R' } else { b'L' }];
        value.extend(number(now + lasts));
        if cell.limit > 128 {
            for field in [cell.limit, 0, calls] {
                value.extend(field.to_le_bytes());
            }
        }
        value.extend(entries);
        if cell.limit > 128 {
            // As it is once the ring has turned.
            value.resize(20 + 7 * cell.limit as usize, 0);
        }
        // Written in two parts, as a value of ours that has grown.
        let last = value.split_off(value.len() - 7);
        pipeline
            .cmd("SET")
            .arg(key)
            .arg(value)
            .arg("PX")
            .arg(lasts / 1_000)
            .ignore();
        pipeline.cmd("APPEND").arg(key).arg(last).ignore();
    }

    async fn decide(&self, task: usize, client: usize, cell: &Cell) -> bool {
        let policy = Policy::sliding_window(cell.limit, cell.window(client));
        let store = &self.stores[task % STORES];
        let verdict = store.acquire(&[Charge::new(key(client), policy, 1)]).await;
        matches!(verdict.expect("it decides"), Verdict::Allowed { .. })
    }
}

/// A time as it lies in the server.
fn number(time: u64) -> impl Iterator<Item = u8> {
    time.to_le_bytes().into_iter().take(7)
}

/// The student portal's script.
pub struct SortedSet {
    script: Script,
    /// A part of the ids, each as long as a UUID without hyphens.
    next: AtomicU64,
}

impl SortedSet {
    /// As long as ours.
    pub fn key(client: usize) -> String {
        format!("sorted:{client:033}")
    }

    fn id(&self) -> String {
        format!("{:032x}", self.next.fetch_add(0x9e37_79b9, Ordering::Relaxed))
    }
}

impl Contender for SortedSet {
    const NAME: &'static str = "sorted set";

    async fn new(server: &mut Server, _: usize) -> Self {
        Self {
            script: Script::new(server, SORTED_SET, INSTANCES).await,
            next: AtomicU64::new(1 << 60),
        }
    }

    fn place(&self, server: &mut Server, pipeline: &mut Pipeline, cell: &Cell, client: usize, now: u64) {
        let (key, calls) = (Self::key(client), cell.calls(client));
        let pattern = format!("pattern:{calls}");
        // The first of so many calls is what the others are copied from.
        if (0..client).all(|earlier| cell.calls(earlier) != calls) {
            let mut made = redis::pipe();
            made.del(&pattern).ignore();
            for ago in (1..=u64::from(calls)).rev() {
                made.zadd(&pattern, self.id(), now - ago * STEP).ignore();
            }
            made.pexpire(&pattern, i64::from(cell.limit) * (STEP / 500) as i64)
                .ignore();
            server.tell(&made);
        }
        if calls == 0 {
            pipeline.del(key).ignore();
        } else {
            pipeline.cmd("COPY").arg(&pattern).arg(key).arg("REPLACE").ignore();
        }
    }

    async fn decide(&self, task: usize, client: usize, cell: &Cell) -> bool {
        let window = cell.window(client).as_micros() as u64;
        let mut cmd = self.script.on(Self::key(client));
        cmd.arg(window).arg(cell.limit).arg(self.id()).arg(window / 1_000);
        match self.script.lines.ask(task, &cmd).await {
            Value::Int(counted) => counted > 0,
            other => panic!("{other:?}"),
        }
    }
}

/// A GCRA script.
pub struct Gcra(Script);

impl Gcra {
    fn key(client: usize) -> String {
        format!("gcra:{client:035}")
    }
}

impl Contender for Gcra {
    const NAME: &'static str = "GCRA";

    async fn new(server: &mut Server, _: usize) -> Self {
        Self(Script::new(server, GCRA, INSTANCES).await)
    }

    fn place(&self, _: &mut Server, pipeline: &mut Pipeline, cell: &Cell, client: usize, now: u64) {
        let (key, calls) = (Self::key(client), u64::from(cell.calls(client)));
        if calls == 0 {
            pipeline.del(key).ignore();
        } else {
            let arrival = now + calls * STEP;
            pipeline
                .cmd("SET")
                .arg(key)
                .arg(arrival)
                .arg("PX")
                .arg(calls * STEP / 1_000)
                .ignore();
        }
    }

    async fn decide(&self, task: usize, client: usize, cell: &Cell) -> bool {
        // It knows no window: a full bucket has room for one more where a window has slid.
        let slides = cell.calls(client) == cell.limit && cell.admits(client);
        let burst = u64::from(cell.limit + u32::from(slides)) * STEP;
        let mut cmd = self.0.on(Self::key(client));
        cmd.arg(STEP).arg(burst);
        match self.0.lines.ask(task, &cmd).await {
            Value::Array(fields) => fields[0] == Value::Int(1),
            other => panic!("{other:?}"),
        }
    }
}

/// The commands of actix-limitation 0.6, which opens a connection for them each time; here it has one. A counter, set up to go with the
/// window, that also counts what it refuses.
pub struct ActixLimitation(Lines);

impl ActixLimitation {
    fn key(client: usize) -> String {
        format!("actix:{client:034}")
    }
}

impl Contender for ActixLimitation {
    const NAME: &'static str = "actix-limitation";
    /// What is in the transaction is part of `EXEC`.
    const COMMANDS: &'static [&'static str] = &["multi", "exec"];

    async fn new(server: &mut Server, _: usize) -> Self {
        Self(Lines::to(server, INSTANCES).await)
    }

    fn place(&self, _: &mut Server, pipeline: &mut Pipeline, cell: &Cell, client: usize, _: u64) {
        let calls = cell.calls(client) - u32::from(cell.calls(client) == cell.limit && cell.admits(client));
        pipeline
            .cmd("SET")
            .arg(Self::key(client))
            .arg(calls)
            .arg("EX")
            .arg(3_600)
            .ignore();
    }

    async fn decide(&self, task: usize, client: usize, cell: &Cell) -> bool {
        let key = Self::key(client);
        let mut pipeline = redis::pipe();
        pipeline.atomic();
        pipeline
            .cmd("SET")
            .arg(&key)
            .arg(0)
            .arg("EX")
            .arg(cell.window(client).as_secs())
            .arg("NX")
            .ignore();
        pipeline.cmd("INCR").arg(&key).cmd("TTL").arg(&key);
        let mut line = self.0.of(task);
        let (count, _): (u32, u64) = pipeline.query_async(&mut line).await.expect("it answers");
        count <= cell.limit
    }
}
