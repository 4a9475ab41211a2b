//! A length of time as the attribute takes it: `"500ms"`, `"10m"`, `"1h30m"`, `"1d"`.

mod meant;

use syn::{Error, LitStr, Result};

pub(crate) use self::meant::meant;

/// Units, from the largest, in microseconds.
const UNITS: [(&str, u64); 5] = [
    ("d", 86_400_000_000),
    ("h", 3_600_000_000),
    ("m", 60_000_000),
    ("s", 1_000_000),
    ("ms", 1_000),
];

/// The longest length of time that a policy takes, in microseconds.
pub(crate) const MAX: u64 = 36_500 * 86_400_000_000;

/// Reads the length of the argument `name` in microseconds.
pub(crate) fn parse(name: &str, literal: &LitStr) -> Result<u64> {
    let text = literal.value();
    let message = match read(&text) {
        Some(0) => format!("the {name} is 0: write how long it is, as in `\"10m\"`"),
        Some(micros) if micros > MAX => format!("a {name} is at most 36,500 days"),
        Some(micros) => return Ok(micros),
        None => invalid(name, &text),
    };
    Err(Error::new(literal.span(), message))
}

/// Reads `text` in microseconds, at most `u64::MAX` of them.
fn read(text: &str) -> Option<u64> {
    let mut rest = text.trim();
    if rest.is_empty() {
        return None;
    }
    let mut micros = 0_u64;
    let mut smallest = u64::MAX;
    while !rest.is_empty() {
        let (digits, after) = split_where(rest, |c| !c.is_ascii_digit());
        let (unit, after) = split_where(after.trim_start(), |c| !c.is_alphabetic());
        let (_, length) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
        if digits.is_empty() || length >= smallest {
            return None;
        }
        smallest = length;
        let number = digits.parse::<u64>().unwrap_or(u64::MAX);
        micros = micros.saturating_add(number.saturating_mul(length));
        rest = after.trim_start();
    }
    Some(micros)
}

/// Tells what to write for a text that is not a length of time.
fn invalid(name: &str, text: &str) -> String {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return format!("the {name} is empty: write for example `\"500ms\"`, `\"10m\"` or `\"1h30m\"`");
    }
    if let Ok(number) = trimmed.replace('_', "").parse() {
        return without_unit(name, number);
    }
    match meant(text) {
        Some(meant) => format!("invalid {name} `{text}`: write `\"{meant}\"`"),
        None => format!(
            "invalid {name} `{text}`: write numbers and units, `d`, `h`, `m`, `s` or `ms`, the largest first, as in `\"1h30m\"`"
        ),
    }
}

/// From this number on it may be meant in milliseconds.
const MANY: u64 = 10_000;

/// Tells what to write for a number alone.
pub(crate) fn without_unit(name: &str, number: u64) -> String {
    let seconds = format!("a {name} is a string with a unit: write `\"{number}s\"` for {number} seconds");
    match number {
        MANY.. => format!("{seconds}, or `\"{number}ms\"` for milliseconds"),
        _ => seconds,
    }
}

fn split_where(text: &str, ends: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(ends).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests;
