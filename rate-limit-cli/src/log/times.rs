//! Times as they are written.

use clap::ValueEnum;
use jiff::Timestamp;

use crate::text;

/// How times are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Times {
    /// As 2026-11-30T08:15:00Z, with any offset, and fractions of a second
    Rfc3339,
    /// Seconds since 1970, with fractions or without
    Seconds,
    /// Milliseconds since 1970
    Milliseconds,
}

/// Reads times that are written alike.
#[derive(Debug)]
pub struct Reader {
    /// As it was given, or as the first one is written.
    times: Option<Times>,
    given: bool,
}

/// Why a time is not read.
#[derive(Debug, PartialEq, Eq)]
pub enum Unread {
    /// This one alone.
    Malformed(&'static str),
    /// It is not written as those before it, and nobody said which to take.
    Mixed(String),
}

/// What is wrong with a text that is no time at all, or none since 1970.
const NONE: &str = "is not RFC 3339, seconds or milliseconds";

/// Seconds since 1970 have no more digits before the year 5138, and milliseconds have more since 1973.
const MOST_DIGITS_OF_SECONDS: usize = 11;
const MOST_DIGITS_OF_MILLISECONDS: usize = 14;

impl Reader {
    pub const fn new(given: Option<Times>) -> Self {
        Self {
            times: given,
            given: given.is_some(),
        }
    }

    /// Microseconds since 1970.
    pub fn read(&mut self, text: &str) -> Result<u64, Unread> {
        let text = text.trim_ascii();
        let times = match (self.times, Times::of(text)) {
            (Some(times), Some(own)) if own == times => times,
            (None, Some(own)) => *self.times.insert(own),
            (_, None) => return Err(Unread::Malformed(NONE)),
            (Some(times), Some(own)) if self.given => return Err(Unread::Malformed(times.not(own))),
            (Some(times), Some(own)) => {
                return Err(Unread::Mixed(format!(
                    "the time `{}` is written as {}, and those before it as {}: write all alike, or say with --times which to take",
                    text::shown(text),
                    own.name(),
                    times.name()
                )));
            }
        };
        match times {
            Times::Rfc3339 => text
                .parse::<Timestamp>()
                .ok()
                .and_then(|time| u64::try_from(time.as_microsecond()).ok()),
            Times::Seconds => seconds(text),
            Times::Milliseconds => text.parse::<u64>().ok().and_then(|time| time.checked_mul(1_000)),
        }
        .ok_or(Unread::Malformed(NONE))
    }
}

impl Times {
    /// How a text is written, if it may be a time.
    fn of(text: &str) -> Option<Self> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        match text.as_bytes().get(digits) {
            None if digits == 0 || digits > MOST_DIGITS_OF_MILLISECONDS => None,
            None if digits > MOST_DIGITS_OF_SECONDS => Some(Self::Milliseconds),
            None => Some(Self::Seconds),
            Some(b'.') => Some(Self::Seconds),
            Some(b'-') if digits == 4 && text.as_bytes().get(7) == Some(&b'-') => Some(Self::Rfc3339),
            Some(_) => None,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Rfc3339 => "RFC 3339",
            Self::Seconds => "seconds",
            Self::Milliseconds => "milliseconds",
        }
    }

    /// What is wrong with a time that is written as another.
    const fn not(self, other: Self) -> &'static str {
        match (self, other) {
            (Self::Rfc3339, _) => "is not RFC 3339",
            (Self::Seconds, _) => "is not in seconds",
            (Self::Milliseconds, _) => "is not in milliseconds",
        }
    }
}

/// Digits, and others behind a point, of which those beyond microseconds are dropped.
fn seconds(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) || whole.len() > MOST_DIGITS_OF_SECONDS {
        return None;
    }
    let mut micros = whole.parse::<u64>().ok()?;
    let mut digits = fraction.bytes();
    for _ in 0..6 {
        micros = micros * 10 + u64::from(digits.next().map_or(0, |digit| digit - b'0'));
    }
    Some(micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: u64 = 1_764_460_800_000_000;

    fn read(text: &str) -> Result<u64, Unread> {
        Reader::new(None).read(text)
    }

    #[test]
    fn a_time_is_read_as_it_is_written() {
        for (text, micros) in [
            ("2025-11-30T00:00:00Z", AT),
            ("2025-11-30T01:30:00.25+01:30", AT + 250_000),
            ("2025-11-30 00:00:00Z", AT),
            (" 1764460800 ", AT),
            ("1764460800.5", AT + 500_000),
            ("1764460800.1234567", AT + 123_456),
            ("1764460800123", AT + 123_000),
            ("0", 0),
        ] {
            assert_eq!(read(text), Ok(micros), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_malformed() {
        for text in [
            "",
            "now",
            "-5",
            "1e9",
            "1764460800,5",
            "1764460800.5s",
            "2025-11-30",
            "2025-13-30T00:00:00Z",
            "2025-11-30T00:00:00",
            "1969-12-31T23:59:59Z",
            "1764460800123456",
            "30/Nov/2025:00:00:00",
        ] {
            assert_eq!(read(text), Err(Unread::Malformed(NONE)), "{text}");
        }
    }

    #[test]
    fn another_way_of_writing_ends_it_unless_one_was_given() {
        let mut found = Reader::new(None);
        assert_eq!(found.read("1764460800"), Ok(AT));
        let Err(Unread::Mixed(told)) = found.read("2025-11-30T00:00:00Z") else {
            panic!("it is mixed")
        };
        assert!(
            told.contains("is written as RFC 3339, and those before it as seconds"),
            "{told}"
        );
        let mut given = Reader::new(Some(Times::Seconds));
        assert_eq!(given.read("1764460800123"), Err(Unread::Malformed("is not in seconds")));
        assert_eq!(given.read("1764460800"), Ok(AT));
    }
}
