//! Lengths of time, as people tell them.

use std::fmt;
use std::time::Duration;

/// In its two largest units, rounded up, so that nobody comes too early.
#[derive(Clone, Copy, Debug)]
pub(super) struct Left(pub(super) Duration);

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < Duration::from_secs(1) {
            return write!(f, "{}ms", self.0.as_micros().div_ceil(1_000));
        }
        let seconds = self.0.as_secs() + u64::from(self.0.subsec_nanos() > 0);
        let units = [(86_400, 'd', 3_600, 'h'), (3_600, 'h', 60, 'm'), (60, 'm', 1, 's')];
        for (large, its_name, small, name) in units {
            if seconds >= large {
                let rest = (seconds % large).div_ceil(small);
                return match (seconds / large, rest) {
                    (whole, 0) => write!(f, "{whole}{its_name}"),
                    (whole, rest) if rest * small == large => write!(f, "{}{its_name}", whole + 1),
                    (whole, rest) => write!(f, "{whole}{its_name} {rest}{name}"),
                };
            }
        }
        write!(f, "{seconds}s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_told_in_two_units_and_never_too_short() {
        let told = |millis| Left(Duration::from_millis(millis)).to_string();
        assert_eq!(told(0), "0ms");
        assert_eq!(Left(Duration::from_micros(1)).to_string(), "1ms");
        assert_eq!([999, 1_000, 1_001, 59_001].map(told), ["999ms", "1s", "2s", "1m"]);
        assert_eq!([598_200, 600_000, 3_599_001].map(told), ["9m 59s", "10m", "1h"]);
        assert_eq!(told(3_601_000), "1h 1m");
        assert_eq!(told((2 * 86_400 + 1) * 1_000), "2d 1h");
        assert_eq!(told((86_400 + 82_801) * 1_000), "2d");
    }
}
