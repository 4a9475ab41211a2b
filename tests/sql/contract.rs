//! The contract of a store, for token buckets.

use std::time::Duration;

use rate_limit::{ManualClock, contract};
use rstest::rstest;

use crate::database::{Database, Kind};

#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
#[tokio::test]
async fn alg_01_a_sql_store_keeps_the_contract_of_token_buckets(#[case] kind: Kind) {
    let database = Database::with_table(kind).await;
    let clock = ManualClock::new();
    let store = database.pool(2).await.store().deadline(Duration::from_secs(5));
    contract::check_token_buckets(&store.clock(&clock).build(), &clock).await;
}
