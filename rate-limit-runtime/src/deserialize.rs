//! Policies from a configuration file, in whatever format describes itself.
//!
//! By hand, so that each message begins with the path of the field, and is made where the format still knows the position.

use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, Visitor};

use crate::policies::{Policies, nearest};
use crate::policy::{Algorithm, Policy, PolicyError};
use crate::span::Span;

/// A map of names to policies.
///
/// ```
/// use rate_limit_runtime::{Policies, Policy};
/// use std::time::Duration;
///
/// let policies: Policies = serde_json::from_str(r#"{
///     "read-count": { "capacity": 3, "refill": "50s" },
///     "login": { "count": 5, "window": "10m", "block": "30m" },
///     "my_service::export": { "algorithm": "fixed_window", "count": 100, "window": "1d" }
/// }"#)?;
/// assert_eq!(policies.get("read-count"), Some(Policy::token_bucket(3, Duration::from_secs(50))));
///
/// let error = serde_json::from_str::<Policies>(r#"{ "login": { "count": 5, "window": "10" } }"#).unwrap_err();
/// assert!(error.to_string().starts_with("login.window: `10` has no unit: write `10s`, `10m` or `10h`"));
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// Every error begins with the path of the field in question.
impl<'de> Deserialize<'de> for Policies {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Names)
    }
}

struct Names;

impl<'de> Visitor<'de> for Names {
    type Value = Policies;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of names to policies")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Policies, A::Error> {
        let mut policies = Policies::new();
        let check = |policies: &Policies, name: &str| match policies.get(name) {
            _ if name.trim().is_empty() => {
                Err("a policy has an empty name: write the one that functions ask for".to_owned())
            }
            Some(_) => Err(format!("{name}: is given twice: leave out one of them")),
            None => Ok(()),
        };
        while let Some(name) = map.next_key_seed(Key(|name: &str| check(&policies, name)))? {
            let Value::Policy(policy) = map.next_value_seed(Field::new(&name, Kind::Policy))? else {
                unreachable!("a policy was asked for");
            };
            policies = policies.with(name, policy);
        }
        Ok(policies)
    }
}

/// A map with some of the fields
///
/// * `algorithm`: `sliding_window`, `token_bucket` or `fixed_window`, also with a hyphen. It may be left out: with a capacity or a
///   refill it is a token bucket, else a sliding window;
/// * `count` and `window` of a window;
/// * `capacity` and `refill` of a bucket; `bucket-capacity`, and `refill-seconds` as a whole number, say the same;
/// * `block`, or none.
///
/// A length of time is a text as the attribute takes it: `"10m"`, `"1h30m"`, `"500ms"`. There are no numbers by default: what is
/// missing is an error.
impl<'de> Deserialize<'de> for Policy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Field::new("", Kind::Policy).deserialize(deserializer)? {
            Value::Policy(policy) => Ok(policy),
            _ => unreachable!("a policy was asked for"),
        }
    }
}

/// A place in the configuration, and what belongs there.
struct Field<'a> {
    path: &'a str,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Policy,
    Algorithm,
    /// A number of calls, by the name that it has.
    Count(&'static str),
    /// A length of time, by the name that it has.
    Length(&'static str),
    /// A refill in whole seconds.
    Seconds,
}

enum Value {
    Policy(Policy),
    Algorithm(Algorithm),
    Count(u32),
    Length(Span),
}

impl<'a> Field<'a> {
    const fn new(path: &'a str, kind: Kind) -> Self {
        Self { path, kind }
    }

    fn error<E: Error>(&self, message: impl fmt::Display) -> E {
        match self.path {
            "" => E::custom(message),
            path => E::custom(format_args!("{path}: {message}")),
        }
    }

    /// Something else is there than belongs there.
    fn not<E: Error>(&self, given: impl fmt::Display) -> E {
        let wanted = match self.kind {
            Kind::Policy => "a policy is a map of its numbers, such as `count` and `window`".to_owned(),
            Kind::Algorithm => ALGORITHM.to_owned(),
            Kind::Count(name) => format!("a {name} is a whole number from 1 to 10,000,000"),
            Kind::Length(name) => format!("a {name} is a text such as \"500ms\", \"10m\" or \"1h30m\""),
            Kind::Seconds => "a refill here is a whole number of seconds, such as 50".to_owned(),
        };
        self.error(format_args!("{wanted}, and not {given}"))
    }

    fn number<E: Error>(&self, number: u64) -> Result<Value, E> {
        match (self.kind, number) {
            (Kind::Count(name), 0) => Err(self.error(format_args!("a {name} of 0 admits nobody: write 1 or more"))),
            (Kind::Count(_), number) => match u32::try_from(number) {
                Ok(count) if count <= Policy::MAX_COUNT => Ok(Value::Count(count)),
                _ => Err(self.not(number)),
            },
            (Kind::Seconds, seconds) => self.length("refill", Span(seconds.saturating_mul(1_000_000))),
            (Kind::Length(_), number) => Err(self.not(format_args!("{number}, which has no unit"))),
            _ => Err(self.not(number)),
        }
    }

    fn text<E: Error>(&self, text: &str) -> Result<Value, E> {
        match self.kind {
            Kind::Algorithm => match text.replace('-', "_").as_str() {
                "sliding_window" => Ok(Value::Algorithm(Algorithm::SlidingWindow)),
                "token_bucket" => Ok(Value::Algorithm(Algorithm::TokenBucket)),
                "fixed_window" => Ok(Value::Algorithm(Algorithm::FixedWindow)),
                _ => Err(self.not(format_args!("`{text}`"))),
            },
            Kind::Length(name) => {
                let length = text.parse().map_err(|message: String| self.error(message))?;
                self.length(name, length)
            }
            _ => Err(self.not(format_args!("the text \"{text}\""))),
        }
    }

    fn length<E: Error>(&self, name: &str, length: Span) -> Result<Value, E> {
        let least = if name == "refill" {
            Span(1)
        } else {
            Span::from_duration(Policy::MIN_WINDOW)
        };
        match length {
            Span(0) => Err(self.error(format_args!(
                "a {name} of 0 is none: write how long it is, as in \"10m\""
            ))),
            length if length < least => Err(self.error(format_args!("a {name} is at least 1 millisecond"))),
            length if length > Span::from_duration(Policy::MAX_WINDOW) => {
                Err(self.error(format_args!("a {name} is at most 36,500 days")))
            }
            length => Ok(Value::Length(length)),
        }
    }
}

const ALGORITHM: &str = "`algorithm` is `sliding_window`, `token_bucket` or `fixed_window`";

impl<'de> DeserializeSeed<'de> for Field<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// Takes whatever comes, so that an error of type has the path too.
impl<'de> Visitor<'de> for Field<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a policy or one of its fields")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        self.number(number)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
        match u64::try_from(number) {
            Ok(number) => self.number(number),
            Err(_) => Err(self.not(number)),
        }
    }

    fn visit_u128<E: Error>(self, number: u128) -> Result<Value, E> {
        Err(self.not(number))
    }

    fn visit_i128<E: Error>(self, number: i128) -> Result<Value, E> {
        Err(self.not(number))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        Err(self.not(number))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Err(self.not(value))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        self.text(text)
    }

    fn visit_bytes<E: Error>(self, _: &[u8]) -> Result<Value, E> {
        Err(self.not("bytes"))
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        Err(self.not("nothing"))
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Err(self.not("nothing"))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<Value, A::Error> {
        Err(self.not("a list"))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, _: A) -> Result<Value, A::Error> {
        Err(self.not("a variant"))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        if self.kind != Kind::Policy {
            return Err(self.not("a map"));
        }
        let mut fields = Fields::default();
        let told = |name: &str, message| format!("{}: {message}", self.path_of(name));
        while let Some(name) = map.next_key_seed(Key(|name: &str| {
            fields.check(name).map_err(|message| told(name, message))
        }))? {
            let Some((kind, place)) = fields.place(&name) else {
                unreachable!("the name was checked");
            };
            let value = map.next_value_seed(Field::new(&self.path_of(&name), kind))?;
            *place = Some((name, value));
        }
        fields.policy(&self).map(Value::Policy)
    }
}

impl Field<'_> {
    fn path_of(&self, field: &str) -> String {
        match self.path {
            "" => field.to_owned(),
            path => format!("{path}.{field}"),
        }
    }
}

/// A key of a map, refused where it stands: with the words of `F`.
struct Key<F>(F);

impl<'de, F: FnOnce(&str) -> Result<(), String>> DeserializeSeed<'de> for Key<F> {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de, F: FnOnce(&str) -> Result<(), String>> Visitor<'de> for Key<F> {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<String, E> {
        (self.0)(name).map_err(E::custom)?;
        Ok(name.to_owned())
    }
}

fn unknown(name: &str) -> String {
    match nearest(name, NAMES.into_iter()) {
        Some(known) => format!("there is no such field: did you mean `{known}`"),
        None => format!("there is no such field: write `{}`", NAMES.join("`, `")),
    }
}

const NAMES: [&str; 8] = [
    "algorithm",
    "count",
    "window",
    "capacity",
    "bucket-capacity",
    "refill",
    "refill-seconds",
    "block",
];

/// The fields of one policy, each with the name that it is given by.
#[derive(Default)]
struct Fields {
    algorithm: Given,
    count: Given,
    window: Given,
    capacity: Given,
    refill: Given,
    block: Given,
}

type Given = Option<(String, Value)>;

impl Fields {
    /// Whether the field is known and is not there yet.
    fn check(&mut self, name: &str) -> Result<(), String> {
        match self.place(name) {
            None => Err(unknown(name)),
            Some((_, Some((given, _)))) if given == name => Err("is given twice: leave out one of them".to_owned()),
            Some((_, Some((given, _)))) => Err(format!(
                "says the same as `{given}`, which is given already: leave out one of them"
            )),
            Some((_, None)) => Ok(()),
        }
    }

    fn place(&mut self, name: &str) -> Option<(Kind, &mut Given)> {
        Some(match name {
            "algorithm" => (Kind::Algorithm, &mut self.algorithm),
            "count" => (Kind::Count("count"), &mut self.count),
            "window" => (Kind::Length("window"), &mut self.window),
            "capacity" | "bucket-capacity" => (Kind::Count("capacity"), &mut self.capacity),
            "refill" => (Kind::Length("refill"), &mut self.refill),
            "refill-seconds" => (Kind::Seconds, &mut self.refill),
            "block" => (Kind::Length("block"), &mut self.block),
            _ => return None,
        })
    }

    fn policy<E: Error>(self, of: &Field<'_>) -> Result<Policy, E> {
        let algorithm = match self.algorithm {
            Some((_, Value::Algorithm(algorithm))) => algorithm,
            _ if self.capacity.is_some() || self.refill.is_some() => Algorithm::TokenBucket,
            _ => Algorithm::SlidingWindow,
        };
        let wrong = |field: &str, message: &dyn fmt::Display| Field::new(&of.path_of(field), of.kind).error(message);
        let (numbers, others, misplaced) = match algorithm {
            Algorithm::TokenBucket => (
                [("capacity", self.capacity), ("refill", self.refill)],
                [self.count, self.window],
                "a token bucket has no count and no window: write `capacity` and `refill`",
            ),
            _ => (
                [("count", self.count), ("window", self.window)],
                [self.capacity, self.refill],
                "only a token bucket has a capacity and a refill: write `count` and `window`, or another `algorithm`",
            ),
        };
        if let Some((name, _)) = others.into_iter().flatten().next() {
            return Err(wrong(&name, &misplaced));
        }
        let [(count_name, count), (span_name, span)] = numbers;
        let missing = |name| {
            wrong(
                name,
                &format_args!("is missing: a policy has both `{count_name}` and `{span_name}`"),
            )
        };
        let Some((count_name, Value::Count(count))) = count else {
            return Err(missing(count_name));
        };
        let Some((span_name, Value::Length(span))) = span else {
            return Err(missing(span_name));
        };
        let at = |error: PolicyError| match error {
            PolicyError::Count => wrong(&count_name, &error),
            _ => wrong(&span_name, &error),
        };
        let policy = match algorithm {
            Algorithm::TokenBucket => Policy::try_token_bucket(count, span.to_duration()),
            Algorithm::SlidingWindow => Policy::try_sliding_window(count, span.to_duration()),
            Algorithm::FixedWindow => Policy::try_fixed_window(count, span.to_duration()),
        };
        match (policy.map_err(at)?, self.block) {
            (policy, Some((name, Value::Length(block)))) => policy
                .try_block(block.to_duration())
                .map_err(|error| wrong(&name, &error)),
            (policy, _) => Ok(policy),
        }
    }
}
