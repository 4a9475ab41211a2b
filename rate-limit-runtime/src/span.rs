//! Times and lengths of time inside the stores: whole microseconds.

use std::fmt;
use std::str::FromStr;
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
        Self((if seconds == 0 { 1 } else { seconds }).saturating_mul(1_000_000))
    }

    pub(crate) const fn as_seconds(self) -> u64 {
        self.0 / 1_000_000
    }

    pub(crate) const fn to_duration(self) -> Duration {
        Duration::from_micros(self.0)
    }
}

/// The units, the largest first.
const UNITS: [(u64, &str); 6] = [
    (86_400_000_000, "d"),
    (3_600_000_000, "h"),
    (60_000_000, "m"),
    (1_000_000, "s"),
    (1_000, "ms"),
    (1, "us"),
];

/// As the attribute takes it: `1h30m`, `500ms`. Below a millisecond the rest is in `us`.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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

/// As it is displayed, and as the attribute takes it: the largest unit first, each once, with blanks between if you like. The error is
/// what to write instead.
impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const EXAMPLES: &str = "write for example \"500ms\", \"10m\" or \"1h30m\"";
        let mut rest = text.trim();
        let mut units = UNITS.iter();
        let mut micros = 0_u64;
        if rest.is_empty() {
            return Err(format!("the text is empty: {EXAMPLES}"));
        }
        while !rest.is_empty() {
            let (digits, after) = split_where(rest, |c| !c.is_ascii_digit());
            let (unit, after) = split_where(after.trim_start(), |c| !c.is_alphabetic());
            match (digits, unit) {
                ("", _) => return Err(format!("`{text}` is no length of time: {EXAMPLES}")),
                (_, "") if after.is_empty() => {
                    return Err(format!(
                        "`{digits}` has no unit: write `{digits}s`, `{digits}m` or `{digits}h`"
                    ));
                }
                (_, "") => return Err(format!("`{text}` is no length of time: {EXAMPLES}")),
                _ if UNITS.iter().all(|(_, name)| *name != unit) => {
                    return Err(format!("`{unit}` is no unit: write `d`, `h`, `m`, `s` or `ms`"));
                }
                _ => {}
            }
            // Those before it are passed over for good.
            let Some((length, _)) = units.find(|(_, name)| *name == unit) else {
                return Err(format!(
                    "the units of `{text}` are out of order: the largest comes first, each once"
                ));
            };
            micros = digits
                .parse::<u64>()
                .ok()
                .and_then(|number| number.checked_mul(*length))
                .and_then(|part| micros.checked_add(part))
                .ok_or_else(|| format!("`{text}` is too long: a length of time is at most 36,500 days"))?;
            rest = after.trim_start();
        }
        Ok(Self(micros))
    }
}

fn split_where(text: &str, ends: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(ends).unwrap_or(text.len()))
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
    fn a_span_is_read_as_it_is_written() {
        for micros in [0, 1, 1_500, 500_000, 5_400_000_000, 90_061_001_001, u64::MAX] {
            assert_eq!(Span(micros).to_string().parse(), Ok(Span(micros)));
        }
        assert_eq!(" 1 h 30 m ".parse(), Ok(Span(5_400_000_000)));
        let wrong = |text: &str| text.parse::<Span>().expect_err(text);
        assert_eq!(
            wrong(" "),
            "the text is empty: write for example \"500ms\", \"10m\" or \"1h30m\""
        );
        assert_eq!(wrong("10"), "`10` has no unit: write `10s`, `10m` or `10h`");
        assert_eq!(wrong("1h30"), "`30` has no unit: write `30s`, `30m` or `30h`");
        assert_eq!(wrong("10 min"), "`min` is no unit: write `d`, `h`, `m`, `s` or `ms`");
        assert_eq!(wrong("10M"), "`M` is no unit: write `d`, `h`, `m`, `s` or `ms`");
        for text in ["-1m", "m", "1.5h", "1m,5s"] {
            assert_eq!(
                wrong(text),
                format!("`{text}` is no length of time: write for example \"500ms\", \"10m\" or \"1h30m\"")
            );
        }
        for text in ["1m1h", "1m1m", "1ms1s"] {
            assert_eq!(
                wrong(text),
                format!("the units of `{text}` are out of order: the largest comes first, each once")
            );
        }
        for text in ["99999999999999999999s", "999999999999999d", "1s18446744073709551615us"] {
            assert_eq!(
                wrong(text),
                format!("`{text}` is too long: a length of time is at most 36,500 days")
            );
        }
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
    fn f_18_the_longest_wait_is_told() {
        let told = Span::from_duration(Duration::MAX).in_whole_seconds();
        assert_eq!((told, told.as_seconds()), (Span(u64::MAX), 18_446_744_073_709));
    }

    #[test]
    fn a_length_below_a_microsecond_is_rounded_up() {
        assert_eq!(Span::from_duration(Duration::from_nanos(1_000_001)), Span(1_001));
        assert_eq!(Span::from_duration(Duration::MAX), Span(u64::MAX));
    }
}
