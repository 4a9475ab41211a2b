//! A length of time as the attribute takes it: `"500ms"`, `"10m"`, `"1h30m"`, `"1d"`.

use syn::{Error, LitStr, Result};

use crate::suggest;

/// Units, from the largest, in microseconds.
const UNITS: [(&str, u64); 5] = [
    ("d", 86_400_000_000),
    ("h", 3_600_000_000),
    ("m", 60_000_000),
    ("s", 1_000_000),
    ("ms", 1_000),
];

/// What people write instead of a unit.
const ALIASES: [(&str, &str); 18] = [
    ("day", "d"),
    ("days", "d"),
    ("hour", "h"),
    ("hours", "h"),
    ("hr", "h"),
    ("hrs", "h"),
    ("min", "m"),
    ("mins", "m"),
    ("minute", "m"),
    ("minutes", "m"),
    ("sec", "s"),
    ("secs", "s"),
    ("second", "s"),
    ("seconds", "s"),
    ("msec", "ms"),
    ("millis", "ms"),
    ("millisecond", "ms"),
    ("milliseconds", "ms"),
];

/// Above this a policy cannot be built.
pub(crate) const MAX: u64 = 36_500 * 86_400_000_000;

/// Reads the length of the argument `name` in microseconds.
pub(crate) fn parse(name: &str, literal: &LitStr) -> Result<u64> {
    let micros = read(name, &literal.value()).map_err(|message| Error::new(literal.span(), message))?;
    match micros {
        0 => Err(Error::new(
            literal.span(),
            format_args!("the {name} is empty: write how long it is, as in `\"10m\"`"),
        )),
        MAX.. if micros > MAX => Err(Error::new(
            literal.span(),
            format_args!("a {name} is at most 36,500 days"),
        )),
        _ => Ok(micros),
    }
}

fn read(name: &str, text: &str) -> std::result::Result<u64, String> {
    const EXAMPLES: &str = "write for example `\"500ms\"`, `\"10m\"` or `\"1h30m\"`";
    let mut rest = text.trim();
    let mut micros = 0_u64;
    let mut smallest = u64::MAX;
    if rest.is_empty() {
        return Err(format!("the {name} is empty: {EXAMPLES}"));
    }
    while !rest.is_empty() {
        let (digits, after) = split_where(rest, |c| !c.is_ascii_digit());
        let (unit, after) = split_where(after.trim_start(), |c| !c.is_alphabetic());
        if digits.is_empty() {
            return Err(format!("`{text}` is no length of time: {EXAMPLES}"));
        }
        if unit.is_empty() {
            return Err(match after.chars().next() {
                None => format!("`{digits}` has no unit: write `{digits}s`, `{digits}m` or `{digits}h`"),
                Some(_) => format!("`{text}` is no length of time: {EXAMPLES}"),
            });
        }
        let length = unit_of(unit)?;
        if length >= smallest {
            return Err(format!(
                "the units of `{text}` are out of order: the largest comes first, each once"
            ));
        }
        smallest = length;
        micros = digits
            .parse::<u64>()
            .ok()
            .and_then(|number| number.checked_mul(length))
            .and_then(|part| micros.checked_add(part))
            .ok_or_else(|| format!("a {name} is at most 36,500 days"))?;
        rest = after.trim_start();
    }
    Ok(micros)
}

fn unit_of(unit: &str) -> std::result::Result<u64, String> {
    if let Some((_, length)) = UNITS.iter().find(|(name, _)| *name == unit) {
        return Ok(*length);
    }
    let lower = unit.to_lowercase();
    let meant = ALIASES
        .iter()
        .find(|(alias, _)| *alias == lower)
        .map(|(_, name)| *name)
        .or_else(|| UNITS.iter().map(|(name, _)| *name).find(|name| *name == lower));
    let names = UNITS.map(|(name, _)| name);
    Err(match meant {
        Some(name) => format!("`{unit}` is no unit: write `{name}`"),
        None => format!("`{unit}` is no unit: write {}", suggest::list(&names)),
    })
}

fn split_where(text: &str, ends: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(ends).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_read() {
        assert_eq!(read("window", "500ms"), Ok(500_000));
        assert_eq!(read("window", "10m"), Ok(600_000_000));
        assert_eq!(read("window", "1h30m"), Ok(5_400_000_000));
        assert_eq!(read("window", " 1 h 30 m "), Ok(5_400_000_000));
        assert_eq!(read("window", "1d"), Ok(86_400_000_000));
    }

    #[test]
    fn a_mistake_is_named_with_what_to_write() {
        let message = |text| read("window", text).expect_err(text);
        assert_eq!(message("10 sec"), "`sec` is no unit: write `s`");
        assert_eq!(message("10M"), "`M` is no unit: write `m`");
        assert_eq!(
            message("10 parsecs"),
            "`parsecs` is no unit: write `d`, `h`, `m`, `s` or `ms`"
        );
        assert_eq!(message("10"), "`10` has no unit: write `10s`, `10m` or `10h`");
        assert_eq!(
            message("-1m"),
            "`-1m` is no length of time: write for example `\"500ms\"`, `\"10m\"` or `\"1h30m\"`"
        );
        assert_eq!(
            message("1m1h"),
            "the units of `1m1h` are out of order: the largest comes first, each once"
        );
        assert_eq!(message("99999999999999999999s"), "a window is at most 36,500 days");
    }
}
