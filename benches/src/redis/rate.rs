//! How many decisions a second 64 tasks have over one connection.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rate_limit::{Client, Key, Limiter, Method, Policy, RedisStore, Rule};
use redis::Value;
use redis::aio::ConnectionManager;
use tokio::runtime::Runtime;
use trypema::redis::{RedisKey, RedisRateLimiterProvider};
use trypema::{RateLimit, RateLimitDecision, RateLimiterBuilder as _, WindowSize};

use super::cost::drive;
use super::lines::{Lines, Script};
use super::peers::{ActixLimitation, Gcra, SortedSet};
use super::server::Server;

const TASKS: usize = 64;
const CLIENTS: usize = 10_000;
/// Calls leave the window while they are measured, and none is refused below half a million a second.
const LIMIT: u32 = 100;
const WINDOW: Duration = Duration::from_secs(2);

/// Makes one call of some client.
pub trait Caller: Send + Sync + Sized + 'static {
    const NAME: &'static str;

    async fn new(server: &mut Server) -> Self;

    fn call(&self, client: usize) -> impl Future<Output = bool> + Send;
}

/// Calls a second, when as many are made.
pub fn per_second<C: Caller>(runtime: &Runtime, caller: &Arc<C>, calls: usize) -> f64 {
    let start = Instant::now();
    let done = runtime.block_on(drive(TASKS, calls, caller, |caller, _, number| {
        let caller = Arc::clone(caller);
        // Spread over all clients, in another order than they were made.
        async move { caller.call(number.wrapping_mul(7_919) % CLIENTS).await }
    }));
    assert!(done * 10 >= calls * 9, "{} admits {done} of {calls}", C::NAME);
    calls as f64 / start.elapsed().as_secs_f64()
}

/// As users have it, with a deadline that a busy machine keeps.
pub struct Ours {
    limiter: Limiter,
    /// Found once, as in an annotated function.
    method: Method,
}

impl Caller for Ours {
    const NAME: &'static str = "ours";

    async fn new(server: &mut Server) -> Self {
        let store = RedisStore::builder(&server.url()).deadline(Duration::from_secs(10));
        let limiter = Limiter::builder().store(store.connect().await.expect("it takes us"));
        Self {
            limiter: limiter.build().expect("it is set up"),
            method: Method::named("call"),
        }
    }

    async fn call(&self, client: usize) -> bool {
        let client = Client::of(&(client as u64)).expect("a number names somebody");
        let rule = Rule::new(Policy::sliding_window(LIMIT, WINDOW), Key::new(self.method, client));
        self.limiter.check(rule).await.is_ok()
    }
}

/// What no client of one connection does more often: reads a value as long as a key of ours with five calls.
pub struct Get(Lines);

impl Caller for Get {
    const NAME: &'static str = "GET";

    async fn new(server: &mut Server) -> Self {
        let mut pipeline = redis::pipe();
        for client in 0..CLIENTS {
            pipeline.set(format!("get:{client:036}"), "x".repeat(43)).ignore();
        }
        server.tell(&pipeline);
        Self(Lines::to(server, 1).await)
    }

    async fn call(&self, client: usize) -> bool {
        let mut cmd = redis::cmd("GET");
        cmd.arg(format!("get:{client:036}"));
        matches!(self.0.ask(0, &cmd).await, Value::BulkString(_))
    }
}

pub struct EmptyScript(Script);

impl Caller for EmptyScript {
    const NAME: &'static str = "empty script";

    async fn new(server: &mut Server) -> Self {
        Self(Script::new(server, "return 1", 1).await)
    }

    async fn call(&self, client: usize) -> bool {
        let cmd = self.0.on(format!("empty:{client:034}"));
        self.0.lines.ask(0, &cmd).await == Value::Int(1)
    }
}

impl Caller for SortedSet {
    const NAME: &'static str = "sorted set";

    async fn new(server: &mut Server) -> Self {
        Self::over(server, 1).await
    }

    async fn call(&self, client: usize) -> bool {
        self.ask(0, client, LIMIT, WINDOW).await
    }
}

impl Caller for Gcra {
    const NAME: &'static str = "GCRA";

    async fn new(server: &mut Server) -> Self {
        Self::over(server, 1).await
    }

    async fn call(&self, client: usize) -> bool {
        let window = WINDOW.as_micros() as u64;
        self.ask(0, client, window / u64::from(LIMIT), window).await
    }
}

impl Caller for ActixLimitation {
    const NAME: &'static str = "actix-limitation's commands";

    async fn new(server: &mut Server) -> Self {
        Self::over(server, 1).await
    }

    async fn call(&self, client: usize) -> bool {
        self.ask(0, client, LIMIT, WINDOW).await
    }
}

pub struct Trypema {
    provider: Arc<RedisRateLimiterProvider>,
    rate: RateLimit,
    keys: Vec<RedisKey>,
}

impl Caller for Trypema {
    const NAME: &'static str = "trypema's Redis provider";

    async fn new(server: &mut Server) -> Self {
        let client = redis::Client::open(server.url()).expect("the URL is ours");
        let manager = ConnectionManager::new(client).await.expect("it takes us");
        let window = WindowSize::seconds(WINDOW.as_secs()).expect("it is a window");
        let provider = RedisRateLimiterProvider::builder(manager).window_size(window);
        let rate = RateLimit::per_second(f64::from(LIMIT) / WINDOW.as_secs_f64());
        let key = |client| RedisKey::new(format!("client{client:034}")).expect("it is a key");
        Self {
            provider: provider.build().expect("it is set up"),
            rate: rate.expect("it is a rate"),
            keys: (0..CLIENTS).map(key).collect(),
        }
    }

    async fn call(&self, client: usize) -> bool {
        let decision = self.provider.absolute().inc(&self.keys[client], &self.rate, 1).await;
        matches!(decision.expect("it decides"), RateLimitDecision::Allowed)
    }
}
