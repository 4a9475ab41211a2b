//! What is admitted is kept, by whichever process, whatever else reads the file and whoever is killed.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rate_limit::{Client, Key, Limiter, Method, OnStoreError, Policy, Rule};
use rstest::rstest;
use tokio::time::{Instant, sleep};

use crate::database::{Database, Kind, Pool};

const CHILD: &str = "RATE_LIMIT_TEST_KEPT";
const PROCESSES: usize = 3;
const CLIENTS: u32 = 40;
const COUNT: u32 = 5;
/// How long a reader holds the file, and how long it leaves it alone.
const READS: Duration = Duration::from_millis(150);
const DELETE: &str = "PRAGMA journal_mode = DELETE";
const WAL: &str = "PRAGMA journal_mode = WAL";

fn rule(client: u32) -> Rule {
    let key = Key::new(Method::named("kept"), Client::of(&client).expect("somebody"));
    Rule::new(Policy::token_bucket(COUNT, Duration::from_secs(36_000)), key)
}

fn limiter(pool: &Pool, deadline: Duration) -> Limiter {
    let store = pool.store().deadline(deadline).build();
    let limiter = Limiter::builder().store(store).on_store_error(OnStoreError::Closed);
    limiter.build().expect("it is built")
}

/// A process that calls until it is told to end, and prints each client that it admitted.
fn process(url: &str, journal: &str) -> (Child, JoinHandle<Vec<u32>>) {
    let mut child = Command::new(std::env::current_exe().expect("it has a path"))
        .args([
            "--ignored",
            "--exact",
            "kept::calls_until_it_is_told_to_end",
            "--nocapture",
        ])
        .env(CHILD, format!("{journal} {url}"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it ran a moment ago");
    let printed = BufReader::new(child.stdout.take().expect("it is piped"));
    let admitted = thread::spawn(move || {
        let lines = printed.lines().map_while(Result::ok);
        lines
            .filter_map(|line| {
                line.rsplit_once("admitted ")
                    .and_then(|(_, client)| client.parse().ok())
            })
            .collect()
    });
    (child, admitted)
}

#[rstest]
#[case("DELETE")]
#[case("WAL")]
#[tokio::test]
async fn f_66_several_processes_of_which_one_is_killed_keep_what_they_admit(#[case] journal: &str) {
    let database = Database::with_table(Kind::Sqlite).await;
    let first = if journal == "WAL" { WAL } else { DELETE };
    let pool = database.pool_that(1, first).await;
    let limiter = limiter(&pool, Duration::from_secs(20));
    limiter.peek(rule(0)).await.expect("the journal is set");
    let Pool::Sqlite(readers) = database.pool_that(1, first).await else {
        unreachable!()
    };
    let mut processes: Vec<_> = (0..PROCESSES).map(|_| process(&database.url, journal)).collect();
    let start = Instant::now();
    let mut killed = false;
    while start.elapsed() < 14 * READS {
        let mut reader = readers.begin().await.expect("it begins");
        let read = sqlx::query("SELECT count(*) FROM rate_limit")
            .execute(&mut *reader)
            .await;
        sleep(READS).await;
        drop(reader);
        // In its default journal the file may be busy now, and the reader with it.
        if read.is_ok() && !killed && start.elapsed() > 7 * READS {
            processes[0].0.kill().expect("it is our child");
            killed = true;
        }
        sleep(READS / 2).await;
    }
    assert!(killed, "the file could be read");
    let mut admitted = HashMap::<u32, u32>::new();
    for (mut child, printed) in processes {
        drop(child.stdin.take());
        child.wait().expect("it is our child");
        for client in printed.join().expect("it prints text") {
            *admitted.entry(client).or_default() += 1;
        }
    }
    let total: u32 = admitted.values().sum();
    println!("F-66 {journal}: {total} of {} admitted", CLIENTS * COUNT);
    assert!(total > CLIENTS, "{total}");
    for (client, admitted) in admitted {
        assert!(admitted <= COUNT, "{admitted} of {COUNT}");
        let remaining = limiter.peek(rule(client)).await.expect("it tells").remaining;
        assert!(
            remaining <= COUNT - admitted,
            "{admitted} were admitted, and {remaining} are left"
        );
    }
}

#[tokio::test]
#[ignore = "run by `f_66_several_processes_of_which_one_is_killed_keep_what_they_admit`"]
async fn calls_until_it_is_told_to_end() {
    let Ok(told) = std::env::var(CHILD) else { return };
    let (journal, url) = told.split_once(' ').expect("both are told");
    let first = if journal == "WAL" { WAL } else { DELETE };
    let database = Database::at(Kind::Sqlite, url.to_owned());
    let limiter = limiter(&database.pool_that(2, first).await, Duration::from_millis(100));
    let end = thread::spawn(|| std::io::stdin().read_line(&mut String::new()));
    let (started, mut call) = (Instant::now(), 0);
    // Each client is used up in the course of the test.
    while !end.is_finished() && started.elapsed() < Duration::from_secs(60) {
        call += 1;
        let clients = (started.elapsed().as_millis() as u32 / 40).clamp(1, CLIENTS);
        let client = call % clients;
        if limiter.check(rule(client)).await.is_ok() {
            let mut out = std::io::stdout().lock();
            writeln!(out, "admitted {client}").expect("the parent reads");
            out.flush().expect("the parent reads");
        }
    }
}
