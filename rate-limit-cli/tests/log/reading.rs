//! What is read of a log, however it comes, and what is said of the rest.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, geteuid, prlimit};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::{Value, json};

use crate::command::{Logs, Said, gzip, rate_limit, run, run_piped};

/// What the report has on this log.
fn read(log: &[u8], options: &[&str]) -> Value {
    let logs = Logs::new();
    let log = logs.write("log", log);
    run("advise", &log, &[options, &["--json"]].concat()).json()["log"].take()
}

/// What is said of this log, which cannot be used.
fn refused(log: &[u8], options: &[&str]) -> String {
    let logs = Logs::new();
    let log = logs.write("log", log);
    let said = run("advise", &log, options);
    assert_eq!((said.code, &*said.out), (Some(1), ""), "{}", said.error);
    let named = format!("rate-limit: {}: ", log.display());
    let told = said.error.trim_end().strip_prefix(&named);
    told.expect("it says which log").to_owned()
}

const SOUND: &[u8] = b"client,time\na,1000\nb,1001\na,1002.5\n";

fn assert_sound(log: &Value) {
    assert_eq!(
        *log,
        json!({
            "events": 3,
            "clients": 2,
            "first": "1970-01-01T00:16:40Z",
            "last": "1970-01-01T00:16:42.5Z",
            "faults": [],
        })
    );
}

#[test]
fn a_log_is_read_in_every_way_that_it_comes_in() {
    for sound in [
        SOUND,
        b"\xef\xbb\xbfclient,time\na,1000\nb,1001\na,1002.5\n",
        b"client,time\r\na,1000\r\nb,1001\r\na,1002.5\r\n",
        b"\n\nclient,time\n\na,1000\n  \nb,1001\n\n\na,1002.5",
        b"\"client\",\"time\"\n\"a\",\"1000\"\nb,1001\na,\"1002.5\"\n",
        b" client , time ,path\na,1000,\"/x,y\"\nb,1001,\"say \"\"hi\"\"\"\na,1002.5\n",
        b"client,time\na,1970-01-01T00:16:40Z\nb,1970-01-01T01:16:41+01:00\na,1970-01-01 00:16:42.500Z\n",
        b"{\"client\":\"a\",\"time\":1000}\n{\"time\":\"1001\",\"x\":[{}],\"client\":\"b\"}\n{\"client\":\"\\u0061\",\"time\":1002.5}",
        b"\xef\xbb\xbf\r\n{\"client\":\"a\",\"time\":1000}\r\n\r\n{\"time\":1001,\"client\":\"b\"}\r\n{\"client\":\"a\",\"time\":1002.5}\r\n",
    ] {
        let name = String::from_utf8_lossy(sound);
        println!("{name}");
        assert_sound(&read(sound, &[]));
        assert_sound(&read(&gzip(sound), &[]));
        let twice = [gzip(&sound[..20]), gzip(&sound[20..])].concat();
        assert_sound(&read(&twice, &[]));
        assert_sound(&run_piped("advise", sound, &["--json"]).json()["log"]);
        assert_sound(&run_piped("advise", &gzip(sound), &["--json"]).json()["log"]);
    }
    let milliseconds = b"who;when\na;1767225600000\nb;1767225600500\n";
    let log = read(milliseconds, &["--client", "who", "--time", "when", "--delimiter", ";"]);
    assert_eq!(log["last"], "2026-01-01T00:00:00.5Z");
}

/// The first bytes of a pipe may come alone, and are no less of what they are.
#[test]
fn a_log_that_comes_slowly_is_read_as_well() {
    let compressed = gzip(SOUND);
    let objects: &[u8] =
        b"{\"client\":\"a\",\"time\":1000}\n{\"client\":\"b\",\"time\":1001}\n{\"client\":\"a\",\"time\":1002.5}";
    let pieces: [&[&[u8]]; 4] = [
        &[b"\n", SOUND],
        &[&compressed[..1], &compressed[1..]],
        &[b"\xef", b"\xbb\xbf", objects],
        &[b" ", b"\n", objects],
    ];
    for pieces in pieces {
        let mut child = rate_limit(&["advise", "-", "--json"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it runs");
        let mut input = child.stdin.take().expect("it is piped");
        for piece in pieces {
            input.write_all(piece).expect("it reads");
            // There is no clock to turn in a pipe: it is to come by before the next piece is there.
            thread::sleep(Duration::from_millis(100));
        }
        drop(input);
        let said = Said::from(child.wait_with_output().expect("it ends"));
        assert_sound(&said.json()["log"]);
    }
}

/// A quotation mark swallows no event without a word.
#[test]
fn lines_within_quotation_marks_are_told() {
    let log = read(
        b"client,time\n\"a,1000\nb,1001\n\"c,1002\nd,1003\nd,1004\nd,1005\nd,1006\n",
        &[],
    );
    assert_eq!(log["events"], 4);
    assert_eq!(
        log["faults"],
        json!([{ "fault": "left out: a quotation mark opened in their first is not closed there", "lines": 3, "first_lines": [2] }])
    );
    let log = read(b"client,time,agent\na,1000,\"two\nlines\"\nb,1001,\"\"\n", &[]);
    assert_eq!((&log["events"], &log["clients"]), (&json!(2), &json!(2)));
    assert_eq!(
        log["faults"],
        json!([{ "fault": "used as one event: they are within quotation marks", "lines": 2, "first_lines": [2] }])
    );
    assert_eq!(
        refused(b"client,time\na,1000\n\"b,1001\nc,1002\n", &[]),
        "line 3: a quotation mark is opened there and not closed"
    );
}

#[test]
fn a_log_of_which_little_can_be_used_is_refused() {
    assert_eq!(
        refused(b"client,time\na,1000\nb,x\nb,y\n", &[]),
        "more lines are left out, 2, than can be used, 1\n\
         2 lines left out: their time is not RFC 3339, seconds or milliseconds (3, 4)"
    );
    assert_eq!(
        refused(b"client,time\na,x\n", &[]),
        "no event in it can be used\n1 line left out: their time is not RFC 3339, seconds or milliseconds (2)"
    );
}

#[test]
fn a_column_that_is_not_there_is_told_with_those_that_are() {
    assert_eq!(
        refused(b"member,time\na,1\n", &["--client", "membre"]),
        "there is no column `membre`: did you mean --client member? The columns are `member`, `time`"
    );
    assert_eq!(
        refused(b"client,read_at\na,1\n", &[]),
        "there is no column `time`: say with --time which it is. The columns are `client`, `read_at`"
    );
    assert_eq!(
        refused(b"\n\n{\"member\":1,\"time\":1}\n", &["--client", "membre"]),
        "there is no field `membre`: did you mean --client member? The fields are `member`, `time`"
    );
    let wide: Vec<String> = (0..5_000).map(|column| format!("column-{column}\u{1b}[31m")).collect();
    let told = refused(wide.join(",").as_bytes(), &[]);
    assert!(told.len() < 1_000 && !told.contains('\u{1b}'), "{told}");
    assert!(told.ends_with("and 4,980 more"), "{told}");
}

/// Who sends a control character does not make the log unreadable, nor does he get it onto a terminal.
#[test]
fn a_control_character_is_read_and_not_printed() {
    let logs = Logs::new();
    let log = logs.write("log", b"client,time\nred\x1b[31m,1000\nred\x1b[31m,1001\n");
    for (command, options) in [("advise", &[][..]), ("replay", &["--policy", "1 in 1m"])] {
        let said = run(command, &log, options);
        assert_eq!(said.code, Some(0), "{}", said.error);
        assert!(
            said.out.contains(r"red\u{1b}[31m") && !said.out.contains('\u{1b}'),
            "{}",
            said.out
        );
    }
    let report = run("advise", &log, &["--json"]).json();
    assert_eq!(report["heaviest_clients"][0]["client"], "red\u{1b}[31m");
}

/// Neither a line nor a record is held that does not end: the program may have little memory, and is given much more.
#[test]
fn what_does_not_end_is_refused_and_not_held() {
    for (start, more, told) in [
        (
            "client,time\na,1000\n",
            "x",
            "line 3 is longer than a megabyte: a log has an event a line",
        ),
        (
            "{\"client\":1,\"time\":1}\n{\"client\":\"",
            "x",
            "line 2 is longer than a megabyte: a log has an event a line",
        ),
        (
            "client,time\na,1000\n\"b,1001\n",
            "c,1002\n",
            "line 3: a quotation mark is opened there and not closed",
        ),
        ("", "\n", "it is empty"),
    ] {
        let mut child = rate_limit(&["advise", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program runs");
        let limit = Rlimit {
            current: Some(48 << 20),
            maximum: Some(48 << 20),
        };
        let pid = Pid::from_child(&child);
        prlimit(Some(pid), Resource::As, limit).expect("it is ours");
        let mut input = child.stdin.take().expect("a pipe");
        input.write_all(start.as_bytes()).expect("the program reads");
        let megabyte = more.repeat((1 << 20) / more.len());
        // It is done before all is there.
        let written = (0..100)
            .take_while(|_| input.write_all(megabyte.as_bytes()).is_ok())
            .count();
        drop(input);
        let said = Said::from(child.wait_with_output().expect("it ends"));
        assert_eq!(
            (said.code, &*said.out),
            (Some(1), ""),
            "after {written} MB: {}",
            said.error
        );
        assert_eq!(said.error, format!("rate-limit: -: {told}\n"));
    }
}

#[test]
fn a_log_that_may_not_be_read_is_named() {
    let logs = Logs::new();
    let log = logs.write("secret.csv", SOUND);
    fs::set_permissions(&log, fs::Permissions::from_mode(0o000)).expect("it is ours");
    let mut command = rate_limit(&["advise"]);
    command.arg(&log);
    // Nothing is forbidden to root.
    if geteuid().is_root() {
        command.uid(65_534).gid(65_534);
    }
    let said = Said::from(command.output().expect("it runs"));
    assert_eq!((said.code, &*said.out), (Some(1), ""));
    let told = format!("{}: cannot be read: Permission denied (os error 13)\n", log.display());
    assert_eq!(said.error, format!("rate-limit: {told}"));
}

/// A run with a report says nothing else in a pipe, as `Said::json` sees to: on a terminal it says how far it is.
#[test]
fn progress_is_shown_on_a_terminal() {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&terminal).expect("it is ours");
    unlockpt(&terminal).expect("it is ours");
    let name = ptsname(&terminal, Vec::new()).expect("a name");
    let screen = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(name.to_str().expect("a plain path"))
        .expect("a terminal");
    // One without a size has no room.
    let size = Winsize {
        ws_row: 24,
        ws_col: 80,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&screen, size).expect("it is ours");
    let logs = Logs::new();
    let log = logs.write("log", [&b"client,time\n"[..], &b"a,1000\n".repeat(1_000_000)].concat());
    let mut child = rate_limit(&["advise"])
        .arg(&log)
        .env("TERM", "xterm")
        .stdout(Stdio::null())
        .stderr(screen)
        .spawn()
        .expect("the program runs");
    let mut shown = Vec::new();
    let mut block = [0; 4096];
    let mut terminal = fs::File::from(terminal);
    // Once nobody else has it open, reading fails.
    while let Ok(read @ 1..) = terminal.read(&mut block) {
        shown.extend_from_slice(&block[..read]);
    }
    assert!(child.wait().expect("the program ends").success());
    let shown = String::from_utf8_lossy(&shown);
    assert!(shown.contains("of 6.68 MiB"), "{shown:?}");
}
