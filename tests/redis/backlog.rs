//! F-03: events that come long after they happened.

use rate_limit::{ManualClock, RedisStore, contract};

use crate::common::PATIENT;
use crate::support::RedisServer;

/// `BACKLOG=5000` members for more than `scripts/test` asks.
#[tokio::test]
async fn f_03_a_backlog_of_any_age_is_limited_as_it_would_have_been_in_time() {
    let members = std::env::var("BACKLOG").map_or(50, |members| members.parse().expect("a number"));
    let server = RedisServer::start();
    let clock = ManualClock::new();
    let store = RedisStore::builder(&server.url()).clock(&clock).deadline(PATIENT);
    let store = store.connect().await.expect("the server takes us");
    let counted = contract::check_backlog(&store, &clock, members, async || ()).await;
    println!("F-03 in Redis: {counted}");
    assert_eq!(counted, 5 * 3 * members as u64);
}
