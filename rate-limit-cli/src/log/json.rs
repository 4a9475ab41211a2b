//! JSON lines.

use std::borrow::Cow;
use std::fmt;
use std::io::BufRead as _;

use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::faults::Fault;
use super::source::{BYTE_ORDER_MARK, Source};
use super::times::Reader;
use super::{Log, LogArgs, Wrong};
use crate::nearest::nearest;
use crate::text;

pub fn read(source: &mut Source, args: &LogArgs, log: &mut Log) -> Result<(), Wrong> {
    let mut times = Reader::new(args.times);
    let (mut text, mut line, mut is_first) = (Vec::new(), 0, true);
    loop {
        text.clear();
        if source.read_until(b'\n', &mut text)? == 0 {
            break;
        }
        line += 1;
        let object = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&text).trim_ascii();
        if object.is_empty() {
            continue;
        }
        match fields(object, args) {
            Err(_) => log.faults.note(line, Fault::Json("no object in JSON")),
            Ok(Fields { client: None, .. }) => log.faults.note(line, Fault::NoClient),
            Ok(Fields { time: None, .. }) => log.faults.note(line, Fault::NoTime),
            Ok(Fields {
                client: Some(client),
                time: Some(time),
            }) => {
                log.event(line, as_text(client).as_bytes(), &as_text(time), &mut times)?;
            }
        }
        if is_first && log.events.is_empty() {
            explain(object, args)?;
        }
        is_first = false;
    }
    if is_first {
        return Err(Wrong("it is empty".to_owned()));
    }
    Ok(())
}

/// A first line that has neither field is of another log than it was said to be.
fn explain(object: &[u8], args: &LogArgs) -> Result<(), Wrong> {
    let Ok(serde_json::Value::Object(object)) = serde_json::from_slice(object) else {
        return Ok(());
    };
    for (name, option) in [(&args.client, "--client"), (&args.time, "--time")] {
        if !object.contains_key(name) {
            let known: Vec<&str> = object.keys().map(String::as_str).collect();
            let hint = match nearest(name, known.iter().copied()) {
                Some(near) => format!("did you mean {option} {}?", text::shown(near)),
                None => format!("say with {option} which it is."),
            };
            return Err(Wrong(format!(
                "there is no field `{name}`: {hint} The fields are {}",
                text::list(&known)
            )));
        }
    }
    Ok(())
}

/// The two fields of an object that matter, as they are written.
#[derive(Default)]
struct Fields<'a> {
    client: Option<&'a RawValue>,
    time: Option<&'a RawValue>,
}

fn fields<'a>(object: &'a [u8], args: &LogArgs) -> serde_json::Result<Fields<'a>> {
    let mut json = serde_json::Deserializer::from_slice(object);
    let fields = Wanted(args).deserialize(&mut json)?;
    json.end()?;
    Ok(fields)
}

struct Wanted<'n>(&'n LogArgs);

impl<'de> DeserializeSeed<'de> for Wanted<'_> {
    type Value = Fields<'de>;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Fields<'de>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Wanted<'_> {
    type Value = Fields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
        let mut fields = Fields::default();
        while let Some(name) = map.next_key::<Cow<'de, str>>()? {
            let place = match &*name {
                name if name == self.0.client => &mut fields.client,
                name if name == self.0.time => &mut fields.time,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            if place.replace(map.next_value()?).is_some() {
                return Err(A::Error::custom("a field is there twice"));
            }
        }
        Ok(fields)
    }
}

/// A text without its quotes, and whatever else as it is written. `null` is nothing.
fn as_text(value: &RawValue) -> Cow<'_, str> {
    match value.get() {
        "null" => Cow::Borrowed(""),
        text if text.starts_with('"') => match serde_json::from_str::<Cow<'_, str>>(text) {
            Ok(text) => Cow::Owned(text.into_owned()),
            Err(_) => Cow::Borrowed(""),
        },
        other => Cow::Borrowed(other),
    }
}
