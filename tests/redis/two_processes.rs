//! Processes that share one server share one limit.

use rate_limit::{Limiter, Rule};

use crate::common::{admits, ms, rule, store, strict};
use crate::process::{ANSWER, Process, URL};
use crate::support::RedisServer;

const TASKS: usize = 64;
const COUNT: u32 = 50;
const ROUNDS: usize = 100;

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
    let mut processes = [(); 2].map(|()| Process::start(&server, "two_processes::serves_as_a_second_process"));
    let mut both = 0;
    let mut rounds = Vec::new();
    for round in 0..ROUNDS {
        let client = format!("client-{round}");
        processes.iter_mut().for_each(|process| process.order(&client));
        let admitted = processes.each_mut().map(|process| process.answer() as usize);
        assert_eq!(admitted[0] + admitted[1], COUNT as usize, "round {round}: {admitted:?}");
        both += usize::from(admitted.iter().all(|admitted| *admitted > 0));
        rounds.push(admitted[0]);
    }
    println!("OPS-06: of {COUNT} the first process had {rounds:?}");
    // If one had always finished before the other began, nothing would have been shown.
    assert!(both >= ROUNDS / 4, "both had some in {both} rounds: {rounds:?}");
}
