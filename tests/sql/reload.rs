//! Numbers that change while buckets are in use.

use std::time::Duration;

use rate_limit::{Limiter, ManualClock, Policies, Policy, Rejection, SqlConnection, limit_per_time};
use rstest::rstest;

use crate::database::{Database, Kind, Pool, on_each};

#[limit_per_time(policy = "reads", key = member, name = "sql-reload", limiter = limiter)]
async fn read(limiter: &Limiter, member: u32) -> Result<(), Rejection> {
    Ok(())
}

#[limit_per_time(policy = "reads", key = member, name = "sql-reload", within = tx, limiter = limiter)]
async fn read_within<C: SqlConnection>(tx: &mut C, limiter: &Limiter, member: u32) -> Result<(), Rejection> {
    Ok(())
}

fn numbers(capacity: u32, refill: u64) -> Policies {
    Policies::new().with("reads", Policy::token_bucket(capacity, Duration::from_secs(refill)))
}

fn limiter(pool: &Pool, clock: &ManualClock, policies: Policies) -> Limiter {
    let store = pool.store().deadline(Duration::from_secs(5)).clock(clock).build();
    Limiter::builder()
        .store(store)
        .policies(policies)
        .build()
        .expect("it is built")
}

/// On connections of the store, or in a transaction that is rolled back where the call is refused.
#[derive(Clone, Copy, Debug)]
enum On {
    Store,
    Transaction,
}

async fn ask(on: On, pool: &Pool, limiter: &Limiter, member: u32) -> Result<(), u64> {
    let asked = match on {
        On::Store => read(limiter, member).await,
        On::Transaction => on_each!(pool, |pool| {
            let mut tx = pool.begin().await.expect("it begins");
            let asked = read_within(&mut tx, limiter, member).await;
            match asked {
                Ok(()) => tx.commit().await.expect("it commits"),
                Err(_) => tx.rollback().await.expect("it rolls back"),
            }
            asked
        }),
    };
    asked.map_err(|refused| refused.retry_after().expect("it is limited").as_secs())
}

async fn spend(on: On, pool: &Pool, limiter: &Limiter, member: u32, tokens: u32) {
    for token in 0..tokens {
        assert_eq!(ask(on, pool, limiter, member).await, Ok(()), "token {token}");
    }
}

/// How many are left, all of them taken.
async fn drain(on: On, pool: &Pool, limiter: &Limiter, member: u32) -> u32 {
    let mut left = 0;
    while ask(on, pool, limiter, member).await.is_ok() {
        left += 1;
    }
    left
}

#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
#[tokio::test]
async fn alg_06_changed_numbers_keep_the_tokens_that_are_missing(
    #[case] kind: Kind,
    #[values(On::Store, On::Transaction)] on: On,
) -> Result<(), Box<dyn std::error::Error>> {
    let database = Database::with_table(kind).await;
    let (pool, clock) = (database.pool(2).await, ManualClock::new());
    let limiter = limiter(&pool, &clock, numbers(3, 50));

    // 50 to 25 s on an empty bucket: 25 s, and no earlier.
    spend(on, &pool, &limiter, 1, 3).await;
    limiter.set_policies(numbers(3, 25))?;
    assert_eq!(ask(on, &pool, &limiter, 1).await, Err(25));
    clock.advance(Duration::from_secs(24));
    assert_eq!(ask(on, &pool, &limiter, 1).await, Err(1));
    clock.advance(Duration::from_secs(1));
    assert_eq!(ask(on, &pool, &limiter, 1).await, Ok(()));

    // 25 to 50 s: what is missing comes back at the faster of the two.
    limiter.set_policies(numbers(3, 25))?;
    spend(on, &pool, &limiter, 2, 3).await;
    limiter.set_policies(numbers(3, 50))?;
    assert_eq!(ask(on, &pool, &limiter, 2).await, Err(25));

    // 3 to 10 with none left.
    limiter.set_policies(numbers(3, 50))?;
    spend(on, &pool, &limiter, 3, 3).await;
    limiter.set_policies(numbers(10, 50))?;
    assert_eq!(drain(on, &pool, &limiter, 3).await, 7);

    // 10 to 3 with 8 spent, and back.
    spend(on, &pool, &limiter, 4, 8).await;
    limiter.set_policies(numbers(3, 50))?;
    assert_eq!(ask(on, &pool, &limiter, 4).await, Err(50));
    limiter.set_policies(numbers(10, 50))?;
    assert_eq!(drain(on, &pool, &limiter, 4).await, 2);
    Ok(())
}

/// With each flip what is missing is rounded against the client.
#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
#[tokio::test]
async fn flipping_between_two_configurations_gains_no_token(
    #[case] kind: Kind,
    #[values(On::Store, On::Transaction)] on: On,
) -> Result<(), Box<dyn std::error::Error>> {
    let database = Database::with_table(kind).await;
    let (pool, clock) = (database.pool(2).await, ManualClock::new());
    let files = [numbers(3, 7), numbers(3, 3)];
    let limiter = limiter(&pool, &clock, files[0].clone());
    spend(on, &pool, &limiter, 1, 3).await;
    let mut gained = 0;
    for flip in 0..500 {
        limiter.set_policies(files[flip % 2].clone())?;
        gained += u32::from(ask(on, &pool, &limiter, 1).await.is_ok());
    }
    assert_eq!(gained, 0, "no time has passed");
    // The faster of the two gives one each 3 s.
    for flip in 0..300 {
        limiter.set_policies(files[flip % 2].clone())?;
        clock.advance(Duration::from_millis(100));
        gained += u32::from(ask(on, &pool, &limiter, 1).await.is_ok());
    }
    assert!((3..=10).contains(&gained), "{gained} in 30 s");
    Ok(())
}
