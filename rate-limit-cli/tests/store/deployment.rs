//! A program that limits by a store, in a process of its own: its secret is read once a process.

use std::process::{Command, Stdio};
use std::time::Duration;

use rate_limit::{Client, Key, Limiter, Method, OnStoreError, Policy, RedisStore, Rule, SqlStore};
use sqlx::{MySqlPool, PgPool, SqlitePool};

use crate::command::SECRET;

/// What the child is told.
const URL: &str = "RATE_LIMIT_TEST_URL";
const SCENE: &str = "RATE_LIMIT_TEST_SCENE";

pub const MINUTES: Duration = Duration::from_secs(600);
pub const LOGIN: Policy = Policy::sliding_window(3, MINUTES);
pub const LARGE: Policy = Policy::sliding_window(10, MINUTES);
pub const READ: Policy = Policy::token_bucket(3, Duration::from_secs(500));
pub const EMAIL: &str = "alice@example.org";

/// Has the program make its calls, and returns when all that it writes is written.
pub fn call(url: &str, scene: &str) {
    let child = Command::new(std::env::current_exe().expect("it has a path"))
        .args(["--ignored", "--exact", "deployment::calls", "--nocapture"])
        .env(URL, url)
        .env(SCENE, scene)
        .env("RATE_LIMIT_SECRET", SECRET)
        .stdin(Stdio::null())
        .output();
    let child = child.expect("it ran a moment ago");
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
}

#[tokio::test]
#[ignore = "run by `call`"]
async fn calls() {
    let (Ok(url), Ok(scene)) = (std::env::var(URL), std::env::var(SCENE)) else {
        return;
    };
    if url.starts_with("redis") {
        let prefix = if scene == "prefixed" { "staging:" } else { "" };
        let store = RedisStore::builder(&url)
            .prefix(prefix)
            .deadline(Duration::from_secs(10));
        let store = store.connect().await.expect("it takes us");
        let functions = play(&limiter(store.clone()), &scene, true).await;
        for _ in 0..1_000 {
            let rules = store.rules().await.expect("the store answers");
            if rules.iter().filter(|rule| rule.policy.is_some()).count() == functions {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("the policies are not written");
    }
    let store = match url.split(':').next() {
        Some("postgres") => SqlStore::postgres(PgPool::connect(&url).await.expect("it connects")),
        Some("mysql") => SqlStore::mysql(MySqlPool::connect(&url).await.expect("it connects")),
        _ => SqlStore::sqlite(SqlitePool::connect(&url).await.expect("it opens")),
    };
    let store = store.deadline(Duration::from_secs(10)).build();
    store.create_table().await.expect("it is created");
    play(&limiter(store), &scene, false).await;
}

fn limiter(store: impl rate_limit::Store) -> Limiter {
    let limiter = Limiter::builder().store(store).on_store_error(OnStoreError::Closed);
    limiter.build().expect("nothing is wrong with it")
}

/// The calls of a scene. Tells by how many rules they are counted.
async fn play(limiter: &Limiter, scene: &str, windows: bool) -> usize {
    let email = Client::of(EMAIL).expect("somebody");
    let uuid = Client::of(&(uuid(), 7_u32)).expect("somebody");
    let call = async |name, policy, client, times: u32| {
        let rule = Rule::new(policy, Key::new(Method::named(name), client));
        for _ in 0..times {
            let _ = limiter.check(rule).await;
        }
    };
    match scene {
        "plans" => {
            for policy in [LOGIN, LARGE] {
                let key = Key::new(Method::named("portal::Plan::login"), email);
                let rule = Rule::new(policy, key).by_numbers();
                for _ in 0..4 {
                    let _ = limiter.check(rule).await;
                }
            }
            2
        }
        "many" => {
            for client in 0..700_u32 {
                let client = Client::of(&client).expect("somebody");
                call("portal::login", LOGIN, client, 1).await;
            }
            call("portal::login", LOGIN, email, 4).await;
            1
        }
        "blocked" => {
            call("portal::login", LOGIN.block(MINUTES * 3), email, 4).await;
            1
        }
        _ => {
            let login = if windows { LOGIN } else { READ };
            call("portal::login", login, email, 4).await;
            call("portal::login", login, uuid, 1).await;
            call("portal::read", READ, email, 2).await;
            2
        }
    }
}

/// As its bytes.
fn uuid() -> [u8; 16] {
    0x67e5_5044_10b1_426f_9247_bb68_0e5f_e0c8_u128.to_be_bytes()
}

pub const UUID: &str = "67e55044-10b1-426f-9247-bb680e5fe0c8";

/// As an attribute registers it: what SQL is told of the names of functions.
mod registered {
    use rate_limit::{Rejection, limit_per_time};

    #[allow(dead_code, reason = "it is registered")]
    #[limit_per_time(algorithm = token_bucket, capacity = 3, refill = "500s", key = client, name = "portal::login")]
    async fn login(client: &str) -> Result<(), Rejection> {
        let _ = client;
        Ok(())
    }

    #[allow(dead_code, reason = "it is registered")]
    #[limit_per_time(algorithm = token_bucket, capacity = 3, refill = "500s", key = client, name = "portal::read")]
    async fn read(client: &str) -> Result<(), Rejection> {
        let _ = client;
        Ok(())
    }
}
