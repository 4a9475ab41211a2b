//! The program as a user runs it: what it prints, and never how fast anything is.

use std::collections::BTreeSet;
use std::process::{Command, Output};

use serde_json::Value;

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rate-limit-benches"))
        .args(arguments)
        .output()
        .expect("the program runs")
}

/// The rows of a group, each checked.
fn rows(group: &str) -> Vec<Value> {
    let run = run(&[group, "--brief", "--json"]);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let lines = String::from_utf8(run.stdout).expect("text");
    let rows: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).expect(line))
        .collect();
    for row in &rows {
        check(row, group);
    }
    rows
}

fn check(row: &Value, group: &str) {
    let fields: BTreeSet<&str> = row.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(
        fields,
        BTreeSet::from(["goal", "name", "ours", "peer", "ratio", "rounds", "unit"])
    );
    let name = row["name"].as_str().expect("text");
    assert!(name.starts_with(group), "{name}");
    let number = |field: &str| {
        let number = row[field].as_f64().expect("a finite number");
        assert!(number > 0.0, "{field}: {row}");
        number
    };
    let (ours, peer) = (number("ours"), number("peer"));
    let ratio = match row["unit"].as_str().expect("text") {
        "req/s" => peer / ours,
        "MiB" | "ns" | "s" | "ratio" => ours / peer,
        unit => panic!("{unit} is more, or is it less?"),
    };
    assert!((number("ratio") / ratio - 1.0).abs() < 1e-9, "{row}");
    assert!(row["goal"].is_null() || number("goal") > 0.0, "{row}");
    assert!(row["rounds"].as_u64() > Some(0), "{row}");
}

#[test]
fn embedded_compares_with_each_peer() {
    let rows = rows("embedded");
    for peer in ["governor", "trypema local", "leaky-bucket without keys"] {
        let of = format!("embedded, {peer}, ");
        assert!(
            rows.iter()
                .any(|row| row["name"].as_str().is_some_and(|name| name.starts_with(&of))),
            "{peer}"
        );
    }
}

#[test]
fn handler_compares_with_plain_and_with_tower_governor_over_http_and_without() {
    let rows = rows("handler");
    let names: Vec<_> = rows.iter().map(|row| &row["name"]).collect();
    assert_eq!(
        names,
        [
            "handler, plain, over HTTP",
            "handler, tower_governor, over HTTP",
            "handler, plain, from the router on",
            "handler, tower_governor, from the router on",
        ]
    );
}

#[test]
fn log_compares_both_commands_with_both_awks_and_tells_the_memory() {
    let rows = rows("log");
    assert_eq!(rows.len(), 1 + 2 * 2 * 2);
    assert_eq!(rows[0]["name"], "log, memory at the most, beside 1 GiB");
    assert_eq!(rows[8]["name"], "log, replay, times in RFC 3339, mawk counting");
}

#[test]
fn a_group_that_is_none_is_refused_with_those_that_are() {
    let run = run(&["handel"]);
    assert_eq!(run.status.code(), Some(2));
    assert!(run.stdout.is_empty());
    let told = String::from_utf8_lossy(&run.stderr);
    for group in ["build", "embedded", "handler"] {
        assert!(told.contains(group), "{told}");
    }
}
