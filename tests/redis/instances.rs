//! Instances of one service, when the server that they share fails and comes back.

use std::num::NonZeroU32;
use std::time::Duration;

use rate_limit::{Limiter, Policy, Rule};

use crate::common::{key, ms, store};
use crate::process::{ANSWER, Process, URL};
use crate::support::RedisServer;

const INSTANCES: u32 = 4;
const COUNT: u32 = 100;
const SHARE: u32 = COUNT / INSTANCES;

/// So long that no hit leaves the window while the test runs.
fn rule(client: &str) -> Rule {
    Rule::new(Policy::sliding_window(COUNT, Duration::from_secs(3_600)), key(client))
}

/// For each line on its input: so many calls for the client of that name. Without a number it waits until the server decides.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
#[ignore = "run by `ops_02_four_instances_stay_within_the_bound`"]
async fn serves_as_an_instance() {
    let Ok(url) = std::env::var(URL) else { return };
    let limiter = Limiter::builder().store(store(&url).await);
    let limiter = limiter.instances(NonZeroU32::new(INSTANCES).expect("at least one"));
    let limiter = limiter.build().expect("nothing is wrong with it");
    for line in std::io::stdin().lines() {
        let line = line.expect("the parent writes text");
        let (calls, client) = line.split_once(' ').expect("a number and a client");
        let mut admitted = 0;
        match calls.parse() {
            Ok(calls) => {
                for _ in 0..calls {
                    admitted += u32::from(limiter.check(rule(client)).await.is_ok());
                }
            }
            Err(_) => admitted = u32::from(recovers(&limiter).await),
        }
        println!("{ANSWER}{admitted}");
    }
}

async fn recovers(limiter: &Limiter) -> bool {
    for _ in 0..1_000 {
        if limiter.peek(rule("nobody")).await.is_ok() {
            return true;
        }
        tokio::time::sleep(ms(10)).await;
    }
    false
}

struct Service([Process; INSTANCES as usize]);

impl Service {
    /// How many of so many calls by each instance are admitted by each.
    fn admits(&mut self, client: &str, calls: [u32; INSTANCES as usize]) -> [u32; INSTANCES as usize] {
        for (process, calls) in self.0.iter_mut().zip(calls) {
            process.order(&format!("{calls} {client}"));
        }
        self.0.each_mut().map(Process::answer)
    }

    fn recovers(&mut self) {
        self.0.iter_mut().for_each(|process| process.order("until nobody"));
        assert_eq!(self.0.each_mut().map(Process::answer), [1; INSTANCES as usize]);
    }
}

#[test]
fn ops_02_four_instances_stay_within_the_bound() {
    let mut server = RedisServer::start();
    let start = |()| Process::start(&server, "instances::serves_as_an_instance");
    let mut service = Service([(); INSTANCES as usize].map(start));
    let all = [200; INSTANCES as usize];

    assert_eq!(service.admits("spread", [15; 4]), [15; 4], "60 are used");
    assert_eq!(service.admits("at one", [60, 0, 0, 0]), [60, 0, 0, 0]);
    assert_eq!(service.admits("full", [25, 75, 100, 100]).iter().sum::<u32>(), COUNT);
    server.stop();
    assert_eq!(
        service.admits("spread", all),
        [SHARE - 15; 4],
        "for {COUNT} in all: cold they would admit {COUNT} more"
    );
    assert_eq!(
        service.admits("at one", all),
        [0, SHARE, SHARE, SHARE],
        "n + (k - 1)·s at the most"
    );
    let anew = service.admits("full", all);
    assert!(anew.iter().sum::<u32>() <= (INSTANCES - 1) * SHARE, "{anew:?}");

    // It comes back empty.
    server.restart();
    service.recovers();
    for client in ["spread", "at one", "full"] {
        let anew = service.admits(client, all);
        assert_eq!(anew.iter().sum::<u32>(), COUNT, "{client}, n more: {anew:?}");
    }
    server.stop();
    for client in ["spread", "at one", "full"] {
        let anew = service.admits(client, all);
        assert!(
            anew.iter().sum::<u32>() <= (INSTANCES - 1) * SHARE,
            "{client}, again: {anew:?}"
        );
    }
}
