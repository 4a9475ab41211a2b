//! A database that does not answer is left alone until it does.

use std::time::Duration;

use metrics_util::debugging::{DebugValue, DebuggingRecorder};
use rate_limit::{Limiter, Store as _, StoreErrorKind};
use rstest::rstest;
use tokio::time::{Instant, sleep};

use crate::database::{Database, Kind, Pool, on_each};
use crate::faults::{charge, closed_within, rule};
use crate::support::{MariaDbServer, PostgresServer, Weather};
use crate::within::limiter as patient_limiter;

const DEADLINE: Duration = Duration::from_millis(200);
/// What a call takes at most that is not sent.
const AT_ONCE: Duration = Duration::from_millis(100);

/// A server of the test's own, which it may stop.
enum Server {
    Postgres(PostgresServer),
    MariaDb(MariaDbServer),
}

impl Server {
    async fn start(kind: Kind) -> (Self, Database) {
        let (server, url) = match kind {
            Kind::Postgres => {
                let server = PostgresServer::start();
                let url = server.fresh_database().await;
                (Self::Postgres(server), url)
            }
            _ => {
                let server = MariaDbServer::start();
                let url = server.fresh_database().await;
                (Self::MariaDb(server), url)
            }
        };
        (server, Database::at(kind, url))
    }

    fn pause(&self) {
        match self {
            Self::Postgres(server) => server.pause(),
            Self::MariaDb(server) => server.pause(),
        }
    }

    fn resume(&self) {
        match self {
            Self::Postgres(server) => server.resume(),
            Self::MariaDb(server) => server.resume(),
        }
    }
}

/// How long a call takes that the store does not decide.
async fn undecided(limiter: &Limiter, client: u32) -> Duration {
    let start = Instant::now();
    let refused = limiter.check(rule(client)).await.expect_err("nothing answers");
    assert!(!refused.is_limited(), "{refused}");
    start.elapsed()
}

async fn decides_again(limiter: &Limiter) {
    let end = Instant::now() + Duration::from_secs(10);
    while limiter.peek(rule(1)).await.is_err() {
        assert!(Instant::now() < end, "it decides again");
        sleep(Duration::from_millis(10)).await;
    }
}

#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[tokio::test]
async fn f_73_a_stopped_server_costs_its_deadline_once(#[case] kind: Kind) {
    let (server, database) = Server::start(kind).await;
    let pool = database.pool(5).await;
    let store = pool.store().deadline(DEADLINE).build();
    store.create_table().await.expect("it is created");
    let limiter = closed_within(&pool, DEADLINE);
    limiter.check(rule(1)).await.expect("the first");
    server.pause();
    let first = undecided(&limiter, 2).await;
    assert!(first >= DEADLINE / 2, "{first:?}");
    let mut later = Vec::new();
    for n in 0..50 {
        later.push(undecided(&limiter, 3 + n).await);
    }
    later.sort();
    println!(
        "F-73 in {kind:?}: first {first:?}, then {:?}, at most {:?}",
        later[25], later[49]
    );
    assert!(later[25] < AT_ONCE / 10 && later[49] < AT_ONCE, "{later:?}");
    let held = on_each!(&pool, |pool| pool.size() as usize - pool.num_idle());
    assert!(held <= 2, "{held} connections wait");
    server.resume();
    decides_again(&limiter).await;
    assert_eq!(
        limiter
            .check(rule(1))
            .await
            .expect("the second")
            .decision()
            .expect("decided")
            .remaining,
        1
    );
}

/// A relative: the first call of a process opens the connection, and a server that is closed refuses it.
#[rstest]
#[case(Kind::Postgres, Weather::Silent)]
#[case(Kind::Postgres, Weather::Refuse)]
#[case(Kind::MariaDb, Weather::Silent)]
#[case(Kind::MariaDb, Weather::Refuse)]
#[tokio::test]
async fn f_73_a_server_that_accepts_no_connection_costs_its_deadline_once(
    #[case] kind: Kind,
    #[case] weather: Weather,
) {
    let (proxy, database) = Database::behind_proxy(kind).await;
    database.create_table().await;
    let pool = database.lazy_pool(3);
    proxy.turn(weather).await;
    let limiter = closed_within(&pool, DEADLINE);
    undecided(&limiter, 1).await;
    for n in 0..5 {
        let took = undecided(&limiter, n).await;
        assert!(took < AT_ONCE, "call {n}: {took:?}");
    }
    proxy.turn(Weather::Fair).await;
    decides_again(&limiter).await;
}

#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[tokio::test]
async fn f_73_while_the_breaker_is_open_calls_say_so_and_tools_still_ask(#[case] kind: Kind) {
    let (server, database) = Server::start(kind).await;
    let pool = database.pool(5).await;
    let store = pool.store().deadline(DEADLINE).build();
    store.create_table().await.expect("it is created");
    server.pause();
    assert!(store.acquire(&[charge(1)]).await.is_err());
    let error = store.acquire(&[charge(1)]).await.expect_err("the breaker is open");
    assert_eq!(error.kind(), StoreErrorKind::Unavailable);
    assert!(error.to_string().contains("did not answer"), "{error}");
    let purge = tokio::spawn({
        let store = store.clone();
        async move { store.purge().await }
    });
    sleep(DEADLINE).await;
    assert!(!purge.is_finished(), "it waits for the server");
    server.resume();
    purge.await.expect("it ends").expect("the server goes on");
}

/// Nothing but a database without an answer opens it.
#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
#[tokio::test]
async fn f_73_a_pool_that_is_used_up_opens_no_breaker(#[case] kind: Kind) {
    let database = Database::with_table(kind).await;
    let pool = database.pool(1).await;
    let limiter = closed_within(&pool, DEADLINE);
    on_each!(&pool, |pool| {
        let taken = pool.acquire().await.expect("it is free");
        for n in 0..3 {
            let took = undecided(&limiter, n).await;
            assert!(took > DEADLINE / 2, "it waits for a connection: {took:?}");
        }
        drop(taken);
    });
    limiter.check(rule(1)).await.expect("at once");
}

#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[tokio::test]
async fn f_73_a_row_that_is_held_opens_no_breaker(#[case] kind: Kind) {
    let database = Database::with_table(kind).await;
    let pool = database.pool(4).await;
    let patient = patient_limiter(&pool);
    let limiter = closed_within(&pool, DEADLINE);
    on_each!(&pool, |pool| {
        let mut holder = pool.begin().await.expect("it begins");
        patient
            .check_within(rule(1), &mut holder)
            .await
            .expect("the first of three");
        for _ in 0..3 {
            undecided(&limiter, 1).await;
            limiter.check(rule(2)).await.expect("nobody holds this one");
        }
        holder.rollback().await.expect("it ends");
    });
}

/// The gauge of open breakers counts this one, and no longer once its store is gone.
#[test]
fn f_73_an_open_breaker_is_counted_until_its_store_is_dropped() {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    // A snapshot sets the gauge back.
    let opened = || {
        let found = snapshotter.snapshot().into_vec().into_iter();
        let mut found = found.filter(|(key, ..)| key.key().name() == "rate_limit_open_breakers");
        match found.next() {
            Some((_, _, _, DebugValue::Gauge(level))) => level.into_inner(),
            _ => 0.0,
        }
    };
    metrics::with_local_recorder(&recorder, || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("nothing hinders it").block_on(async {
            let (server, database) = Server::start(Kind::Postgres).await;
            let pool = database.pool(2).await;
            let store = pool.store().deadline(DEADLINE).build();
            store.create_table().await.expect("it is created");
            server.pause();
            assert!(store.acquire(&[charge(1)]).await.is_err());
            assert_eq!(opened(), 1.0);
            drop(store);
            assert_eq!(opened(), -1.0, "it is gone");
            server.resume();
            let Pool::Postgres(pool) = pool else { unreachable!() };
            pool.close().await;
        });
    });
}
