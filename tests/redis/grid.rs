//! Every fault, under every mode, at every moment of a call: decided as declared, in time, and by the server again once it is back.

use std::time::{Duration, Instant};

use rate_limit::{BuildError, Limiter, OnStoreError, Permit, RedisStore, Rejection, RejectionKind};
use rstest::rstest;
use tokio::time::sleep;

use crate::common::{ms, rule};
use crate::probe::Probe;
use crate::stopwatch::{Stopwatch, Took};
use crate::support::{FaultProxy, RedisServer, Weather};

const DEADLINE: Duration = ms(100);
const SLACK: Duration = ms(20);
const RECOVERY: Duration = ms(250);
const MODES: [OnStoreError; 3] = [OnStoreError::Open, OnStoreError::Closed, OnStoreError::Local];
const MOMENTS: [Moment; 3] = [Moment::First, Moment::Warm, Moment::Reset];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Moment {
    /// The first call of a store that was built while the fault held.
    First,
    /// A call after others.
    Warm,
    /// The reset of a call that was admitted.
    Reset,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Trouble {
    Weather(Weather),
    Stopped,
    /// The scripts are gone: no trouble at all.
    NoScript,
    /// There is no memory for what is written.
    Oom,
    /// It is a replica.
    ReadOnly,
    /// Another program's value lies at the key.
    WrongType,
    /// It is a node of a cluster that has no slot.
    ClusterDown,
    NoPerm,
    /// It reads what it had before it was restarted.
    Loading,
    Killed,
}

struct Bench {
    server: RedisServer,
    proxy: FaultProxy,
    probe: Probe,
    trouble: Trouble,
}

impl Bench {
    async fn new(trouble: Trouble) -> Self {
        let server = match trouble {
            Trouble::ClusterDown => RedisServer::start_with(&["--cluster-enabled", "yes"]),
            Trouble::Loading => RedisServer::start_with(&["--enable-debug-command", "yes"]),
            _ => RedisServer::start(),
        };
        let probe = Probe::of(&server).await;
        let mut bench = Self {
            proxy: FaultProxy::start(server.port()).await,
            server,
            probe,
            trouble,
        };
        if trouble == Trouble::ClusterDown {
            bench.end().await;
        }
        bench
    }

    async fn begin(&mut self) {
        match self.trouble {
            Trouble::Weather(weather) => self.proxy.turn(weather).await,
            Trouble::Stopped => self.server.pause(),
            Trouble::Killed => self.server.stop(),
            Trouble::NoScript => drop(self.probe.ask::<String>("SCRIPT FLUSH").await),
            Trouble::Oom => drop(self.probe.ask::<String>("CONFIG SET maxmemory 1").await),
            Trouble::ReadOnly => drop(self.probe.ask::<String>("REPLICAOF 127.0.0.1 1").await),
            Trouble::WrongType => {
                for key in self.probe.keys().await {
                    self.probe.ask::<i64>(&format!("DEL {key}")).await;
                    self.probe.ask::<i64>(&format!("RPUSH {key} theirs")).await;
                }
            }
            Trouble::ClusterDown => drop(self.probe.ask::<String>("CLUSTER DELSLOTSRANGE 0 16383").await),
            Trouble::NoPerm => drop(self.probe.ask::<String>("ACL SETUSER default -evalsha").await),
            Trouble::Loading => {
                let keys: Vec<String> = (0..300).map(|n| format!("k{n} v")).collect();
                self.probe.ask::<String>(&format!("MSET {}", keys.join(" "))).await;
                // It answers that it loads, for as long as it takes.
                self.probe.ask::<String>("CONFIG SET key-load-delay 3000").await;
                self.probe
                    .ask::<String>("CONFIG SET loading-process-events-interval-bytes 1024")
                    .await;
                let url = self.server.url();
                tokio::spawn(async move {
                    let client = redis::Client::open(url).expect("it is a URL");
                    let mut connection = client.get_multiplexed_async_connection().await.expect("it answers");
                    redis::cmd("DEBUG").arg("RELOAD").exec_async(&mut connection).await
                });
                sleep(ms(50)).await;
            }
        }
    }

    /// The server is as it was. Returns when it can be asked.
    async fn end(&mut self) {
        match self.trouble {
            Trouble::Weather(_) => self.proxy.turn(Weather::Fair).await,
            Trouble::Stopped => self.server.resume(),
            Trouble::Killed => {
                self.server.restart();
                self.probe = Probe::of(&self.server).await;
            }
            Trouble::NoScript => {}
            Trouble::Oom => drop(self.probe.ask::<String>("CONFIG SET maxmemory 0").await),
            Trouble::ReadOnly => drop(self.probe.ask::<String>("REPLICAOF NO ONE").await),
            Trouble::WrongType => drop(self.probe.ask::<String>("FLUSHALL").await),
            Trouble::ClusterDown => {
                self.probe.ask::<String>("CLUSTER ADDSLOTSRANGE 0 16383").await;
                while !self
                    .probe
                    .ask::<String>("CLUSTER INFO")
                    .await
                    .contains("cluster_state:ok")
                {
                    sleep(ms(10)).await;
                }
            }
            Trouble::NoPerm => drop(self.probe.ask::<String>("ACL SETUSER default +evalsha").await),
            Trouble::Loading => {
                while self.probe.ask::<String>("INFO persistence").await.contains("loading:1") {
                    sleep(ms(2)).await;
                }
            }
        }
    }

    async fn limiter(&self, mode: OnStoreError) -> Result<Limiter, BuildError> {
        let store = RedisStore::builder(&self.proxy.url()).connect().await?;
        Limiter::builder().store(store).on_store_error(mode).build()
    }

    /// How long it takes until the server decides again.
    async fn recovers(&self, limiter: &Limiter) -> Duration {
        let start = Instant::now();
        while let Err(error) = limiter.peek(rule(1_000, "a")).await {
            assert!(
                start.elapsed() < Duration::from_secs(10),
                "it does not recover: {error}"
            );
            sleep(ms(2)).await;
        }
        start.elapsed()
    }
}

/// As the mode declares it, for a store that did not decide.
fn assert_declared(mode: OnStoreError, answer: &Result<Permit, Rejection>, what: &str) {
    match (mode, answer) {
        (OnStoreError::Open, Ok(permit)) => assert!(permit.decision().is_none(), "{what}: it is admitted unseen"),
        (OnStoreError::Local, Ok(permit)) => assert!(permit.decision().is_some(), "{what}: the fallback decides"),
        (OnStoreError::Closed, Err(refused)) => assert!(
            matches!(
                refused.kind(),
                RejectionKind::StoreUnavailable | RejectionKind::Misconfigured
            ),
            "{what}: {refused:?}"
        ),
        (_, answer) => panic!("{what}: {answer:?}"),
    }
}

/// What no waiting cures.
fn is_loud_at_the_start(trouble: Trouble) -> bool {
    matches!(trouble, Trouble::NoPerm | Trouble::Weather(Weather::Garbage))
}

/// What is deleted needs no memory.
fn can_reset(trouble: Trouble) -> bool {
    matches!(trouble, Trouble::NoScript | Trouble::Oom)
}

struct Cell {
    took: Took,
    recovered: Duration,
}

async fn cell(trouble: Trouble, mode: OnStoreError, moment: Moment) -> Option<Cell> {
    let what = format!("{trouble:?}, {mode:?}, {moment:?}");
    let mut bench = Bench::new(trouble).await;
    let call = rule(1_000, "a");
    let before = bench.limiter(mode).await.expect("all is well");
    let permit = before.check(call).await.expect("all is well");
    if moment == Moment::First {
        bench.begin().await;
    }
    let limiter = match bench.limiter(mode).await {
        Ok(limiter) => limiter,
        Err(_) if moment == Moment::First && is_loud_at_the_start(trouble) => {
            bench.end().await;
            return None;
        }
        Err(error) => panic!("{what}: {error}"),
    };
    let permit = match moment {
        Moment::First => permit,
        Moment::Warm | Moment::Reset => {
            let permit = limiter.check(call).await.expect("all is well");
            bench.begin().await;
            permit
        }
    };
    let stopwatch = Stopwatch::start();
    let took = if moment == Moment::Reset {
        let reset = permit.reset().await;
        let took = stopwatch.stop();
        assert_eq!(reset.is_ok(), can_reset(trouble), "{what}: {reset:?}");
        took
    } else {
        let answer = limiter.check(call).await;
        let took = stopwatch.stop();
        if trouble == Trouble::NoScript {
            let permit = answer.as_ref().expect("it is decided");
            let remaining = permit.decision().expect("by the server").remaining;
            assert_eq!(
                remaining,
                if moment == Moment::First { 998 } else { 997 },
                "{what}: charged once"
            );
        } else {
            assert_declared(mode, &answer, &what);
        }
        took
    };
    bench.end().await;
    let recovered = bench.recovers(&limiter).await;
    Some(Cell { took, recovered })
}

#[rstest]
#[case(Trouble::Weather(Weather::Refuse))]
#[case(Trouble::Weather(Weather::Silent))]
#[case(Trouble::Weather(Weather::Cut))]
#[case(Trouble::Weather(Weather::Garbage))]
#[case(Trouble::Weather(Weather::Trickle))]
#[case(Trouble::Weather(Weather::Paused))]
#[case(Trouble::Stopped)]
#[case(Trouble::NoScript)]
#[case(Trouble::Oom)]
#[case(Trouble::ReadOnly)]
#[case(Trouble::WrongType)]
#[case(Trouble::ClusterDown)]
#[case(Trouble::NoPerm)]
#[case(Trouble::Loading)]
#[case(Trouble::Killed)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ops_03_each_cell_is_decided_as_declared_and_in_time(#[case] trouble: Trouble) {
    let mut report = Vec::new();
    for mode in MODES {
        for moment in MOMENTS {
            // A node that is given its slots back takes seconds to believe it.
            if trouble == Trouble::ClusterDown && moment != Moment::Warm {
                continue;
            }
            // Others on the machine may hold up one of three.
            for attempt in 1.. {
                let Some(cell) = cell(trouble, mode, moment).await else {
                    break;
                };
                let in_time = cell.took.is_within(DEADLINE + SLACK) && cell.recovered <= RECOVERY;
                if in_time {
                    report.push(format!(
                        "{mode:?} {moment:?} {:.1?}, back {:.1?}",
                        cell.took, cell.recovered
                    ));
                    break;
                }
                let took = format!("{:.1?}, back {:.1?}", cell.took, cell.recovered);
                assert!(attempt < 3, "{trouble:?} {mode:?} {moment:?}: {took}");
            }
        }
    }
    println!("OPS-03 {trouble:?}: {}", report.join("; "));
}
