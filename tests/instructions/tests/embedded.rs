//! How many instructions a decision of the embedded store takes: a count that does not depend on what else the machine does.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Traffic, limit, and the most instructions a decision may take: a tenth more than was measured, as compilers and table layouts differ.
///
/// To measure anew, and then lower what has become less:
/// `cargo test -p rate-limit-instructions -- --nocapture`
const CEILINGS: [(&str, &str, u64); 10] = [
    ("one-admitted", "5", 770),
    ("one-admitted", "100", 630),
    ("one-admitted", "10000", 605),
    ("one-refused", "5", 520),
    ("one-refused", "100", 520),
    ("one-refused", "10000", 520),
    ("many-admitted", "5", 575),
    ("many-admitted", "100", 575),
    ("many-admitted", "10000", 575),
    ("many-admitted", "generic", 700),
];

/// A multiple of the number of clients, each of whom makes as many calls.
const CALLS: u64 = 2_000;

#[test]
#[cfg_attr(not(target_arch = "x86_64"), ignore = "another processor has other instructions")]
fn a_decision_takes_no_more_instructions_than_it_did() {
    let program = build();
    let mut above = Vec::new();
    for (traffic, limit, most) in CEILINGS {
        let decision = instructions(&program, traffic, limit, CALLS) / CALLS;
        println!("{traffic:>13}, limit {limit:>7}: {decision:>6} instructions a decision, at most {most}");
        if decision > most {
            above.push((traffic, limit, decision));
        }
    }
    assert!(above.is_empty(), "more than their ceilings: {above:?}");
}

/// The program with optimisations, whatever the profile of this test. In a folder of its own: that of the running build is locked.
fn build() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("instructions");
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--release", "--locked", "--offline"])
        .args(["--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")])
        .arg("--target-dir")
        .arg(&folder)
        .status()
        .expect("cargo runs");
    assert!(status.success(), "the program does not build");
    folder.join("release/rate-limit-instructions")
}

fn instructions(program: &Path, traffic: &str, limit: &str, calls: u64) -> u64 {
    let run = Command::new("valgrind")
        .args([
            "--tool=callgrind",
            "--callgrind-out-file=/dev/null",
            "--toggle-collect=*::counted",
        ])
        .arg(program)
        .args([traffic, limit, &calls.to_string()])
        .output()
        .expect("this test needs `valgrind` on the PATH: `scripts/test` installs it on Debian and Ubuntu");
    let report = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{report}");
    let collected = report.lines().find_map(|line| line.split_once("Collected : "));
    let (_, count) = collected.expect("callgrind tells how many it collected");
    count.parse().expect("a number")
}
