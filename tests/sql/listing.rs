//! What tools see of a database: which rules there are, and how the counters stand.

use std::time::Duration;

use rate_limit::{
    Algorithm, Client, Key, Limiter, ManualClock, Method, Policies, Policy, Rejection, Rule, StoredCounter, StoredRule,
    limit_per_time,
};
use rstest::rstest;
use sqlx::Executor as _;

use crate::database::{Database, Kind, on_each};

const READS: Policy = Policy::token_bucket(3, Duration::from_secs(50));
const OTHERS: Policy = Policy::token_bucket(2, Duration::from_secs(50));

#[allow(dead_code, reason = "it is registered")]
#[limit_per_time(algorithm = token_bucket, capacity = 3, refill = "50s", key = member, name = "listing::own")]
async fn own(member: u64) -> Result<(), Rejection> {
    Ok(())
}

#[allow(dead_code, reason = "it is registered")]
#[limit_per_time(policy = "reads", key = member, name = "listing::configured")]
async fn configured(member: u64) -> Result<(), Rejection> {
    Ok(())
}

#[allow(dead_code, reason = "it is registered")]
#[limit_per_time(count = 5, window = "10m", key = member, name = "listing::no_bucket")]
async fn no_bucket(member: u64) -> Result<(), Rejection> {
    Ok(())
}

fn client(number: u32) -> Client {
    Client::of(&number).expect("somebody")
}

fn told(rules: &[StoredRule]) -> Vec<(&str, Option<Policy>)> {
    let of_here = rules.iter().filter(|rule| rule.function.starts_with("listing::"));
    of_here.map(|rule| (rule.function.as_str(), rule.policy)).collect()
}

#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
#[tokio::test]
async fn the_functions_of_the_program_are_written_down_with_their_policies(#[case] kind: Kind) {
    let database = Database::with_table(kind).await;
    let pool = database.pool(1).await;
    let store = pool.store().build();
    let rules = store.rules().await.expect("there is a table");
    assert_eq!(
        told(&rules),
        [("listing::configured", None), ("listing::own", Some(READS))]
    );
    let hash = StoredRule::new("listing::own", Algorithm::TokenBucket, 0);
    assert!(rules.iter().any(|rule| rule.id == hash.id && rule.place == 0));

    let policies = Policies::new().with("reads", OTHERS).with("listing::own", OTHERS);
    store.publish_methods(&policies).await.expect("it writes");
    let both = [("listing::configured", Some(OTHERS)), ("listing::own", Some(OTHERS))];
    assert_eq!(told(&store.rules().await.expect("there is a table")), both);
    store.create_table().await.expect("it is there");
    let own = [("listing::configured", Some(OTHERS)), ("listing::own", Some(READS))];
    assert_eq!(
        told(&store.rules().await.expect("there is a table")),
        own,
        "what is not known stays"
    );
}

#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
#[tokio::test]
async fn a_database_without_names_has_no_rules_and_one_without_tables_is_told(#[case] kind: Kind) {
    let database = Database::new(kind).await;
    let pool = database.pool(1).await;
    let store = pool.store().build();
    let error = store.rules().await.expect_err("there is no table");
    assert!(error.to_string().contains("no table `rate_limit`"), "{error}");
    store.create_table().await.expect("it is created");
    on_each!(&pool, |pool| drop(
        pool.execute("DROP TABLE rate_limit_methods")
            .await
            .expect("it is dropped")
    ));
    assert_eq!(store.rules().await.expect("the other is there"), []);
}

#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
#[tokio::test]
async fn every_row_is_told_as_a_call_would_find_it(#[case] kind: Kind) {
    const CLIENTS: u32 = 1_003;
    let database = Database::with_table(kind).await;
    let pool = database.pool(2).await;
    let clock = ManualClock::new();
    clock.advance(Duration::from_secs(1_753_000_000));
    let store = pool.store().clock(&clock).deadline(Duration::from_secs(20)).build();
    let limiter = Limiter::builder().store(store.clone()).build().expect("it is built");
    let rule = |number| Rule::new(READS, Key::new(Method::named("listing::own"), client(number)));
    for number in 0..CLIENTS {
        let _ = limiter.check(rule(number).cost(1 + number % 3)).await;
        clock.advance(Duration::from_millis(170));
    }
    let unknown = Rule::new(OTHERS, Key::new(Method::named("listing::unknown"), client(7)));
    limiter.check(unknown).await.expect("the bucket is full");

    let rules = store.rules().await.expect("there is a table");
    let mut counters = store.counters(&rules);
    let mut all: Vec<StoredCounter> = Vec::new();
    let mut pages = 0;
    while let Some(page) = counters.next_page().await.expect("it answers") {
        all.extend(page);
        pages += 1;
    }
    assert_eq!((all.len(), pages), (CLIENTS as usize + 1, 3));
    let (mut refused, mut whole) = (0, 0);
    for number in (0..CLIENTS).step_by(17).chain([7]) {
        let own = store.counters_of(client(number), &rules).await.expect("it answers");
        assert_eq!(own.len(), if number == 7 { 2 } else { 1 });
        assert!(own.iter().all(|counter| all.contains(counter)), "{own:?}");
        let decision = own
            .iter()
            .find_map(|counter| counter.decision)
            .expect("its policy is known");
        assert_eq!(decision, limiter.peek(rule(number)).await.expect("it answers"));
        refused += u32::from(!decision.allowed);
        whole += u32::from(decision.reset_after.is_zero());
        assert!(
            number != 7 || own.iter().any(|counter| counter.decision.is_none()),
            "of no known rule"
        );
    }
    assert!(refused > 0 && whole > 0, "{refused} refused, {whole} whole");
    assert_eq!(
        store.counters_of(client(CLIENTS), &rules).await.expect("it answers"),
        []
    );
}
