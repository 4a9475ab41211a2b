//! Which numbers to take.

use jiff::SignedDuration;
use rate_limit::Policy;
use serde::Serialize;

use super::bursts::{Bursts, Size};
use super::gaps::{Gaps, nearest_rank};
use super::needs;
use crate::log::Timelines;
use crate::text::Share;
use crate::trial::{self, slots::Slots};

/// What is advised, and why.
#[derive(Debug)]
pub struct Advice {
    /// By the bursts.
    pub bucket: Option<Advised>,
    /// The same refill with more room, where that is not enough for the clients.
    pub larger_bucket: Option<Advised>,
    pub window: Option<Advised>,
}

/// A policy, and what it would have done on the log.
#[derive(Clone, Debug, Serialize)]
pub struct Advised {
    /// In the words of `replay`.
    pub policy: String,
    pub why: Vec<String>,
    pub events_refused_share: f64,
    pub clients_refused_share: f64,
    pub attribute: String,
    pub configuration: String,
    #[serde(skip)]
    pub numbers: Policy,
}

/// What is to be protected.
#[derive(Clone, Copy, Debug)]
pub struct Aim {
    /// This part of the bursts, and of the clients.
    pub protect: f64,
    /// In microseconds.
    pub window: u64,
}

impl Advice {
    pub fn new(timelines: &Timelines, bursts: &Bursts, gaps: &Gaps, aim: Aim) -> Self {
        let mut advised = Vec::new();
        if let (Some(size), Some((refill, why_refill))) = (bursts.covering(aim.protect), refill(gaps)) {
            let why = vec![why_capacity(size), why_refill.clone()];
            advised.extend(
                policy(Policy::try_token_bucket, size.events, refill).map(|policy| (Kind::Bucket, policy, why)),
            );
            let needed = needed_by(timelines, aim.protect, |times| needs::capacity(times, refill));
            if needed > size.events {
                let why = format!(
                    "at least {} of clients are never refused by it on this log",
                    Share(aim.protect)
                );
                let larger = policy(Policy::try_token_bucket, needed, refill);
                advised.extend(larger.map(|policy| (Kind::LargerBucket, policy, vec![why, why_refill])));
            }
        }
        let count = needed_by(timelines, aim.protect, |times| needs::count(times, aim.window));
        let why = format!(
            "at least {} of clients have no more events in any {}",
            Share(aim.protect),
            span(aim.window)
        );
        advised.extend(
            policy(Policy::try_sliding_window, count, aim.window).map(|policy| (Kind::Window, policy, vec![why])),
        );

        let stacks: Vec<&[Policy]> = advised
            .iter()
            .map(|(_, policy, _)| std::slice::from_ref(policy))
            .collect();
        let (first, last) = timelines.first_and_last();
        let outcomes = trial::run(&stacks, timelines, &Slots::between(first, last), &|_| ());
        let mut advice = Self {
            bucket: None,
            larger_bucket: None,
            window: None,
        };
        for ((kind, policy, why), outcome) in advised.iter().zip(outcomes) {
            let place = match kind {
                Kind::Bucket => &mut advice.bucket,
                Kind::LargerBucket => &mut advice.larger_bucket,
                Kind::Window => &mut advice.window,
            };
            *place = Some(Advised {
                policy: policy.to_string(),
                why: why.clone(),
                events_refused_share: outcome.events_refused as f64 / timelines.events() as f64,
                clients_refused_share: outcome.clients_refused as f64 / timelines.clients() as f64,
                attribute: attribute(*policy),
                configuration: configuration(*policy),
                numbers: *policy,
            });
        }
        advice
    }
}

enum Kind {
    Bucket,
    LargerBucket,
    Window,
}

fn policy<E>(new: fn(u32, std::time::Duration) -> Result<Policy, E>, count: u64, micros: u64) -> Option<Policy> {
    new(u32::try_from(count).ok()?, std::time::Duration::from_micros(micros)).ok()
}

/// What the client needs who needs more than this part of them.
fn needed_by(timelines: &Timelines, protect: f64, needs: impl Fn(&[u64]) -> u64) -> u64 {
    let mut needed: Vec<u64> = timelines.each().map(needs).collect();
    needed.sort_unstable();
    nearest_rank(&needed, protect).unwrap_or(1)
}

fn why_capacity(size: Size) -> String {
    let coverage = Share(size.coverage);
    match size.events {
        1 => format!("{coverage} of bursts are of a single event"),
        events => format!("{coverage} of bursts are of {events} events or fewer"),
    }
}

/// A readable time near the 25th percentile of gaps: most gaps are longer, and the bucket gains a token meanwhile; for those that are not it
/// has its capacity. If that many are of no length, the least percentile that has one. Whole milliseconds, as the attribute takes it.
fn refill(gaps: &Gaps) -> Option<(u64, String)> {
    let percentile = |percent| gaps.percentile(percent).filter(|gap| *gap > 0);
    let refill = match percentile(25) {
        Some(gap) => readable(gaps.percentile(20)?, gap, gaps.percentile(30)?),
        None => in_milliseconds((30..=95).step_by(5).find_map(percentile)?),
    };
    let shorter = Share(gaps.shorter_than(refill));
    Some((refill, format!("{shorter} of gaps are shorter than {}", span(refill))))
}

const STEPS: [u64; 15] = [
    86_400_000_000,
    43_200_000_000,
    21_600_000_000,
    3_600_000_000,
    1_800_000_000,
    600_000_000,
    300_000_000,
    60_000_000,
    30_000_000,
    10_000_000,
    5_000_000,
    1_000_000,
    100_000,
    10_000,
    1_000,
];

/// The roundest time that is no more than a tenth off and between these.
fn readable(least: u64, time: u64, most: u64) -> u64 {
    let rounded = STEPS.into_iter().map(|step| (time + step / 2) / step * step);
    let near = |rounded: &u64| *rounded > 0 && (least..=most).contains(rounded) && rounded.abs_diff(time) <= time / 10;
    rounded.into_iter().find(near).unwrap_or(in_milliseconds(time))
}

/// The nearest, and never none.
fn in_milliseconds(micros: u64) -> u64 {
    ((micros + 500) / 1_000).max(1) * 1_000
}

pub fn span(micros: u64) -> String {
    format!(
        "{:#}",
        SignedDuration::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))
    )
}

/// The fields of a policy, as configuration has them.
fn fields(policy: Policy) -> serde_json::Map<String, serde_json::Value> {
    match serde_json::to_value(policy) {
        Ok(serde_json::Value::Object(fields)) => fields,
        _ => serde_json::Map::new(),
    }
}

fn attribute(policy: Policy) -> String {
    let fields = fields(policy);
    let algorithm = fields
        .contains_key("capacity")
        .then(|| "algorithm = token_bucket".to_owned());
    let fields = fields.iter().map(|(name, value)| format!("{name} = {value}"));
    let arguments: Vec<String> = algorithm.into_iter().chain(fields).collect();
    format!("#[limit_per_time({}, key = ..)]", arguments.join(", "))
}

/// YAML.
fn configuration(policy: Policy) -> String {
    let fields = fields(policy);
    let fields: Vec<String> = fields
        .iter()
        .map(|(name, value)| {
            format!(
                "{name}: {}",
                value.as_str().map_or_else(|| value.to_string(), str::to_owned)
            )
        })
        .collect();
    format!("advised: {{ {} }}", fields.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refill_is_readable_and_between_its_percentiles() {
        const SECOND: u64 = 1_000_000;
        let seconds =
            |least: u64, time: u64, most: u64| readable(least * SECOND, time * SECOND, most * SECOND) / SECOND;
        assert_eq!(seconds(39, 50, 62), 50);
        assert_eq!(seconds(39, 57, 62), 60);
        assert_eq!(seconds(39, 41, 62), 40);
        assert_eq!(seconds(41, 41, 41), 41);
        assert_eq!(seconds(3_000, 3_500, 4_000), 3_600);
        assert_eq!(readable(41_000, 41_000, 41_000), 41_000);
    }

    /// The attribute takes no smaller unit.
    #[test]
    fn a_refill_is_of_whole_milliseconds() {
        let refill = |gap: u64| {
            let times: Vec<u64> = (0..10).map(|n| n * gap).collect();
            refill(&Gaps::of([&times[..]].into_iter())).map(|(refill, _)| refill)
        };
        assert_eq!(
            [1, 300, 1_499, 1_500, 41_234_567].map(refill),
            [1_000, 1_000, 1_000, 2_000, 41_235_000].map(Some)
        );
        assert_eq!(refill(0), None);
        let mostly_none = Gaps::of([&[0, 0, 0, 0, 300][..]].into_iter());
        assert_eq!(super::refill(&mostly_none).map(|(refill, _)| refill), Some(1_000));
    }

    #[test]
    fn what_is_advised_can_be_pasted() {
        let bucket = "3 and one more each 50s".parse().expect("a policy");
        assert_eq!(
            attribute(bucket),
            r#"#[limit_per_time(algorithm = token_bucket, capacity = 3, refill = "50s", key = ..)]"#
        );
        assert_eq!(configuration(bucket), "advised: { capacity: 3, refill: 50s }");
        let window = "5 in 1h30m".parse().expect("a policy");
        assert_eq!(
            attribute(window),
            r#"#[limit_per_time(count = 5, window = "1h30m", key = ..)]"#
        );
        let read: rate_limit::Policies = serde_saphyr::from_str(&configuration(window)).expect("policies");
        assert_eq!(read.get("advised"), Some(window));
    }
}
