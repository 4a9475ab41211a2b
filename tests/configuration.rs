//! Policies from files: what is taken, and in which words the rest is refused.

use std::time::Duration;

use rate_limit::{Policies, Policy};
use rstest::rstest;

fn json(text: &str) -> Result<Policies, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

fn yaml(text: &str) -> Result<Policies, String> {
    serde_saphyr::from_str(text).map_err(|error| error.to_string())
}

/// `p: { .. }`
fn policy(fields: &str) -> Result<Policies, String> {
    json(&format!(r#"{{"p": {{{fields}}}}}"#))
}

const MINUTE: Duration = Duration::from_secs(60);
const REFILL: Duration = Duration::from_secs(50);

#[rstest]
#[case::a_window(r#""count": 5, "window": "10m""#, Policy::sliding_window(5, 10 * MINUTE))]
#[case::two_units(r#""window": " 1h 30m", "count": 5"#, Policy::sliding_window(5, 90 * MINUTE))]
#[case::named(r#""algorithm": "sliding_window", "count": 5, "window": "500ms""#, Policy::sliding_window(5, MINUTE / 120))]
#[case::blocking(r#""count": 5, "window": "1m", "block": "2m""#, Policy::sliding_window(5, MINUTE).block(2 * MINUTE))]
#[case::fixed(
    r#""algorithm": "fixed-window", "count": 5, "window": "1m""#,
    Policy::fixed_window(5, MINUTE)
)]
#[case::a_bucket(r#""capacity": 3, "refill": "50s""#, Policy::token_bucket(3, REFILL))]
#[case::a_bucket_by_other_names(r#""refill-seconds": 50, "bucket-capacity": 3"#, Policy::token_bucket(3, REFILL))]
#[case::a_bucket_named(
    r#""algorithm": "token-bucket", "capacity": 3, "refill": "50s", "block": "1m""#,
    Policy::token_bucket(3, REFILL).block(MINUTE)
)]
#[case::a_fast_bucket(
    r#""capacity": 3, "refill": "1ms500us""#,
    Policy::token_bucket(3, Duration::from_micros(1_500))
)]
#[case::the_largest(
    r#""count": 10000000, "window": "36500d", "block": "36500d""#,
    Policy::sliding_window(10_000_000, Policy::MAX_WINDOW).block(Policy::MAX_WINDOW)
)]
#[case::the_smallest(
    r#""count": 1, "window": "1ms", "block": "1ms""#,
    Policy::sliding_window(1, Policy::MIN_WINDOW).block(Policy::MIN_WINDOW)
)]
fn a_policy_is_read(#[case] fields: &str, #[case] expected: Policy) {
    let expected = Policies::new().with("p", expected);
    assert_eq!(policy(fields), Ok(expected.clone()));
    // JSON is YAML too, and some of it needs no quotes there.
    assert_eq!(yaml(&format!("p: {{{fields}}}")), Ok(expected.clone()));
    let plain = fields.replace('"', "").replace(", ", "\n  ");
    assert_eq!(yaml(&format!("p:\n  {plain}\n")), Ok(expected));
}

#[test]
fn several_are_read_and_one_alone() {
    let read = yaml("read-count: {capacity: 3, refill: 50s}\nm::login#2:\n  count: 5\n  window: 10m\n");
    let expected = Policies::new()
        .with("read-count", Policy::token_bucket(3, REFILL))
        .with("m::login#2", Policy::sliding_window(5, 10 * MINUTE));
    assert_eq!(read, Ok(expected));
    assert_eq!(json("{}"), Ok(Policies::new()));

    let alone = serde_json::from_str::<Policy>(r#"{"count": 5, "window": "1m"}"#);
    assert_eq!(alone.expect("nothing is wrong"), Policy::sliding_window(5, MINUTE));
    let alone = serde_json::from_str::<Policy>(r#"{"count": 5, "window": "1"}"#).expect_err("no unit");
    assert_eq!(
        alone.to_string(),
        "window: `1` has no unit: write `1s`, `1m` or `1h` at line 1 column 26"
    );
}

#[rstest]
#[case("", "p.count: is missing: a policy has both `count` and `window`")]
#[case(r#""block": "1m""#, "p.count: is missing: a policy has both `count` and `window`")]
#[case(r#""count": 5"#, "p.window: is missing: a policy has both `count` and `window`")]
#[case(r#""window": "1m""#, "p.count: is missing: a policy has both `count` and `window`")]
#[case(
    r#""capacity": 5"#,
    "p.refill: is missing: a policy has both `capacity` and `refill`"
)]
#[case(
    r#""refill-seconds": 5"#,
    "p.capacity: is missing: a policy has both `capacity` and `refill`"
)]
#[case(
    r#""algorithm": "token_bucket""#,
    "p.capacity: is missing: a policy has both `capacity` and `refill`"
)]
#[case(
    r#""count": 0, "window": "1m""#,
    "p.count: a count of 0 admits nobody: write 1 or more"
)]
#[case(
    r#""bucket-capacity": 0"#,
    "p.bucket-capacity: a capacity of 0 admits nobody: write 1 or more"
)]
#[case(
    r#""count": -1"#,
    "p.count: a count is a whole number from 1 to 10,000,000, and not -1"
)]
#[case(
    r#""count": 10000001"#,
    "p.count: a count is a whole number from 1 to 10,000,000, and not 10000001"
)]
#[case(
    r#""count": 99999999999999999999999"#,
    "p.count: a count is a whole number from 1 to 10,000,000, and not 100000000000000000000000"
)]
#[case(
    r#""count": 1.5"#,
    "p.count: a count is a whole number from 1 to 10,000,000, and not 1.5"
)]
#[case(
    r#""count": "5""#,
    "p.count: a count is a whole number from 1 to 10,000,000, and not the text \"5\""
)]
#[case(
    r#""count": true"#,
    "p.count: a count is a whole number from 1 to 10,000,000, and not true"
)]
#[case(
    r#""count": null"#,
    "p.count: a count is a whole number from 1 to 10,000,000, and not nothing"
)]
#[case(
    r#""count": [5]"#,
    "p.count: a count is a whole number from 1 to 10,000,000, and not a list"
)]
#[case(
    r#""count": {}"#,
    "p.count: a count is a whole number from 1 to 10,000,000, and not a map"
)]
#[case(
    r#""window": 10"#,
    r#"p.window: a window is a text such as "500ms", "10m" or "1h30m", and not 10, which has no unit"#
)]
#[case(
    r#""refill": false"#,
    r#"p.refill: a refill is a text such as "500ms", "10m" or "1h30m", and not false"#
)]
#[case(r#""window": "10""#, "p.window: `10` has no unit: write `10s`, `10m` or `10h`")]
#[case(
    r#""block": "10 min""#,
    "p.block: `min` is no unit: write `d`, `h`, `m`, `s` or `ms`"
)]
#[case(
    r#""window": "0s""#,
    r#"p.window: a window of 0 is none: write how long it is, as in "10m""#
)]
#[case(r#""window": "999us""#, "p.window: a window is at least 1 millisecond")]
#[case(r#""block": "1us""#, "p.block: a block is at least 1 millisecond")]
#[case(r#""window": "36501d""#, "p.window: a window is at most 36,500 days")]
#[case(
    r#""refill-seconds": 0"#,
    r#"p.refill-seconds: a refill of 0 is none: write how long it is, as in "10m""#
)]
#[case(
    r#""refill-seconds": 18446744073709551615"#,
    "p.refill-seconds: a refill is at most 36,500 days"
)]
#[case(
    r#""refill-seconds": "50s""#,
    "p.refill-seconds: a refill here is a whole number of seconds, such as 50, and not the text \"50s\""
)]
#[case(
    r#""capacity": 36501, "refill": "1d""#,
    "p.refill: a bucket fills within 36,500 days: use a smaller capacity or a shorter refill"
)]
#[case(
    r#""algorithm": "leaky""#,
    "p.algorithm: `algorithm` is `sliding_window`, `token_bucket` or `fixed_window`, and not `leaky`"
)]
#[case(
    r#""algorithm": 1"#,
    "p.algorithm: `algorithm` is `sliding_window`, `token_bucket` or `fixed_window`, and not 1"
)]
#[case(
    r#""capacity": 3, "refill": "50s", "window": "1m""#,
    "p.window: a token bucket has no count and no window: write `capacity` and `refill`"
)]
#[case(
    r#""algorithm": "fixed_window", "count": 3, "window": "1m", "refill-seconds": 50"#,
    "p.refill-seconds: only a token bucket has a capacity and a refill: write `count` and `window`, or another `algorithm`"
)]
#[case(r#""count": 1, "count": 1"#, "p.count: is given twice: leave out one of them")]
#[case(
    r#""capacity": 1, "bucket-capacity": 1"#,
    "p.bucket-capacity: says the same as `capacity`, which is given already: leave out one of them"
)]
#[case(
    r#""refill-seconds": 1, "refill": "1s""#,
    "p.refill: says the same as `refill-seconds`, which is given already: leave out one of them"
)]
#[case(r#""windw": "1m""#, "p.windw: there is no such field: did you mean `window`")]
#[case(
    r#""banana": 1"#,
    "p.banana: there is no such field: write `algorithm`, `count`, `window`, `capacity`, `bucket-capacity`, `refill`, \
     `refill-seconds`, `block`"
)]
fn a_mistake_is_told_with_its_path(#[case] fields: &str, #[case] message: &str) {
    let told = policy(fields).expect_err("it is a mistake");
    let (words, position) = told.rsplit_once(" at line 1 column ").expect("JSON tells the position");
    assert_eq!(words, message);
    assert!(position.parse::<usize>().is_ok(), "{told}");

    if !message.contains("twice") {
        let told = yaml(&format!("p: {{{fields}}}")).expect_err("it is a mistake");
        // A number that is too large for JSON is another there.
        let words = message.split(", and not 1000000000").next().unwrap_or(message);
        assert!(told.contains(words), "{told}");
    }
}

#[rstest]
#[case(
    r#"{"read-count": 5}"#,
    "read-count: a policy is a map of its numbers, such as `count` and `window`, and not 5"
)]
#[case(
    r#"{"read-count": null}"#,
    "read-count: a policy is a map of its numbers, such as `count` and `window`, and not nothing"
)]
#[case(
    r#"{"read-count": "5 in 10m"}"#,
    "read-count: a policy is a map of its numbers, such as `count` and `window`, and not the text \"5 in 10m\""
)]
#[case(
    r#"{"p": {"count": 1, "window": "1m"}, "p": {"count": 1, "window": "1m"}}"#,
    "p: is given twice: leave out one of them"
)]
#[case(r#"{" ": {}}"#, "a policy has an empty name: write the one that functions ask for")]
#[case("[]", "invalid type: sequence, expected a map of names to policies")]
fn a_mistake_of_a_whole_policy_is_told(#[case] text: &str, #[case] message: &str) {
    let told = json(text).expect_err("it is a mistake");
    assert_eq!(told.split(" at line 1 column ").next(), Some(message));
}

#[rstest]
#[case("refill: 50", "line 6 column 11: read-count.refill: a refill is a text such as")]
#[case(
    "refil: 50s",
    "line 6 column 3: read-count.refil: there is no such field: did you mean `refill`"
)]
#[case(
    "bucket-capacity: 3",
    "line 6 column 3: read-count.bucket-capacity: says the same as `capacity`"
)]
fn yaml_tells_where_the_mistake_is(#[case] line: &str, #[case] message: &str) {
    let text = format!("login:\n  count: 5\n  window: 10m\nread-count:\n  capacity: 3\n  {line}\n");
    let told = yaml(&text).expect_err("it is a mistake");
    assert!(told.contains(message), "{told}");
}

#[test]
fn what_policies_share_in_yaml_is_merged() {
    let read = yaml("login: &usual\n  count: 5\n  window: 10m\nexport: *usual\nsearch:\n  <<: *usual\n  window: 1m\n");
    let policy = |window| Policy::sliding_window(5, window);
    let expected = Policies::new()
        .with("login", policy(10 * MINUTE))
        .with("export", policy(10 * MINUTE));
    assert_eq!(read, Ok(expected.with("search", policy(MINUTE))));
}
