//! A rolling deployment: instances of two refills on one row, all at once.

use std::time::Duration;

use rate_limit::{Charge, Client, Key, Limiter, Method, Policy, RejectionKind, Rule, Store as _, Verdict};
use rstest::rstest;

use crate::database::{Database, Kind, Pool, on_each};

const TASKS: u32 = 20;
const CALLS: u32 = 12;

/// Calls by this policy, from many tasks at once. Returns how many were admitted, and what failed.
async fn calls(pool: &Pool, key: Key, policy: Policy) -> (u32, Vec<String>) {
    let store = pool.store().deadline(Duration::from_secs(5)).build();
    let tasks: Vec<_> = (0..TASKS)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move {
                let (mut admitted, mut failed) = (0, Vec::new());
                for _ in 0..CALLS {
                    match store.acquire(&[Charge::new(key, policy, 1)]).await {
                        Ok(Verdict::Allowed { .. }) => admitted += 1,
                        Ok(_) => {}
                        Err(error) => failed.push(error.to_string()),
                    }
                }
                (admitted, failed)
            })
        })
        .collect();
    let (mut admitted, mut failed) = (0, Vec::new());
    for task in tasks {
        let (more, errors) = task.await.expect("no call panics");
        admitted += more;
        failed.extend(errors);
    }
    (admitted, failed)
}

#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f_01_instances_of_two_refills_admit_no_more_than_the_larger(#[case] kind: Kind) {
    let database = Database::with_table(kind).await;
    let pools = [database.pool(8).await, database.pool(8).await];
    let key = Key::new(Method::named("rolling"), Client::of(&1).expect("it names somebody"));
    let [old, new] =
        [(150, 3_600), (120, 7_200)].map(|(n, refill)| Policy::token_bucket(n, Duration::from_secs(refill)));
    let begun = std::time::Instant::now();
    let (old, new) = tokio::join!(calls(&pools[0], key, old), calls(&pools[1], key, new));
    println!(
        "{kind:?}: {} and {} in {:?}; {} failed",
        old.0,
        new.0,
        begun.elapsed(),
        old.1.len() + new.1.len()
    );
    assert_eq!([old.1, new.1].concat(), [""; 0], "{kind:?}");
    assert_eq!(old.0 + new.0, 150, "{kind:?}");
}

/// In transactions that read before they take, and of which each third is rolled back.
async fn within(pool: Pool, isolation: &'static str, policy: Policy, key: Key) -> (u32, u32, Vec<String>) {
    let limiter = Limiter::builder().store(pool.store().deadline(Duration::from_secs(2)).build());
    let limiter = limiter.build().expect("it is built");
    let tasks: Vec<_> = (0..6_u32)
        .map(|task| {
            let (pool, limiter) = (pool.clone(), limiter.clone());
            tokio::spawn(async move {
                let (mut committed, mut aborted, mut failed) = (0, 0, Vec::new());
                for call in 0..8 {
                    for _ in 0..200 {
                        let admitted = on_each!(&pool, |pool| {
                            let mut tx = pool.begin().await.expect("it begins");
                            if !isolation.is_empty() {
                                sqlx::query("SELECT count(*) FROM rate_limit_methods")
                                    .execute(&mut *tx)
                                    .await
                                    .expect("it reads");
                            }
                            let admitted = limiter.check_within(Rule::new(policy, key), &mut tx).await;
                            let kept = match &admitted {
                                Ok(_) if (task + call) % 3 == 0 => tx.rollback().await.map(|()| false),
                                Ok(_) => tx.commit().await.map(|()| true),
                                Err(_) => tx.rollback().await.map(|()| false),
                            };
                            match kept {
                                Ok(kept) => {
                                    committed += u32::from(kept);
                                    admitted.map(drop).map_err(|error| error.kind())
                                }
                                // A transaction that cannot be committed kept nothing.
                                Err(_) => Err(RejectionKind::Aborted),
                            }
                        });
                        match admitted {
                            Ok(()) | Err(RejectionKind::Limited) => break,
                            Err(RejectionKind::Aborted) => {
                                aborted += 1;
                                tokio::time::sleep(Duration::from_millis(u64::from(task))).await;
                            }
                            Err(kind) => {
                                failed.push(format!("{kind:?}"));
                                break;
                            }
                        }
                    }
                }
                (committed, aborted, failed)
            })
        })
        .collect();
    let (mut committed, mut aborted, mut failed) = (0, 0, Vec::new());
    for task in tasks {
        let (more, again, errors) = task.await.expect("no call panics");
        committed += more;
        aborted += again;
        failed.extend(errors);
    }
    (committed, aborted, failed)
}

#[rstest]
#[case(Kind::Postgres, "")]
#[case(
    Kind::Postgres,
    "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ"
)]
#[case(
    Kind::Postgres,
    "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE"
)]
#[case(Kind::MariaDb, "")]
#[case(Kind::MariaDb, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")]
#[case(Kind::MariaDb, "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE")]
#[case(Kind::Sqlite, "")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f_01_transactions_of_two_refills_keep_no_more_than_the_larger(
    #[case] kind: Kind,
    #[case] isolation: &'static str,
) {
    let database = Database::with_table(kind).await;
    let pools = [
        database.pool_that(8, isolation).await,
        database.pool_that(8, isolation).await,
    ];
    let key = Key::new(Method::named("rolling"), Client::of(&2).expect("it names somebody"));
    let [old, new] = [(30, 3_600), (24, 7_200)].map(|(n, refill)| Policy::token_bucket(n, Duration::from_secs(refill)));
    let [one, other] = pools;
    let begun = std::time::Instant::now();
    let (old, new) = tokio::join!(within(one, isolation, old, key), within(other, isolation, new, key));
    println!(
        "{kind:?} {isolation}: {} and {}, {} and {} aborted, in {:?}, {:?} {:?}",
        old.0,
        new.0,
        old.1,
        new.1,
        begun.elapsed(),
        old.2,
        new.2
    );
    assert_eq!([old.2, new.2].concat(), [""; 0], "{kind:?} {isolation}");
    let kept = old.0 + new.0;
    assert!((20..=30).contains(&kept), "{kind:?} {isolation}: {kept}");
}
