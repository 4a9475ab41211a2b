//! Processes that share one server share one limit.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rate_limit::{Limiter, Rule};

use crate::common::{admits, ms, rule, store, strict};
use crate::support::RedisServer;

const URL: &str = "RATE_LIMIT_TEST_REDIS";
const TASKS: usize = 64;
const COUNT: u32 = 50;
const ROUNDS: usize = 100;
/// Before each line that is meant for the parent: the harness prints too.
const ANSWER: &str = "admitted ";

/// This binary, run again with nothing but [`serves_as_a_second_process`].
struct Process {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Process {
    fn start(server: &RedisServer) -> Self {
        let mut child = Command::new(std::env::current_exe().expect("it has a path"))
            .args([
                "--ignored",
                "--exact",
                "two_processes::serves_as_a_second_process",
                "--nocapture",
            ])
            .env(URL, server.url())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it ran a moment ago");
        Self {
            orders: child.stdin.take().expect("it is piped"),
            answers: BufReader::new(child.stdout.take().expect("it is piped")),
            child,
        }
    }

    fn order(&mut self, client: &str) {
        writeln!(self.orders, "{client}").expect("the process reads");
    }

    fn answer(&mut self) -> usize {
        let mut line = String::new();
        while self.answers.read_line(&mut line).expect("the process writes") > 0 {
            // What the harness prints without a line end stands before it.
            if let Some((_, number)) = line.split_once(ANSWER) {
                return number.trim().parse().expect("it is a number");
            }
            line.clear();
        }
        panic!("the process ended");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// For each line on its input: so many tasks with a call each, for the client of that name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "run by `ops_06_two_processes_share_one_limit`"]
async fn serves_as_a_second_process() {
    let Ok(url) = std::env::var(URL) else { return };
    let limiter = strict(store(&url).await);
    for client in std::io::stdin().lines() {
        let client = client.expect("the parent writes text");
        println!("{ANSWER}{}", admitted_of(&limiter, rule(COUNT, &client)).await);
    }
}

async fn admitted_of(limiter: &Limiter, rule: Rule) -> usize {
    let calls: Vec<_> = (0..TASKS as u64)
        .map(|task| {
            let limiter = limiter.clone();
            tokio::spawn(async move {
                // All at once would reach the server in one piece, and one process would have its turn alone.
                tokio::time::sleep(ms(task % 8)).await;
                admits(&limiter, rule).await
            })
        })
        .collect();
    let mut admitted = 0;
    for call in calls {
        admitted += usize::from(call.await.expect("no call panics"));
    }
    admitted
}

#[test]
fn ops_06_two_processes_share_one_limit() {
    let server = RedisServer::start();
    let mut processes = [Process::start(&server), Process::start(&server)];
    let mut both = 0;
    let mut rounds = Vec::new();
    for round in 0..ROUNDS {
        let client = format!("client-{round}");
        processes.iter_mut().for_each(|process| process.order(&client));
        let admitted = processes.each_mut().map(Process::answer);
        assert_eq!(admitted[0] + admitted[1], COUNT as usize, "round {round}: {admitted:?}");
        both += usize::from(admitted.iter().all(|admitted| *admitted > 0));
        rounds.push(admitted[0]);
    }
    println!("OPS-06: of {COUNT} the first process had {rounds:?}");
    // If one had always finished before the other began, nothing would have been shown.
    assert!(both >= ROUNDS / 4, "both had some in {both} rounds: {rounds:?}");
}
