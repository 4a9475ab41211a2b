//! The command `rate-limit` on a large log, beside an awk program that only counts the events of each client.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};

use crate::measure::alternate;
use crate::row::{Row, Table, Unit};

/// How the times of a log are written.
#[derive(Clone, Copy)]
enum Times {
    Milliseconds,
    Rfc3339,
}

pub fn run(brief: bool, table: &Table) {
    let (events, clients, rounds) = if brief {
        (10_000, 1_000, 1)
    } else {
        (10_000_000, 1_000_000, 5)
    };
    let folder = tempfile::tempdir().expect("a folder");
    let logs = [(Times::Milliseconds, "milliseconds"), (Times::Rfc3339, "RFC 3339")].map(|(times, name)| {
        let path = folder.path().join(name);
        write(&path, times, events, clients);
        (path, name)
    });
    let commands: [(&str, &[&str]); 2] = [
        ("advise", &[]),
        (
            "replay",
            &["--policy", "3 and one more each 50s", "--policy", "5 in 10m"],
        ),
    ];
    for (command, options) in commands {
        for (log, _) in &logs {
            ours(command, log, options);
        }
    }
    // Of the largest of those, before anything else has run.
    let memory = getrusage(UsageWho::RUSAGE_CHILDREN)
        .expect("it is known of children")
        .max_rss() as f64
        / 1_024.0;
    table.add(
        &Row::new(
            "log, memory at the most, beside 1 GiB",
            Unit::Cost("MiB"),
            (memory, 1_024.0),
            1,
        )
        .goal(1.0),
    );
    for (command, options) in commands {
        for (log, name) in &logs {
            for awk in ["gawk", "mawk"] {
                let medians = alternate(rounds, || ours(command, log, options), || count_by(awk, log));
                let name = format!("log, {command}, times in {name}, {awk} counting");
                table.add(&Row::new(name, Unit::Cost("s"), medians, rounds).goal(1.0));
            }
        }
    }
}

fn ours(command: &str, log: &Path, options: &[&str]) -> f64 {
    let program = std::env::current_exe()
        .expect("a program knows where it is")
        .with_file_name("rate-limit");
    assert!(
        program.exists(),
        "build it first, as this program is built: cargo build --release -p rate-limit-cli"
    );
    timed(Command::new(program).arg(command).arg(log).args(options))
}

fn count_by(awk: &str, log: &Path) -> f64 {
    timed(
        Command::new(awk)
            .args([
                "-F,",
                "NR > 1 { n[$1]++ } END { for (client in n) print client, n[client] }",
            ])
            .arg(log),
    )
}

/// Seconds that pass until it has ended.
fn timed(command: &mut Command) -> f64 {
    let start = Instant::now();
    let status = command.stdout(Stdio::null()).status();
    let seconds = start.elapsed().as_secs_f64();
    assert!(status.is_ok_and(|status| status.success()), "{command:?} runs");
    seconds
}

/// Events of about as many clients in the order of time, few of them busy.
fn write(path: &PathBuf, times: Times, events: u64, clients: u32) {
    let mut log = BufWriter::new(File::create(path).expect("a file can be made"));
    let mut random = SmallRng::seed_from_u64(7);
    let (mut at, mut line) = (0, String::new());
    log.write_all(b"client,time\n").expect("there is room");
    for _ in 0..events {
        at += random.random_range(0..250_u64);
        let client = random.random_range(0..clients).min(random.random_range(0..clients));
        line.clear();
        let _ = match times {
            Times::Milliseconds => writeln!(line, "user-{client:07},{}", 1_764_547_200_000 + at),
            Times::Rfc3339 => {
                let (day, hour, minute) = (1 + at / 86_400_000, at / 3_600_000 % 24, at / 60_000 % 60);
                let second = at as f64 % 60_000.0 / 1_000.0;
                writeln!(
                    line,
                    "user-{client:07},2025-12-{day:02}T{hour:02}:{minute:02}:{second:06.3}Z"
                )
            }
        };
        log.write_all(line.as_bytes()).expect("there is room");
    }
    log.flush().expect("there is room");
}
