//! What a length of time means that is written in another way than ours.

use super::{UNITS, split_where};

/// What other libraries and people write for a unit, and the unit and how many of it that is. A month and a year are as
/// long as they are in most configurations.
const ALIASES: [(&[&str], u64, &str); 9] = [
    (&["y", "yr", "yrs", "year", "years"], 365, "d"),
    (&["mo", "mon", "month", "months"], 30, "d"),
    (&["w", "wk", "wks", "week", "weeks"], 7, "d"),
    (&["d", "day", "days"], 1, "d"),
    (&["h", "hr", "hrs", "hour", "hours"], 1, "h"),
    (&["m", "min", "mins", "minute", "minutes"], 1, "m"),
    (&["s", "sec", "secs", "second", "seconds"], 1, "s"),
    (&["ms", "msec", "msecs", "milli", "millis"], 1, "ms"),
    (&["millisecond", "milliseconds"], 1, "ms"),
];

/// A number of one unit of ours: what stands before the point, behind it, and the unit.
struct Component<'a> {
    whole: u64,
    fraction: &'a str,
    unit: (&'static str, u64),
}

/// Returns the length of time that `text` means, as it is written here.
pub(crate) fn meant(text: &str) -> Option<String> {
    let text = text.trim().to_lowercase();
    if let Some(micros) = clock(&text) {
        return written(micros);
    }
    let iso = text
        .strip_prefix('p')
        .filter(|rest| rest.starts_with(|c: char| c == 't' || c.is_ascii_digit()));
    let components = match iso {
        Some(period) => iso_8601(period)?,
        None => components(&text, true)?,
    };
    let in_order = components.windows(2).all(|pair| pair[0].unit.1 > pair[1].unit.1);
    if in_order && components.iter().all(|component| component.fraction.is_empty()) {
        let parts = components
            .iter()
            .map(|component| format!("{}{}", component.whole, component.unit.0));
        let parts: String = parts.collect();
        return super::read(&parts).filter(|micros| *micros > 0).map(|_| parts);
    }
    let micros = components
        .iter()
        .try_fold(0_u64, |sum, component| sum.checked_add(component.micros()?));
    written(micros?)
}

/// Reads `h:mm:ss`, and returns microseconds. `10:00` is not read, since it may be minutes or hours.
fn clock(text: &str) -> Option<u64> {
    let fields: Vec<u64> = text.split(':').map(str::parse).collect::<Result<_, _>>().ok()?;
    let [hours, minutes, seconds] = fields[..] else {
        return None;
    };
    let seconds = hours
        .checked_mul(3_600)?
        .checked_add(minutes.checked_mul(60)?)?
        .checked_add(seconds)?;
    seconds.checked_mul(1_000_000)
}

/// Returns the part of a period of ISO 8601 behind its `P`: an `m` is a month before the `t`, and a minute behind it.
fn iso_8601(period: &str) -> Option<Vec<Component<'_>>> {
    let (date, time) = period.split_once('t').unwrap_or((period, ""));
    let mut all = if date.is_empty() {
        Vec::new()
    } else {
        components(date, false)?
    };
    if date.ends_with('m') {
        let months = all.last_mut()?;
        months.unit = UNITS[0];
        months.whole = months.whole.checked_mul(30)?;
    }
    if !time.is_empty() {
        all.extend(components(time, false)?);
    }
    Some(all)
}

/// Returns numbers, each with a unit. `alone` allows the first number to be left out, as in "a minute".
fn components(text: &str, alone: bool) -> Option<Vec<Component<'_>>> {
    let mut rest = text;
    let mut found = Vec::new();
    for word in ["per ", "every ", "each ", "/"] {
        rest = rest.strip_prefix(word).unwrap_or(rest).trim_start();
    }
    for word in ["an ", "a ", "one "] {
        rest = rest.strip_prefix(word).unwrap_or(rest);
    }
    while !rest.is_empty() {
        let (number, after) = split_where(rest, |c| !c.is_ascii_digit() && !matches!(c, '.' | ',' | '_'));
        let (unit, after) = split_where(after.trim_start(), |c| !c.is_alphabetic());
        let (_, times, name) = ALIASES.into_iter().find(|(words, ..)| words.contains(&unit))?;
        let number = match number {
            "" if alone && found.is_empty() => "1",
            number => number,
        };
        let (whole, fraction) = number.split_once(['.', ',']).unwrap_or((number, ""));
        found.push(Component {
            whole: whole.replace('_', "").parse::<u64>().ok()?.checked_mul(times)?,
            fraction,
            unit: UNITS.into_iter().find(|(known, _)| *known == name)?,
        });
        // Of a fraction of a week only the days are told.
        if times > 1 && !fraction.is_empty() {
            return None;
        }
        rest = after.trim_start_matches([' ', ',']);
        rest = rest.strip_prefix("and ").unwrap_or(rest);
    }
    (!found.is_empty()).then_some(found)
}

impl Component<'_> {
    fn micros(&self) -> Option<u64> {
        let (_, unit) = self.unit;
        let fraction = match self.fraction {
            "" => 0,
            digits => {
                let scale = 10_u64.checked_pow(u32::try_from(digits.len()).ok()?)?;
                digits.parse::<u64>().ok()?.checked_mul(unit)? / scale
            }
        };
        self.whole.checked_mul(unit)?.checked_add(fraction)
    }
}

/// Returns the length of time as it is written here, unless there is no way to.
fn written(micros: u64) -> Option<String> {
    let mut rest = micros;
    let mut text = String::new();
    for (name, unit) in UNITS {
        if rest >= unit {
            text.push_str(&format!("{}{name}", rest / unit));
            rest %= unit;
        }
    }
    (rest == 0 && !text.is_empty()).then_some(text)
}
