//! What `replay` says is what a limiter would have said.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use rate_limit::{Client, Key, Limiter, ManualClock, MemoryStore, Method, Policy, Rule};

use crate::command::{Logs, run};

/// Clients and times, in microseconds since the clock of a test begins. In the order of time, as a limiter hears of them.
fn events(count: usize) -> Vec<(u32, u64)> {
    let mut random = StdRng::seed_from_u64(20_231_117);
    let mut at = ManualClock::new().now();
    let event = |_| {
        at += match random.random_range(0..10) {
            0..4 => 0,
            4..9 => random.random_range(0..20_000),
            _ => random.random_range(0..2_000_000),
        };
        let client: u32 = random.random_range(0..500);
        (client.min(random.random_range(0..500)), at)
    };
    (0..count).map(event).collect()
}

/// What a limiter refuses, by a clock that goes through the events.
#[derive(Debug, Default, PartialEq)]
struct Refused {
    events: u64,
    clients: BTreeSet<u32>,
    by: BTreeMap<String, u64>,
    longest_wait: f64,
}

async fn refused_by_a_limiter(events: &[(u32, u64)], policies: &[Policy]) -> Refused {
    let clock = ManualClock::new();
    let store = MemoryStore::builder().capacity(1_000_000).clock(&clock).build();
    let limiter = Limiter::builder().store(store).build().expect("a limiter");
    let mut refused = Refused::default();
    for (client, at) in events {
        clock.advance(Duration::from_micros(at - clock.now()));
        let key = Key::new(
            Method::named("replayed"),
            Client::of(client).expect("it names somebody"),
        );
        let rules: Vec<Rule> = (0..)
            .zip(policies)
            .map(|(place, policy)| Rule::new(*policy, key).place(place))
            .collect();
        if let Err(rejection) = limiter.check_all(&rules).await {
            refused.events += 1;
            refused.clients.insert(*client);
            *refused.by.entry(rejection.policy().to_string()).or_default() += 1;
            let wait = rejection.retry_after().expect("none is impossible").as_secs_f64();
            refused.longest_wait = refused.longest_wait.max(wait);
        }
    }
    refused
}

/// 100,000 events, by every algorithm, with and without a block, and by several together.
#[tokio::test]
async fn a_replay_equals_the_library() {
    let events = events(100_000);
    let mut log = "client,time\n".to_owned();
    for (client, at) in &events {
        let _ = writeln!(log, "{client},{}.{:06}", at / 1_000_000, at % 1_000_000);
    }
    let logs = Logs::new();
    let log = logs.write("random.csv", log);
    let candidates = [
        "5 in 10m",
        "20 in 1h, then blocked for 10m",
        "3 and one more each 50s",
        "3 and one more each 50s, then blocked for 5m",
        "10 in each 5m",
        "10 in each 5m, then blocked for 7m",
        "3 in 30s + 12 and one more each 2m + 30 in each 1h",
    ];
    let options: Vec<&str> = candidates
        .iter()
        .flat_map(|candidate| ["--policy", *candidate])
        .chain(["--json"])
        .collect();
    let report = run("replay", &log, &options).json();
    for (candidate, told) in candidates.iter().zip(report["candidates"].as_array().expect("a list")) {
        let policies: Vec<Policy> = candidate
            .split(" + ")
            .map(|policy| policy.parse().expect("a policy"))
            .collect();
        let refused = refused_by_a_limiter(&events, &policies).await;
        assert!(
            (5_000..95_000).contains(&refused.events),
            "{candidate} tells little: {}",
            refused.events
        );
        assert_eq!(told["name"], *candidate);
        assert_eq!(told["events_refused"], refused.events, "{candidate}");
        assert_eq!(told["clients_refused"], refused.clients.len(), "{candidate}");
        assert_eq!(told["longest_wait_seconds"], refused.longest_wait, "{candidate}");
        for policy in told["policies"].as_array().expect("a list") {
            let name = policy["policy"].as_str().expect("text");
            assert_eq!(
                policy["events_refused"],
                refused.by.get(name).copied().unwrap_or(0),
                "{name} of {candidate}"
            );
        }
        let over_time = told["over_time"]["slots"].as_array().expect("a list").iter();
        let over_time: u64 = over_time
            .map(|slot| slot["events_refused"].as_u64().expect("a number"))
            .sum();
        assert_eq!(over_time, refused.events, "each in its slot");
    }
    // A neighbour is tried as it would be by its own name.
    let neighbour = &report["candidates"][0]["neighbours"][1];
    assert_eq!(neighbour["name"], "6 in 10m");
    let alone = run("replay", &log, &["--policy", "6 in 10m", "--json"]).json();
    assert_eq!(neighbour["events_refused"], alone["candidates"][0]["events_refused"]);
}

#[test]
fn a_known_log_is_refused_as_reckoned_by_hand() {
    let logs = Logs::new();
    let log = logs.write(
        "log.csv",
        "client,time\na,100\na,110\na,120\nb,120\na,130\na,160\nb,500\n",
    );
    let file = logs.write("policies.json", r#"{ "read": { "count": 2, "window": "1m" }, "login": { "capacity": 1, "refill": "5s" }, "login#2": { "count": 3, "window": "1d" } }"#);
    let plot = logs.path("plot.svg");
    let report = run(
        "replay",
        &log,
        &[
            "--policies",
            file.to_str().expect("UTF-8"),
            "--plot",
            plot.to_str().expect("UTF-8"),
            "--json",
        ],
    )
    .json();
    let of = |name: &str| {
        report["candidates"]
            .as_array()
            .expect("a list")
            .iter()
            .find(|one| one["name"] == name)
            .expect("it was tried")
            .clone()
    };
    let read = of("read");
    assert_eq!(
        (&read["events_refused"], &read["clients_refused"]),
        (&2.into(), &1.into())
    );
    assert_eq!(
        (&read["first_refused"], &read["last_refused"]),
        (&"1970-01-01T00:02:00Z".into(), &"1970-01-01T00:02:10Z".into())
    );
    assert_eq!(read["longest_wait_seconds"], 40.0);
    assert_eq!(read["heaviest_clients"][0]["client"], "a");
    // The first four are 10 s apart, and the fourth is one too many for the day.
    assert_eq!(of("login")["policies"][1]["events_refused"], 2);
    assert_eq!(of("login")["policies"][0]["events_refused"], 0);
    let plot = fs::read_to_string(plot).expect("it is drawn");
    assert!(
        plot.starts_with("<svg") && plot.contains("Events refused over time") && plot.contains("login"),
        "{plot}"
    );

    let only = run(
        "replay",
        &log,
        &["--policies", file.to_str().expect("UTF-8"), "--only", "read"],
    );
    assert!(only.out.contains("read") && !only.out.contains("login"), "{}", only.out);
    assert!(
        only.out.contains("most in the 5s from 1970-01-01T00:02:"),
        "{}",
        only.out
    );
}
