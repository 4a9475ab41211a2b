//! Limits the log lines that calls cause: one a minute for each function, with a count of those left out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Decides which lines of one kind are logged.
#[derive(Debug)]
pub(crate) struct Throttle(Mutex<BTreeMap<&'static str, Line>>);

/// The last line that was logged for a function.
#[derive(Debug)]
struct Line {
    at: Instant,
    left_out: u64,
}

impl Throttle {
    const INTERVAL: Duration = Duration::from_secs(60);
    /// The number of functions whose log lines are counted separately. Further functions share one count. Function names are
    /// static, so only a program that leaks memory for names has more.
    const MAX_FUNCTIONS: usize = 1_024;

    pub(crate) const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// Returns the field `left_out` of a line about this function, or `None` if the line is left out.
    #[cold]
    pub(crate) fn pass(&self, function: &'static str) -> Option<Option<u64>> {
        self.pass_at(function, Instant::now())
    }

    fn pass_at(&self, function: &'static str, now: Instant) -> Option<Option<u64>> {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_room = lines.len() < Self::MAX_FUNCTIONS || lines.contains_key(function);
        let function = if is_room { function } else { "" };
        let Some(line) = lines.get_mut(function) else {
            lines.insert(function, Line { at: now, left_out: 0 });
            return Some(None);
        };
        if now.saturating_duration_since(line.at) < Self::INTERVAL {
            line.left_out += 1;
            return None;
        }
        line.at = now;
        let left_out = std::mem::take(&mut line.left_out);
        Some((left_out > 0).then_some(left_out))
    }
}

/// The names that a line was logged for which is logged once for each name.
#[derive(Debug)]
pub(crate) struct Names(Mutex<BTreeSet<&'static str>>);

impl Names {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(BTreeSet::new()))
    }

    /// Whether no line was logged for this name, as one is to be now.
    #[cold]
    pub(crate) fn is_new(&self, name: &'static str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(name)
    }
}

/// Logs a line that a call of a function can cause, at most once a minute for each function: `log_throttled!(warn, method, %error, "..")`.
/// The field `left_out` has how many were left out since the last line.
macro_rules! log_throttled {
    ($level:ident, $method:expr, $($fields:tt)+) => {{
        static THROTTLE: $crate::throttle::Throttle = $crate::throttle::Throttle::new();
        let method: &'static str = $method;
        if let Some(left_out) = THROTTLE.pass(method) {
            // A line about no function has none.
            let method = Some(method).filter(|method| !method.is_empty());
            tracing::$level!(method, left_out, $($fields)+);
        }
    }};
}

pub(crate) use log_throttled;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f_10_a_line_a_function_a_minute_with_a_count() {
        let (throttle, start) = (Throttle::new(), Instant::now());
        let pass = |function, millis| throttle.pass_at(function, start + Duration::from_millis(millis));
        assert_eq!(pass("a", 0), Some(None));
        for millis in 0..999 {
            assert_eq!(pass("a", millis), None);
        }
        assert_eq!(pass("b", 999), Some(None), "each function has its own");
        assert_eq!(pass("a", 59_999), None);
        assert_eq!(pass("a", 60_000), Some(Some(1_000)));
        assert_eq!(pass("a", 119_999), None);
        assert_eq!(pass("a", 200_000), Some(Some(1)));
        assert_eq!(pass("a", 260_000), Some(None), "nothing was left out");
    }

    #[test]
    fn f_10_the_memory_of_a_throttle_is_bounded() {
        let (throttle, start) = (Throttle::new(), Instant::now());
        let passed = (0..10_000).filter(|name| {
            let name: &'static str = name.to_string().leak();
            throttle.pass_at(name, start).is_some()
        });
        assert_eq!(passed.count(), Throttle::MAX_FUNCTIONS + 1, "the others share one line");
        let functions = throttle.0.lock().unwrap_or_else(PoisonError::into_inner).len();
        assert_eq!(functions, Throttle::MAX_FUNCTIONS + 1);
        assert_eq!(throttle.pass_at("0", start), None);
    }
}
