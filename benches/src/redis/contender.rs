//! Who decides, each over the same client.

use std::time::Duration;

use rate_limit::{Charge, Client, Key, Method, Policy, RedisStore, Store as _, Verdict};
use redis::Pipeline;

use super::peers::{ActixLimitation, Gcra, SortedSet};
use super::server::Server;
use super::traffic::{Cell, STEP};

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
        let mut value = vec![if cell.limit > 128 { b'r' } else { b'l' }];
        value.extend(number(now + lasts));
        value.extend(number(cell.window(client).as_micros() as u64));
        if cell.limit > 128 {
            for field in [cell.limit, 0, calls] {
                value.extend(field.to_le_bytes());
            }
        }
        value.extend(entries);
        if cell.limit > 128 {
            // As it is once the ring has turned.
            value.resize(27 + 7 * cell.limit as usize, 0);
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

impl Contender for SortedSet {
    const NAME: &'static str = "sorted set";

    async fn new(server: &mut Server, _: usize) -> Self {
        Self::over(server, INSTANCES).await
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
        self.ask(task, client, cell.limit, cell.window(client)).await
    }
}

impl Contender for Gcra {
    const NAME: &'static str = "GCRA";

    async fn new(server: &mut Server, _: usize) -> Self {
        Self::over(server, INSTANCES).await
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
        self.ask(task, client, STEP, burst).await
    }
}

impl Contender for ActixLimitation {
    const NAME: &'static str = "actix-limitation";
    /// What is in the transaction is part of `EXEC`.
    const COMMANDS: &'static [&'static str] = &["multi", "exec"];

    async fn new(server: &mut Server, _: usize) -> Self {
        Self::over(server, INSTANCES).await
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
        self.ask(task, client, cell.limit, cell.window(client)).await
    }
}
