use super::*;

#[test]
fn a_window_is_read() {
    let micros = [
        ("500ms", 500_000),
        ("10m", 600_000_000),
        ("1h30m", 5_400_000_000),
        (" 1 h 30 m ", 5_400_000_000),
        ("1d", 86_400_000_000),
    ];
    for (text, expected) in micros {
        assert_eq!(read(text), Some(expected), "{text}");
    }
}

#[test]
fn f_53_another_way_to_write_a_length_is_told_as_ours() {
    let written = [
        ("10 sec", "10s"),
        ("10M", "10m"),
        ("10min", "10m"),
        ("90 seconds", "90s"),
        ("1w", "7d"),
        ("2 weeks", "14d"),
        ("1.5h", "1h30m"),
        ("1,5 hours", "1h30m"),
        ("0.5s", "500ms"),
        ("PT10M", "10m"),
        ("pt1h30m", "1h30m"),
        ("P1D", "1d"),
        ("P1DT12H", "1d12h"),
        ("P1M", "30d"),
        ("1 month", "30d"),
        ("1y", "365d"),
        ("minute", "1m"),
        ("per minute", "1m"),
        ("per 10 minutes", "10m"),
        ("an hour", "1h"),
        ("/s", "1s"),
        ("5 days", "5d"),
        ("00:10:00", "10m"),
        ("01:00:30", "1h30s"),
        ("1m1h", "1h1m"),
        ("30m30m", "1h"),
        ("1 hour and 30 minutes", "1h30m"),
        ("1_000ms", "1000ms"),
    ];
    for (text, expected) in written {
        assert_eq!(meant(text).as_deref(), Some(expected), "{text}");
        let invalid = invalid("window", text);
        assert_eq!(invalid, format!("invalid window `{text}`: write `\"{expected}\"`"));
        assert!(read(expected).is_some(), "{expected}");
    }
}

#[test]
fn what_means_no_length_has_no_other_writing() {
    for text in [
        "",
        "-1m",
        "parsecs",
        "10 parsecs",
        "10us",
        "0.0001s",
        "10:00",
        "0m",
        "p",
        "pm",
        "1h30",
        "login",
        "1.5w",
        "1..5h",
        "h1",
        "99999999999999999999 weeks",
    ] {
        assert_eq!(meant(text), None, "{text}");
    }
}

#[test]
fn a_mistake_is_told_with_what_to_write() {
    assert_eq!(
        invalid("window", "60"),
        "a window is a string with a unit: write `\"60s\"` for 60 seconds"
    );
    assert_eq!(
        invalid("window", "60_000"),
        "a window is a string with a unit: write `\"60000s\"` for 60000 seconds, or `\"60000ms\"` for milliseconds"
    );
    assert_eq!(
        invalid("refill", "-1m"),
        "invalid refill `-1m`: write numbers and units, `d`, `h`, `m`, `s` or `ms`, the largest first, as in `\"1h30m\"`"
    );
    assert_eq!(
        invalid("block", " "),
        "the block is empty: write for example `\"500ms\"`, `\"10m\"` or `\"1h30m\"`"
    );
}
