//! Times and lengths of time inside the stores: whole microseconds.

use std::fmt;
use std::time::Duration;

/// A length of time in whole microseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Span(pub(crate) u64);

impl Span {
    /// Rounded up, so that a wait is never told too short.
    pub(crate) const fn from_duration(duration: Duration) -> Self {
        let micros = duration.as_nanos().div_ceil(1_000);
        Self(if micros > u64::MAX as u128 {
            u64::MAX
        } else {
            micros as u64
        })
    }

    /// Rounded up to whole seconds, and at least one: who waits this long is admitted, and nobody is told not to wait.
    pub(crate) const fn in_whole_seconds(self) -> Self {
        let seconds = self.0.div_ceil(1_000_000);
        Self(if seconds == 0 { 1 } else { seconds } * 1_000_000)
    }

    pub(crate) const fn as_seconds(self) -> u64 {
        self.0 / 1_000_000
    }

    pub(crate) const fn to_duration(self) -> Duration {
        Duration::from_micros(self.0)
    }
}

/// As the attribute takes it: `1h30m`, `500ms`. Below a millisecond the rest is in `us`.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 6] = [
            (86_400_000_000, "d"),
            (3_600_000_000, "h"),
            (60_000_000, "m"),
            (1_000_000, "s"),
            (1_000, "ms"),
            (1, "us"),
        ];
        if self.0 == 0 {
            return f.write_str("0s");
        }
        let mut rest = self.0;
        for (unit, name) in UNITS {
            if rest >= unit {
                write!(f, "{}{name}", rest / unit)?;
                rest %= unit;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_reads_as_the_attribute_takes_it() {
        let written = |micros| Span(micros).to_string();
        assert_eq!(written(0), "0s");
        assert_eq!(written(500_000), "500ms");
        assert_eq!(written(600_000_000), "10m");
        assert_eq!(written(5_400_000_000), "1h30m");
        assert_eq!(written(86_400_000_000), "1d");
        assert_eq!(written(1_500), "1ms500us");
    }

    #[test]
    fn hdr_01_a_wait_is_rounded_up_to_whole_seconds() {
        let seconds = |micros| Span(micros).in_whole_seconds().as_seconds();
        assert_eq!(
            [1_000, 499_000, 500_000, 999_000, 1_000_000, 59_000_100].map(seconds),
            [1, 1, 1, 1, 1, 60]
        );
        assert_eq!(seconds(0), 1);
    }

    #[test]
    fn a_length_below_a_microsecond_is_rounded_up() {
        assert_eq!(Span::from_duration(Duration::from_nanos(1_000_001)), Span(1_001));
        assert_eq!(Span::from_duration(Duration::MAX), Span(u64::MAX));
    }
}
