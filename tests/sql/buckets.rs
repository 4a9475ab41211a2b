//! What a bucket holds, to the microsecond.

use std::time::Duration;

use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use rate_limit::{Charge, Client, Key, ManualClock, MemoryStore, Method, Policy, SqlStore, Store as _, Verdict};
use rstest::rstest;

use crate::database::{Database, Kind, Pool};

const SECOND: u64 = 1_000_000;

fn key(client: u32) -> Key {
    Key::new(Method::named("buckets"), Client::of(&client).expect("somebody"))
}

fn bucket(capacity: u32, refill: u64) -> Policy {
    Policy::token_bucket(capacity, Duration::from_secs(refill))
}

fn store(pool: &Pool, clock: &ManualClock) -> SqlStore {
    pool.store().deadline(Duration::from_secs(5)).clock(clock).build()
}

/// A bucket in whole tokens of time, by addition alone.
struct Model {
    /// Microseconds of refilling that are there.
    filled: u64,
    at: u64,
}

impl Model {
    fn ask(&mut self, now: u64, capacity: u64, refill: u64) -> Result<u64, u64> {
        self.filled = (self.filled + now - self.at).min(capacity * refill);
        self.at = now;
        match self.filled.checked_sub(refill) {
            Some(filled) => {
                self.filled = filled;
                Ok(filled / refill)
            }
            None => Err(refill - self.filled),
        }
    }
}

/// Whole tokens beside the time of the last take lose or give away fractions: 836 of 902.
#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
#[tokio::test]
async fn of_10_000_asks_every_900_ms_902_are_admitted_each_as_a_model_says(#[case] kind: Kind) {
    let database = Database::with_table(kind).await;
    let clock = ManualClock::new();
    let store = store(&database.pool(1).await, &clock);
    let mut model = Model {
        filled: 3 * 10 * SECOND,
        at: clock.now(),
    };
    let mut admitted = 0;
    for ask in 0..10_000 {
        let verdict = store
            .acquire(&[Charge::new(key(1), bucket(3, 10), 1)])
            .await
            .expect("it decides");
        let told = match verdict {
            Verdict::Allowed { remaining, .. } => Ok(remaining.into()),
            Verdict::Denied { retry_after, .. } => Err(retry_after),
            verdict => panic!("{verdict:?}"),
        };
        assert_eq!(told, model.ask(clock.now(), 3, 10 * SECOND), "ask {ask}");
        admitted += u32::from(told.is_ok());
        clock.advance(Duration::from_millis(900));
    }
    assert_eq!(admitted, 902);
}

/// Who reads "5 in 10 minutes" as a window finds more than 5 in one: up to 5 and one for each refill.
#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
#[tokio::test]
async fn alg_06_a_bucket_admits_its_capacity_and_each_refill_in_ten_minutes(#[case] kind: Kind) {
    let database = Database::with_table(kind).await;
    let clock = ManualClock::new();
    let store = store(&database.pool(1).await, &clock);
    let mut admitted = 0;
    for _ in 0..600 {
        let verdict = store.acquire(&[Charge::new(key(1), bucket(5, 120), 1)]).await;
        admitted += u32::from(matches!(verdict, Ok(Verdict::Allowed { .. })));
        clock.advance(Duration::from_secs(1));
    }
    // The tenth would be there at the end of the ten minutes.
    assert_eq!(admitted, 9);
}

/// One thing to do to three clients, each of which goes by the policy that it was last told.
#[derive(Clone, Debug)]
enum Step {
    Advance(u64),
    /// Every client asks then: a clock that stepped back shortens what is missing by when it is asked.
    TurnBack(u64),
    /// The client asks by another policy: what is missing is converted by when it is asked.
    Change(u32, Policy),
    Ask {
        client: u32,
        cost: u32,
        at: Option<i64>,
    },
    AskTwo([u32; 2]),
    Peek(u32),
}

/// Any numbers there may be: also such as are above what an integer holds when multiplied.
fn policies() -> impl Strategy<Value = Policy> {
    let refill = prop_oneof![
        Just(50 * SECOND),
        Just(25 * SECOND),
        Just(1),
        Just(333_333),
        1..3_000_000 * SECOND
    ];
    (prop_oneof![3..12_u32, Just(1_000_u32)], refill)
        .prop_map(|(capacity, refill)| Policy::token_bucket(capacity, Duration::from_micros(refill)))
}

fn steps() -> impl Strategy<Value = Step> {
    let time = prop_oneof![0..2_000_000_u64, 0..200 * SECOND, Just(0), 0..4_000_000 * SECOND];
    let at = -100 * SECOND as i64..100 * SECOND as i64;
    prop_oneof![
        4 => time.prop_map(Step::Advance),
        1 => (0..100 * SECOND).prop_map(Step::TurnBack),
        1 => (0..3_u32, policies()).prop_map(|(client, policy)| Step::Change(client, policy)),
        8 => (0..3_u32, 0..4_u32, any::<bool>(), at).prop_map(|(client, cost, timed, at)| Step::Ask {
            client,
            cost,
            at: timed.then_some(at),
        }),
        2 => [0..4_u32, 0..4_u32].prop_map(Step::AskTwo),
        2 => (0..3_u32).prop_map(Step::Peek),
    ]
}

/// But for the ids of the hits, which are each store's own.
fn without_hits(verdict: Verdict) -> Verdict {
    let Verdict::Allowed { .. } = &verdict else {
        return verdict;
    };
    let mut verdict = verdict;
    if let Verdict::Allowed { hits, .. } = &mut verdict {
        hits.clear();
    }
    verdict
}

/// Random histories of three clients, with changing numbers, against the store in memory by the same clock.
#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
#[tokio::test]
async fn random_histories_are_decided_as_in_memory(#[case] kind: Kind) {
    let database = Database::with_table(kind).await;
    let clock = ManualClock::new();
    clock.advance(Duration::from_secs(1_000_000_000));
    let (sql, memory) = (
        store(&database.pool(1).await, &clock),
        MemoryStore::builder().clock(&clock).build(),
    );
    let mut runner = TestRunner::deterministic();
    let mut of = [bucket(3, 50); 3];
    for n in 0..5_000 {
        let step = steps().new_tree(&mut runner).expect("a step").current();
        let charge = |client: u32, cost| Charge::new(key(client), of[client as usize], cost);
        let asks = match step {
            Step::Advance(time) => {
                clock.advance(Duration::from_micros(time));
                continue;
            }
            Step::TurnBack(time) => {
                clock.step_back(Duration::from_micros(time));
                (0..3).map(|client| vec![charge(client, 1)]).collect()
            }
            Step::Change(client, policy) => {
                of[client as usize] = policy;
                vec![vec![Charge::new(key(client), policy, 1)]]
            }
            Step::Ask { client, cost, at } => {
                let at = at.map(|at| clock.now().saturating_add_signed(at));
                let mut charge = charge(client, cost);
                charge.at = at;
                vec![vec![charge]]
            }
            Step::AskTwo(costs) => vec![vec![charge(0, costs[0]), charge(1, costs[1])]],
            Step::Peek(client) => {
                let charge = charge(client, 1);
                let (ours, model) = (sql.peek(charge).await, memory.peek(charge).await);
                let (ours, model) = (ours.expect("it tells"), model.expect("it tells"));
                assert_eq!(without_hits(ours), without_hits(model), "step {n}: {step:?} of {of:?}");
                continue;
            }
        };
        for charges in asks {
            let (ours, model) = (sql.acquire(&charges).await, memory.acquire(&charges).await);
            let ours =
                ours.unwrap_or_else(|error| panic!("step {n}: {step:?} of {of:?}: {error}, and in memory {model:?}"));
            let model = model.expect("it decides");
            assert_eq!(without_hits(ours), without_hits(model), "step {n}: {step:?} of {of:?}");
        }
    }
}
