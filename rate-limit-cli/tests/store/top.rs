//! Many counters, and those that are shown again and again.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use crate::command::{json, rate_limit};
use crate::deployment::call;
use crate::support::RedisServer;

#[test]
fn of_many_counters_the_heaviest_are_shown_and_no_command_blocks_the_server() {
    let server = RedisServer::start();
    call(&server.url(), "many");
    let top = json(&server.url(), &["top", "--limit", "5"]);
    let counters = top["counters"].as_array().expect("a list");
    assert_eq!(
        (counters.len(), top["seen"].as_u64(), top["refused"].as_u64()),
        (5, Some(701), Some(1))
    );
    assert_eq!(
        (&counters[0]["allowed"], &counters[1]["allowed"]),
        (&false.into(), &true.into())
    );
    let commands: String = server
        .nodes()
        .ask(server.port(), "INFO commandstats")
        .expect("it answers");
    assert!(
        commands.contains("cmdstat_scan:calls=") && !commands.contains("cmdstat_keys:"),
        "{commands}"
    );
}

#[test]
fn what_is_watched_is_shown_until_nobody_looks() {
    let server = RedisServer::start();
    call(&server.url(), "several");
    let mut watching = rate_limit(&server.url(), &["top", "--watch", "1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it runs");
    let lines = BufReader::new(watching.stdout.take().expect("it is piped")).lines();
    let sums = lines
        .map(|line| line.expect("text"))
        .filter(|line| line.contains("3 counters, 1 refused now"));
    assert_eq!(sums.take(2).count(), 2, "twice, and the pipe is closed");
    assert_eq!(watching.wait().expect("it ends").code(), Some(6));
}
