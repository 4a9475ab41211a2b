//! What the page shows, as JSON.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;

use super::breakers;
use super::limits::{self, Limit};
use super::question::hash;
use super::tally::{Series, Tally};
use super::watch::Watch;
use crate::limiter::Limiter;
use crate::observe;

/// How many seconds of the past a page begins with.
pub(super) const HISTORY: u32 = 300;
/// How many each event brings, so that a page which misses some of them knows all.
pub(super) const RECENT: u32 = 10;
/// How many clients who are refused are listed.
const LISTED: usize = 100;

/// Views that were made in this second, for whoever else asks: many pages make no more work than one.
#[derive(Default)]
pub(super) struct Views(Mutex<BTreeMap<u32, (u32, Arc<str>)>>);

impl Views {
    /// A view with so many seconds of the past.
    pub(super) fn of(&self, limiter: &Limiter, seconds: u32) -> Arc<str> {
        let second = Watch::second(limiter.watched().now());
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match made.get(&seconds) {
            Some((when, view)) if *when == second => Arc::clone(view),
            _ => {
                let view = View::of(limiter, seconds);
                // Nothing in it can fail to be written.
                let view: Arc<str> = serde_json::to_string(&view).unwrap_or_default().into();
                made.insert(seconds, (second, Arc::clone(&view)));
                view
            }
        }
    }
}

#[derive(Serialize)]
struct View {
    /// The last second that is over. The first is 1.
    second: u32,
    store: Store,
    functions: Vec<Function>,
    refused: Refused,
}

#[derive(Serialize)]
struct Store {
    kind: &'static str,
    degraded: bool,
    open_breakers: i64,
    unsettled: u64,
}

#[derive(Serialize)]
struct Function {
    name: &'static str,
    limits: Vec<LimitView>,
    /// By outcome.
    totals: BTreeMap<&'static str, u64>,
    by_fallback: u64,
    near: u64,
    admitted: Vec<u32>,
    refused: Vec<u32>,
    other: Vec<u32>,
}

#[derive(Serialize)]
struct LimitView {
    policy: Option<String>,
    entry: Option<&'static str>,
}

#[derive(Serialize)]
struct Refused {
    clients: Vec<RefusedClient>,
    /// How many more there are.
    more: usize,
    /// How many refusals were not kept for want of room, since the start.
    lost: u64,
}

#[derive(Serialize)]
struct RefusedClient {
    client: String,
    function: &'static str,
    policy: String,
    retry_after_ms: u64,
    times: u64,
}

impl View {
    fn of(limiter: &Limiter, seconds: u32) -> Self {
        let watch = limiter.watched();
        let now = watch.now();
        let second = Watch::second(now) - 1;
        Self {
            second,
            store: Store {
                kind: observe::kind(limiter.store()),
                degraded: limiter.is_degraded(),
                open_breakers: breakers::open(),
                unsettled: limiter.unsettled(),
            },
            functions: functions(limiter, second, seconds),
            refused: Refused::at(now, watch),
        }
    }
}

fn functions(limiter: &Limiter, second: u32, seconds: u32) -> Vec<Function> {
    let mut functions: BTreeMap<&'static str, Function> = BTreeMap::new();
    let tallies = &limiter.watched().tallies;
    for tally in tallies.iter() {
        functions.insert(tally.method.name(), Function::counted(tally, second, seconds));
    }
    for limit in limits::of(limiter) {
        let name = limit.method.name();
        let function = functions.entry(name).or_insert_with(|| Function::not_called(name));
        function.limits.push(LimitView::of(&limit));
    }
    functions.into_values().collect()
}

impl Function {
    fn not_called(name: &'static str) -> Self {
        Self {
            name,
            limits: Vec::new(),
            totals: BTreeMap::new(),
            by_fallback: 0,
            near: 0,
            admitted: Vec::new(),
            refused: Vec::new(),
            other: Vec::new(),
        }
    }

    fn counted(tally: &Tally, second: u32, seconds: u32) -> Self {
        let series = |series| tally.seconds(series, second, seconds);
        Self {
            totals: tally.totals().filter(|(_, total)| *total > 0).collect(),
            by_fallback: tally.by_fallback(),
            near: tally.near(),
            admitted: series(Series::Admitted),
            refused: series(Series::Refused),
            other: series(Series::Other),
            ..Self::not_called(tally.method.name())
        }
    }
}

impl LimitView {
    fn of(limit: &Limit) -> Self {
        Self {
            policy: limit.policy.map(|policy| policy.to_string()),
            entry: limit.entry,
        }
    }
}

impl Refused {
    fn at(now: Duration, watch: &Watch) -> Self {
        let all = watch.refused.at(now);
        let clients = all.iter().take(LISTED).map(|refusal| RefusedClient {
            client: hash(refusal.client()),
            function: refusal.function(),
            policy: refusal.policy.to_string(),
            retry_after_ms: millis(refusal.until.saturating_sub(now)),
            times: refusal.times,
        });
        Self {
            clients: clients.collect(),
            more: all.len().saturating_sub(LISTED),
            lost: watch.refused.lost(),
        }
    }
}

/// Rounded up: a wait is over when it is told to be.
pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_micros().div_ceil(1_000)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Until the second is over.
    #[test]
    fn all_who_ask_in_a_second_are_given_one_view() {
        let (limiter, views) = (Limiter::embedded(), Views::default());
        let second = || Watch::second(limiter.watched().now());
        let (before, first) = (second(), views.of(&limiter, RECENT));
        let again = views.of(&limiter, RECENT);
        if second() == before {
            assert!(Arc::ptr_eq(&first, &again));
            assert!(!Arc::ptr_eq(&first, &views.of(&limiter, HISTORY)));
        }
        while second() == before {
            std::thread::yield_now();
        }
        assert_ne!(views.of(&limiter, RECENT), first, "it tells which second it is of");
        assert_eq!(views.0.lock().expect("nobody panicked").len(), 2);
    }

    #[test]
    fn a_wait_is_told_in_milliseconds_rounded_up() {
        let micros = [0, 1, 1_000, 1_001].map(|micros| millis(Duration::from_micros(micros)));
        assert_eq!(micros, [0, 1, 1, 2]);
    }
}
