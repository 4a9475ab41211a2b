//! A client that is refused and knocks at full speed, beside how fast the same client of Redis can ask for a value.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rate_limit::{Client, Key, Limiter, Method, Policy, RedisStore, Rule};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use crate::measure::alternate;
use crate::redis::rate::{Caller, Get, per_second};
use crate::redis::server::Server;
use crate::row::{Row, Table, Unit};

const TASKS: usize = 64;
/// As often as a task lets others run.
const AT_ONCE: usize = 100;

pub fn run(brief: bool, table: &Table) {
    let (calls, refused, rounds) = if brief {
        (2_000, 64_000, 3)
    } else {
        (40_000, 3_200_000, 11)
    };
    let runtime = Runtime::new().expect("there are threads");
    let mut server = Server::redis();
    let get = Arc::new(runtime.block_on(Get::new(&mut server)));
    let limiter = runtime.block_on(limiter(&server));
    let medians = alternate(
        rounds,
        || runtime.block_on(refusals_per_second(&limiter, refused)),
        || per_second(&runtime, &get, calls),
    );
    let name = "attack, GET, refusals a second of one key, which is at hand, 64 tasks";
    table.add(&Row::new(name, Unit::Rate("1/s"), medians, rounds).goal(0.025));
}

fn rule() -> Rule {
    let client = Client::of("20230001").expect("it names somebody");
    let key = Key::new(Method::named("call"), client);
    Rule::new(Policy::sliding_window(1, Duration::from_secs(36_000)), key)
}

/// One that has admitted what it admits of the key.
async fn limiter(server: &Server) -> Limiter {
    let store = RedisStore::builder(&server.url()).deadline(Duration::from_secs(10));
    let limiter = Limiter::builder().store(store.connect().await.expect("it takes us"));
    let limiter = limiter.build().expect("it is set up");
    assert!(limiter.check(rule()).await.is_ok());
    limiter
}

async fn refusals_per_second(limiter: &Limiter, calls: usize) -> f64 {
    let start = Instant::now();
    let mut running = JoinSet::new();
    for _ in 0..TASKS {
        let limiter = limiter.clone();
        running.spawn(async move {
            let rule = rule();
            for _ in 0..calls / TASKS / AT_ONCE {
                for _ in 0..AT_ONCE {
                    assert!(limiter.check(rule).await.is_err());
                }
                tokio::task::yield_now().await;
            }
        });
    }
    running.join_all().await;
    calls as f64 / start.elapsed().as_secs_f64()
}
