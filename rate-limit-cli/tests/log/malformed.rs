//! Logs that cannot be used, or not whole. Each says what is wrong, and none is half told.

use std::path::Path;
use std::process::Command;

use crate::command::{Logs, Said, gzip, rate_limit, run};

fn events(count: u64) -> String {
    let line = |n: u64| format!("client-{},{}\n", n * n % 97, 1_764_460_800 + n);
    "client,time\n".to_owned() + &(0..count).map(line).collect::<String>()
}

#[track_caller]
fn is_refused(said: &Said, code: i32, told: &str) {
    assert_eq!((said.code, &*said.out), (Some(code), ""), "{}", said.error);
    assert!(
        said.error.starts_with("rate-limit: ") && said.error.contains(told),
        "{}",
        said.error
    );
}

#[test]
fn a_log_that_cannot_be_used_says_why() {
    let whole = gzip(events(100_000).as_bytes());
    let damaged: Vec<u8> = whole
        .iter()
        .enumerate()
        .map(|(place, byte)| if place == whole.len() / 2 { !byte } else { *byte })
        .collect();
    let cases: [(&str, Vec<u8>, &str); 16] = [
        ("empty", b"".into(), "it is empty"),
        ("blank", b" \n\n".into(), "it is empty"),
        ("empty.gz", gzip(b""), "it is empty"),
        (
            "header only",
            b"client,time\n".into(),
            "there are no events in it, only a header",
        ),
        (
            "wrong column",
            b"client_id,time\na,1\n".into(),
            "there is no column `client`: did you mean --client client_id? The columns are `client_id`, `time`",
        ),
        (
            "other columns",
            b"member,when\na,1\n".into(),
            "there is no column `client`: say with --client which it is. The columns are `member`, `when`",
        ),
        (
            "wrong field",
            b"{\"client\":\"a\",\"ts\":1}\n".into(),
            "there is no field `time`: say with --time which it is. The fields are `client`, `ts`",
        ),
        (
            "mixed times",
            b"client,time\na,1764460800\nb,2025-11-30T00:00:00Z\n".into(),
            "line 3: the time `2025-11-30T00:00:00Z` is written as RFC 3339, and those before it as seconds",
        ),
        (
            "no times",
            b"client,time\na,soon\nb,later\n,1\n".into(),
            "no event in it can be used\n1 line left out: they name no client (4)\n2 lines left out: their time is not RFC 3339, seconds or milliseconds (2, 3)",
        ),
        (
            "binary",
            b"\x7fELF\x02\x01\x01\x00\x00\x00".into(),
            "it is no text: give CSV or JSON lines, plain or compressed by gzip",
        ),
        ("xz", b"\xfd7zXZ\x00\x00\x04".into(), "it is no text"),
        (
            "truncated.gz",
            whole[..whole.len() / 2].into(),
            "the compressed data ends early, in line ",
        ),
        (
            "without its sum.gz",
            whole[..whole.len() - 4].into(),
            "the compressed data ends early",
        ),
        ("damaged.gz", damaged, "the compressed data is damaged behind line "),
        (
            "unclosed",
            format!("client,time\na,1\n\"b,2\n{}", events(200_000)).into(),
            "line 3: a quotation mark is opened there and not closed",
        ),
        (
            "no json",
            b"{\"client\n{\n".into(),
            "no event in it can be used\n2 lines left out: they are no object in JSON (1, 2)",
        ),
    ];
    let logs = Logs::new();
    for (name, log, told) in cases {
        let log = logs.write(name, log);
        for (command, options) in [("advise", &[][..]), ("replay", &["--policy", "5 in 10m"])] {
            let said = run(command, &log, options);
            is_refused(&said, 1, told);
            assert!(said.error.contains(name), "it says which log: {}", said.error);
        }
    }
    is_refused(
        &run("advise", &logs.path("none.csv"), &[]),
        1,
        "none.csv: cannot be read: ",
    );
    is_refused(&run("advise", Path::new("/"), &[]), 1, "/: cannot be read");
}

/// Within 64 MB of addresses beside the program itself, in which the line would not fit.
#[test]
fn a_line_without_end_is_not_held() {
    let logs = Logs::new();
    let log = logs.write(
        "long.csv",
        [&b"client,time\na,1\n"[..], &vec![b'x'; 100 << 20]].concat(),
    );
    for log in [
        &log,
        &logs.write("long.csv.gz", gzip(&std::fs::read(&log).expect("it is there"))),
    ] {
        let output = Command::new("sh")
            .args([
                "-c",
                "ulimit -v 98304; exec \"$@\"",
                "sh",
                env!("CARGO_BIN_EXE_rate-limit"),
                "advise",
            ])
            .arg(log)
            .output();
        is_refused(
            &output.expect("it runs").into(),
            1,
            "line 3 is longer than a megabyte: a log has an event a line",
        );
    }
}

#[test]
fn single_lines_that_cannot_be_used_are_counted_and_named() {
    let logs = Logs::new();
    let log = logs.write(
        "log.csv",
        "client,time,more\na,100\n,101\n  ,102\nb,103,x,y\nc\nd,\ne,now\nf,-5\na,90\ng,1764460800123\n\nb,104\n\u{ff},105\nb,106\nb,107\n",
    );
    let report = run("advise", &log, &["--json", "--times", "seconds"]).json();
    assert_eq!(report["log"]["events"], 7);
    let faults = report["log"]["faults"].as_array().expect("a list").iter();
    let faults: Vec<String> = faults
        .map(|fault| {
            format!(
                "{} {} {}",
                fault["lines"],
                fault["fault"].as_str().expect("text"),
                fault["first_lines"]
            )
        })
        .collect();
    assert_eq!(
        faults,
        [
            "2 left out: they name no client [3,4]",
            "2 left out: they have no time [6,7]",
            "2 left out: their time is not RFC 3339, seconds or milliseconds [8,9]",
            "1 left out: their time is not in seconds [11]",
            "1 earlier than one before them, and used at their own time [10]",
        ]
    );
    let text = run("replay", &log, &["--policy", "5 in 10m", "--times", "seconds"]);
    assert_eq!(text.code, Some(0));
    assert!(text.out.starts_with("7 events of 3 clients, from 1970-01-01T00:01:30Z to 1970-01-01T00:01:47Z\n2 lines left out: they name no client (3, 4)\n"), "{}", text.out);

    let json = logs.write("log.json", "{\"client\":\"a\",\"time\":100}\n[1]\n{\"client\":null,\"time\":101}\n{\"client\":7,\"time\":101,\"client\":8}\n{\"time\":102}\n{\"client\":\"b\"}\n".to_owned() + &"{\"client\":\"a\",\"time\":100}\n".repeat(4));
    let report = run("advise", &json, &["--json"]).json();
    assert_eq!(report["log"]["events"], 5);
    let lines: Vec<_> = report["log"]["faults"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|fault| fault["first_lines"].to_string())
        .collect();
    assert_eq!(lines, ["[3,5]", "[6]", "[2,4]"]);
}

#[test]
fn an_output_that_is_closed_early_ends_the_command() {
    let log = Logs::new();
    let log = log.write("log.csv", events(100));
    for command in [
        &["advise"][..],
        &["replay", "--policy", "5 in 10m"],
        &["completions", "bash"],
    ] {
        let mut child = rate_limit(command);
        if command[0] != "completions" {
            child.arg(&log);
        }
        // Closed before the command begins, or it may have written all by then.
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let said = child.stdout(writer).output().expect("it runs").into();
        is_refused(&said, 6, "the output was closed before all was written");
    }
    let said = run("advise", &log, &["--plot", "/no/such/folder/plot.svg"]);
    is_refused(&said, 6, "/no/such/folder/plot.svg: cannot be written: ");
}

#[test]
fn a_command_line_that_is_wrong_says_what_to_write() {
    let log = Logs::new();
    let log = log.write("log.csv", events(10));
    for (command, options, told) in [
        (
            "replay",
            &["--policy", "5 per minute"][..],
            "`5 per minute` is no policy: write `5 in 10m`",
        ),
        ("replay", &[], "--policy <POLICY>"),
        (
            "replay",
            &["--policy", "5 in 10m", "--only", "login"],
            "--policies <FILE>",
        ),
        ("advise", &["--protect", "0"], "it is a percentage from 1 to 100"),
        (
            "advise",
            &["--protect", "0.97"],
            "it is a percentage from 1 to 100, as 97 for 97 %",
        ),
        ("advise", &["--window", "1500us"], "a window is of whole milliseconds"),
        ("advise", &["--gap", "60"], "write for example 500ms, 60s or 1h30m"),
        ("advise", &["--window", "0s"], "it is more than nothing"),
        ("advise", &["--delimiter", "ab"], "it is one character such as"),
        ("advise", &["--clint", "a"], "--client"),
    ] {
        let said = run(command, &log, options);
        assert_eq!((said.code, &*said.out), (Some(2), ""), "{}", said.error);
        assert!(said.error.contains(told), "{told}: {}", said.error);
    }
    let policies = Logs::new();
    let file = policies.write("policies.yaml", "login: { count: 5, window: 10m }\n");
    let file = file.to_str().expect("UTF-8");
    is_refused(
        &run("replay", &log, &["--policies", file, "--only", "logn"]),
        1,
        "there is no policy `logn` in it, but `login`",
    );
    let wrong = policies.write("wrong.yaml", "login: { count: 5, window: 10 }\n");
    is_refused(
        &run("replay", &log, &["--policies", wrong.to_str().expect("UTF-8")]),
        1,
        "login.window: ",
    );
}
