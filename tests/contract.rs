//! The contract of a store, kept by both of ours.

#[path = "support/mod.rs"]
mod support;

use rate_limit::{ManualClock, MemoryStore, RedisStore, contract};

use crate::support::RedisServer;

#[tokio::test]
async fn alg_01_the_embedded_store_keeps_the_contract() {
    let clock = ManualClock::new();
    contract::check(&MemoryStore::builder().clock(&clock).build(), &clock).await;
}

#[tokio::test]
async fn alg_13_the_redis_store_keeps_the_contract() {
    let server = RedisServer::start();
    let clock = ManualClock::new();
    let store = RedisStore::builder(&server.url()).clock(&clock).connect().await;
    contract::check(&store.expect("the server accepts us"), &clock).await;
}
