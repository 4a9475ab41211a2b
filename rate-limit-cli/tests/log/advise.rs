//! The analysis of logs that are known.

use std::fmt::Write as _;

use rand::SeedableRng as _;
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use serde_json::{Value, json};

use crate::command::{Logs, gzip, run, run_piped};

/// Four clients, whose bursts and gaps are counted by hand.
const KNOWN: &str = "\
client,time
a,100
a,130
a,190
a,300
b,100
b,200
c,100
c,110
c,120
c,1000
d,500
";

/// Bursts: a 3, 1; b 1, 1; c 3, 1; d 1. Gaps: 10, 10, 30, 60, 100, 110, 880.
fn is_known(report: &Value) {
    let bursts = |events: u64, bursts: u64, share: f64, coverage: f64| json!({ "events": events, "bursts": bursts, "share": share, "coverage": coverage });
    assert_eq!(
        report["bursts"],
        json!([bursts(1, 5, 5.0 / 7.0, 5.0 / 7.0), bursts(3, 2, 2.0 / 7.0, 1.0)])
    );
    assert_eq!(
        (&report["log"]["events"], &report["log"]["clients"], &report["gaps"]),
        (&json!(11), &json!(4), &json!(7))
    );
    let gap = |percent: u64| {
        let percentiles = report["percentiles"].as_array().expect("a list");
        let found = percentiles.iter().find(|one| one["percent"] == percent);
        found.expect("it is listed")["gap_seconds"].as_f64()
    };
    let gaps = [5, 15, 25, 30, 45, 55, 60, 75, 85, 90, 95].map(gap);
    assert_eq!(
        gaps,
        [10.0, 10.0, 10.0, 30.0, 60.0, 60.0, 100.0, 110.0, 110.0, 880.0, 880.0].map(Some)
    );
    let heaviest = report["heaviest_clients"].as_array().expect("a list").iter();
    let mut heaviest: Vec<_> = heaviest
        .map(|one| (-one["events"].as_i64().expect("a number"), one["client"].as_str()))
        .collect();
    assert!(heaviest.is_sorted_by_key(|(events, _)| *events));
    // Equal ones are in the order of the log.
    heaviest.sort_unstable();
    assert_eq!(
        heaviest,
        [(-4, Some("a")), (-4, Some("c")), (-2, Some("b")), (-1, Some("d"))]
    );
}

#[test]
fn a_known_log_has_the_known_numbers() {
    let logs = Logs::new();
    let report = run("advise", &logs.write("known.csv", KNOWN), &["--json"]).json();
    is_known(&report);
    // With a capacity of 3, one more each 10 s.
    assert_eq!(report["percentiles"][0]["allowed_in_5_minutes"], 3 + 30);
    assert_eq!(report["percentiles"][0]["allowed_in_an_hour"], 3 + 360);
    assert_eq!(report["log"]["first"], "1970-01-01T00:01:40Z");
}

/// The same events as any log may have them.
#[test]
fn the_format_of_a_log_is_found_out() {
    let logs = Logs::new();
    let lines: Vec<(&str, u64)> = KNOWN
        .lines()
        .skip(1)
        .map(|line| line.split_once(',').expect("two columns"))
        .map(|(client, time)| (client, time.parse().expect("seconds")))
        .collect();
    let rows = |row: &dyn Fn(&str, u64) -> String| -> String {
        lines.iter().map(|(client, time)| row(client, *time)).collect()
    };
    let rfc = |time: u64| {
        format!(
            "1970-01-01T{:02}:{:02}:{:02}.000Z",
            time / 3_600,
            time / 60 % 60,
            time % 60
        )
    };
    // Times near 1970 have too few digits to be taken for milliseconds.
    let late = 1_764_460_800_u64;
    let json = rows(&|client, time| {
        format!(
            "{{\"status\":200,\"time\":\"{}\",\"client\":\"{client}\"}}\n",
            rfc(time)
        )
    });
    let gzip = gzip(json.as_bytes());
    let mut backwards = lines.clone();
    backwards.reverse();
    let out_of_order: String = backwards
        .iter()
        .fold("client,time\n".to_owned(), |mut log, (client, time)| {
            let _ = writeln!(log, "{client},{time}");
            log
        });
    let logs_and_options: [(&str, Vec<u8>, &[&str]); 8] = [
        (
            "rfc.csv",
            format!(
                "time,client\n{}",
                rows(&|client, time| format!("{},{client}\n", rfc(time)))
            )
            .into(),
            &[],
        ),
        (
            "offset.csv",
            format!(
                "time,client\n{}",
                rows(&|client, time| format!("1970-01-02T{}+24:00,{client}\n", &rfc(time)[11..19]))
            )
            .into(),
            &[],
        ),
        (
            "milliseconds.csv",
            format!(
                "client,time\n{}",
                rows(&|client, time| format!("{client},{}\n", (late + time) * 1_000))
            )
            .into(),
            &[],
        ),
        (
            "odd.csv",
            format!(
                "\u{feff}client;other;time\r\n\r\n{}",
                rows(&|client, time| format!("\"{client}\";\"a;\n\"\"b\";{time}.000\r\n")).trim_end()
            )
            .into(),
            &["--delimiter", ";"],
        ),
        (
            "names.csv",
            KNOWN.replace("client,time", "member,read_at").into(),
            &["--client", "member", "--time", "read_at"],
        ),
        (
            "lines.json",
            rows(&|client, time| format!("{{\"time\":{time},\"client\":\"{client}\",\"more\":[{{}}]}}\n")).into(),
            &[],
        ),
        ("lines.json.gz", gzip, &[]),
        ("backwards.csv", out_of_order.into(), &[]),
    ];
    for (name, log, options) in logs_and_options {
        let options = [options, &["--json"]].concat();
        // Whoever follows another begins before that one's end; backwards all do, behind the latest.
        let expected: &[u64] = match name {
            "backwards.csv" => &[9],
            // Each event is on two lines, since it has a line feed within quotation marks.
            "odd.csv" => &[2 * 11, 6],
            _ => &[6],
        };
        for report in [
            run("advise", &logs.write(name, &log), &options).json(),
            run_piped("advise", &log, &options).json(),
        ] {
            let faults = report["log"]["faults"].as_array().expect("a list");
            let lines: Vec<_> = faults.iter().filter_map(|fault| fault["lines"].as_u64()).collect();
            assert_eq!(lines, expected, "{name}");
            is_known(&report);
        }
    }
}

/// 10,000 bursts of 500 readers, as the reading counter has them: 97.11 % are of three reads or fewer; of the gaps a fifth are up to 39 s, and
/// three tenths up to 62 s.
fn reads() -> String {
    let sizes = [(7_306, 1), (1_905, 2), (500, 3), (250, 4), (39, 8)];
    let mut sizes: Vec<usize> = sizes.iter().flat_map(|(bursts, size)| vec![*size; *bursts]).collect();
    let within = (0..2_600)
        .map(|n| 21 + n % 18)
        .chain([39; 200])
        .chain((0..1_128).map(|n| 41 + n % 18));
    let mut within: Vec<u64> = within.collect();
    let between = [62; 200].into_iter().chain((0..9_300).map(|n| 63 + n * 7));
    let mut between: Vec<u64> = between.collect();
    // Each in an order that has nothing to do with the others.
    let mut random = StdRng::seed_from_u64(8);
    sizes.shuffle(&mut random);
    within.shuffle(&mut random);
    between.shuffle(&mut random);
    let mut log = "client,time\n".to_owned();
    for (client, bursts) in sizes.chunks(20).enumerate() {
        let mut at = 1_764_460_800;
        for (place, size) in bursts.iter().enumerate() {
            at += if place > 0 {
                between.pop().expect("one for each but the first")
            } else {
                0
            };
            let _ = writeln!(log, "{client},{at}");
            for _ in 1..*size {
                at += within.pop().expect("one for each but the first");
                let _ = writeln!(log, "{client},{at}");
            }
        }
    }
    assert!(within.is_empty() && between.is_empty());
    log
}

#[test]
fn a_log_of_reads_gives_the_numbers_of_the_reading_counter() {
    let logs = Logs::new();
    let report = run("advise", &logs.write("reads.csv", reads()), &["--json"]).json();
    let listed = |list: &str, key: &str, value: u64| {
        let list = report[list].as_array().expect("a list");
        list.iter().find(|one| one[key] == value).expect("it is listed").clone()
    };
    let gap = |percent| listed("percentiles", "percent", percent)["gap_seconds"].as_f64();
    assert_eq!(listed("bursts", "events", 3)["coverage"], 0.9711);
    assert_eq!((gap(20), gap(30)), (Some(39.0), Some(62.0)));
    let bucket = &report["token_bucket"];
    assert_eq!(bucket["policy"], "3 and one more each 50s");
    assert_eq!(
        bucket["attribute"],
        r#"#[limit_per_time(algorithm = token_bucket, capacity = 3, refill = "50s", key = ..)]"#
    );
    assert_eq!(bucket["configuration"], "advised: { capacity: 3, refill: 50s }");
}

/// The texts of a plot of this log.
fn plotted(log: &str) -> Vec<String> {
    let logs = Logs::new();
    let plot = logs.path("plot.svg");
    let said = run(
        "advise",
        &logs.write("log.csv", log),
        &["--plot", plot.to_str().expect("UTF-8")],
    );
    assert_eq!((said.code, &*said.error), (Some(0), ""));
    let plot = std::fs::read_to_string(plot).expect("it is drawn");
    let texts = plot.split("<text ").skip(1);
    let texts = texts.map(|text| text.split(['>', '<']).nth(1).expect("a text").trim().to_owned());
    texts.collect()
}

#[test]
fn a_plot_has_the_advised_numbers_on_readable_axes() {
    let has = |texts: &[String], text: &str| texts.iter().any(|one| one == text);
    let texts = plotted(&reads());
    for text in [
        "Bursts by size",
        "capacity 3",
        "one more each 50s",
        "20",
        "1m",
        "5m",
        "1h",
    ] {
        assert!(has(&texts, text), "{text}: {texts:?}");
    }
    assert!(!texts.iter().any(|text| text.contains("40s")), "{texts:?}");
    // A single size, beyond those that are drawn else, and a single gap.
    let events = |client: u64| (0..40).map(move |n| format!("{client},{}\n", 1_000 + 30 * n));
    let texts = plotted(&("client,time\n".to_owned() + &(0..20).flat_map(events).collect::<String>()));
    for text in ["capacity 40", "40", "one more each 30s", "30s"] {
        assert!(has(&texts, text), "{text}: {texts:?}");
    }
    let texts = plotted("client,time\na,1\nb,2\n");
    assert!(has(&texts, "No client came twice: there are no gaps"), "{texts:?}");
}

#[test]
fn the_help_teaches_and_completions_know_every_command() {
    let help = crate::command::rate_limit(&["advise", "--help"])
        .output()
        .expect("it runs");
    let help = String::from_utf8(help.stdout).expect("text");
    for word in ["--protect <PERCENT>", "nearest rank", "Examples:", "[default: 60s]"] {
        assert!(help.contains(word), "{word}: {help}");
    }
    let script = crate::command::rate_limit(&["completions", "bash"])
        .output()
        .expect("it runs");
    let script = String::from_utf8(script.stdout).expect("text");
    for command in ["advise", "replay", "completions"] {
        assert!(script.contains(&format!("rate__limit,{command})")), "{command}");
    }
}
