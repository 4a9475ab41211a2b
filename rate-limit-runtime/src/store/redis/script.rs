//! The scripts, each beside what it takes and answers.

use redis::aio::MultiplexedConnection;
use redis::{Cmd, RedisError, RedisResult, Script as Hashed};

use super::batch::Charges;
use super::store_key::{block_key, store_key};
use crate::key::Key;
use crate::policy::{Algorithm, Policy};
use crate::store::{Change, Charge, Settlement};
use crate::verdict::{Hit, Hits, Verdict};

const VALUE: &str = include_str!("value.lua");
const SLIDING_WINDOW: &str = include_str!("sliding_window.lua");
const TOKEN_BUCKET: &str = include_str!("token_bucket.lua");
const FIXED_WINDOW: &str = include_str!("fixed_window.lua");
const ACQUIRE: &str = include_str!("acquire.lua");
/// The script `acquire` as a function, which the next one calls for each call.
const ACQUIRE_AS_FUNCTION: [&str; 3] = ["local function acquire(KEYS, ARGV)\n", ACQUIRE, "end\n"];
const ACQUIRE_MANY: &str = include_str!("acquire_many.lua");
const SETTLE: &str = include_str!("settle.lua");
const INSPECT: &str = include_str!("inspect.lua");
const SERVER_CLOCK: &str = include_str!("clock.lua");
/// The time as the last argument, taken off, for tests that turn a clock.
#[cfg(feature = "test-util")]
const GIVEN_CLOCK: &str = "local now = tonumber(table.remove(ARGV))\n";

/// One Lua script.
#[derive(Debug)]
pub(super) struct Script {
    code: String,
    hash: String,
}

impl Script {
    fn new(parts: &[&str]) -> Self {
        let code = parts.concat();
        let hash = Hashed::new(&code).get_hash().to_owned();
        Self { code, hash }
    }

    /// Loads it into the server.
    fn load(&self) -> Cmd {
        let mut cmd = redis::cmd("SCRIPT");
        cmd.arg("LOAD").arg(&self.code);
        cmd
    }

    /// Calls it with this many keys, which follow.
    fn call(&self, keys: usize) -> Cmd {
        let mut cmd = redis::cmd("EVALSHA");
        cmd.arg(&self.hash).arg(keys);
        cmd
    }
}

/// All scripts, by one clock.
#[derive(Debug)]
pub(super) struct Scripts {
    /// For one sliding window, as most calls are: it has no more than it needs.
    acquire_log: Script,
    acquire: Script,
    acquire_many: Script,
    settle: Script,
    inspect: Script,
}

impl Scripts {
    pub(super) fn server_clock() -> Self {
        Self::new(SERVER_CLOCK)
    }

    #[cfg(feature = "test-util")]
    pub(super) fn given_clock() -> Self {
        Self::new(GIVEN_CLOCK)
    }

    fn new(clock: &str) -> Self {
        const ONE: &str = "local algorithms = { s = sliding_window }\n";
        const ALL: &str = "local algorithms = { s = sliding_window, b = token_bucket, f = fixed_window }\n";
        let algorithms = [SLIDING_WINDOW, TOKEN_BUCKET, FIXED_WINDOW].concat();
        Self {
            acquire_log: Script::new(&[clock, VALUE, SLIDING_WINDOW, ONE, ACQUIRE]),
            acquire: Script::new(&[clock, VALUE, &algorithms, ALL, ACQUIRE]),
            acquire_many: Script::new(&[
                clock,
                VALUE,
                &algorithms,
                ALL,
                &ACQUIRE_AS_FUNCTION.concat(),
                ACQUIRE_MANY,
            ]),
            settle: Script::new(&[clock, VALUE, &algorithms, ALL, SETTLE]),
            inspect: Script::new(&[clock, VALUE, SLIDING_WINDOW, INSPECT]),
        }
    }

    fn all(&self) -> [&Script; 5] {
        [
            &self.acquire_log,
            &self.acquire,
            &self.acquire_many,
            &self.settle,
            &self.inspect,
        ]
    }

    /// Loads them into the server of a connection.
    pub(super) async fn load_through(&self, connection: &mut MultiplexedConnection) -> RedisResult<()> {
        for script in self.all() {
            connection.send_packed_command(&script.load()).await?.extract_error()?;
        }
        Ok(())
    }

    pub(super) fn acquire(&self, prefix: &str, charges: &[Charge]) -> Cmd {
        self.decide(prefix, charges, "take")
    }

    pub(super) fn peek(&self, prefix: &str, charge: &Charge) -> Cmd {
        self.decide(prefix, std::slice::from_ref(charge), "peek")
    }

    fn decide(&self, prefix: &str, charges: &[Charge], mode: &str) -> Cmd {
        let script = match charges {
            [one] if one.policy.algorithm() == Algorithm::SlidingWindow => &self.acquire_log,
            _ => &self.acquire,
        };
        let mut cmd = script.call(keys(charges));
        add_keys(&mut cmd, prefix, charges);
        cmd.arg(mode);
        add_charges(&mut cmd, charges);
        cmd
    }

    /// Several calls, each for itself, in this order.
    pub(super) fn acquire_many(&self, prefix: &str, calls: &[Charges]) -> Cmd {
        let mut cmd = self.acquire_many.call(calls.iter().map(|charges| keys(charges)).sum());
        for charges in calls {
            add_keys(&mut cmd, prefix, charges);
        }
        for charges in calls {
            cmd.arg(keys(charges)).arg(charges.len());
            add_charges(&mut cmd, charges);
        }
        cmd
    }

    /// `None` if there is nothing to do.
    pub(super) fn settle(&self, prefix: &str, settlements: &[Settlement]) -> Option<Cmd> {
        let changed = || {
            settlements.iter().filter_map(|settlement| {
                let change = match settlement.change {
                    Change::Reset { upto } => ("r", upto, 0),
                    Change::Clear | Change::Refund { cost: 0, .. } => return None,
                    Change::Refund { hit, cost } => ("u", hit, cost),
                };
                Some((settlement, change))
            })
        };
        let keys = 2 * changed().count();
        if keys == 0 {
            return None;
        }
        let mut cmd = self.settle.call(keys);
        for (Settlement { key, .. }, _) in changed() {
            cmd.arg(store_key(prefix, key)).arg(block_key(prefix, key));
        }
        for (Settlement { policy, .. }, (change, hit, cost)) in changed() {
            cmd.arg(tag(policy.algorithm())).arg(change).arg(hit.raw()).arg(cost);
        }
        Some(cmd)
    }

    pub(super) fn inspect(&self, prefix: &str, key: &Key, policy: Policy) -> Cmd {
        let mut cmd = self.inspect.call(1);
        cmd.arg(store_key(prefix, key)).arg(policy.span());
        cmd
    }

    /// `None` if there is nothing to do.
    pub(super) fn clear(prefix: &str, settlements: &[Settlement]) -> Option<Cmd> {
        let mut cleared = settlements
            .iter()
            .filter(|settlement| settlement.change == Change::Clear)
            .peekable();
        cleared.peek()?;
        let mut cmd = redis::cmd("DEL");
        for Settlement { key, .. } in cleared {
            cmd.arg(store_key(prefix, key)).arg(block_key(prefix, key));
        }
        Some(cmd)
    }
}

/// How many keys a call has: one for each charge, and one for each block.
pub(super) fn keys(charges: &[Charge]) -> usize {
    charges.len() + blocks(charges).count()
}

fn blocks(charges: &[Charge]) -> impl Iterator<Item = &Charge> {
    charges.iter().filter(|charge| charge.policy.block_span() > 0)
}

fn add_keys(cmd: &mut Cmd, prefix: &str, charges: &[Charge]) {
    for charge in charges {
        cmd.arg(store_key(prefix, &charge.key));
    }
    for charge in blocks(charges) {
        cmd.arg(block_key(prefix, &charge.key));
    }
}

fn add_charges(cmd: &mut Cmd, charges: &[Charge]) {
    for Charge {
        policy,
        cost,
        observe,
        at,
        ..
    } in charges
    {
        // One millisecond more than two windows: the server rounds the time at which a key goes.
        let expiry = (2 * policy.span()).div_ceil(1_000) + 1;
        cmd.arg(tag(policy.algorithm()))
            .arg(policy.count())
            .arg(policy.span())
            .arg(expiry);
        cmd.arg(cost)
            .arg(policy.block_span())
            .arg(if *observe { "o" } else { "" });
        match at {
            Some(at) => cmd.arg(at),
            None => cmd.arg(""),
        };
    }
}

const fn tag(algorithm: Algorithm) -> &'static str {
    match algorithm {
        Algorithm::SlidingWindow => "s",
        Algorithm::TokenBucket => "b",
        Algorithm::FixedWindow => "f",
    }
}

/// What the script `acquire` answered, or `None` if it is no such answer.
pub(super) fn verdict(reply: &[u8]) -> Option<Verdict> {
    let (tag, mut rest) = reply.split_first()?;
    let place = number(&mut rest, 1)? as usize;
    let verdict = match tag {
        b'A' => Verdict::Allowed {
            tightest: place,
            remaining: number(&mut rest, 4)? as u32,
            reset_after: number(&mut rest, 7)?,
            hits: {
                let mut hits = Hits::new();
                while !rest.is_empty() {
                    hits.push(Hit::from_raw(number(&mut rest, 7)?));
                }
                hits
            },
        },
        b'D' => Verdict::Denied {
            longest: place,
            retry_after: number(&mut rest, 7)?,
            reset_after: number(&mut rest, 7)?,
        },
        b'I' => Verdict::Impossible { which: place },
        _ => return None,
    };
    rest.is_empty().then_some(verdict)
}

/// What the script `acquire_many` answered to each call, or `None` if it is no such answer.
pub(super) fn verdicts(mut reply: &[u8]) -> Option<Vec<Result<Verdict, RedisError>>> {
    let mut verdicts = Vec::new();
    while !reply.is_empty() {
        let length = number(&mut reply, 2)? as usize;
        let (answer, rest) = reply.split_at_checked(length)?;
        reply = rest;
        verdicts.push(match answer.split_first()? {
            (b'E', text) => Err(server_error(text)?),
            _ => Ok(verdict(answer)?),
        });
    }
    Some(verdicts)
}

/// The error that the server would have answered with this text.
fn server_error(text: &[u8]) -> Option<RedisError> {
    let line: Vec<u8> = text
        .iter()
        .map(|byte| if byte.is_ascii_control() { b' ' } else { *byte })
        .collect();
    let value = redis::parse_redis_value(&[b"-", &line[..], b"\r\n"].concat());
    value.ok()?.extract_error().err()
}

/// What the script `inspect` answered, or `None` if it is no such answer.
pub(super) fn times(mut reply: &[u8]) -> Option<Vec<u64>> {
    let mut times = Vec::with_capacity(reply.len() / 7);
    while !reply.is_empty() {
        times.push(number(&mut reply, 7)?);
    }
    Some(times)
}

/// The next `width` bytes, little-endian.
fn number(rest: &mut &[u8], width: usize) -> Option<u64> {
    let (bytes, tail) = rest.split_at_checked(width)?;
    *rest = tail;
    let mut padded = [0; 8];
    padded[..width].copy_from_slice(bytes);
    Some(u64::from_le_bytes(padded))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_whole_or_not_at_all() {
        let admitted = [
            &b"A\0"[..],
            &[4, 0, 0, 0],
            &[2, 1, 0, 0, 0, 0, 0],
            &[1, 0, 0, 0, 0, 0, 0],
        ]
        .concat();
        assert_eq!(
            verdict(&admitted),
            Some(Verdict::Allowed {
                tightest: 0,
                remaining: 4,
                reset_after: 258,
                hits: Hits::from_slice(&[Hit::from_raw(1)]),
            })
        );
        assert_eq!(verdict(b"I\x02"), Some(Verdict::Impossible { which: 2 }));
        assert_eq!(verdict(&admitted[..19]), None);
        assert_eq!(verdict(&[&admitted[..], b"x"].concat()), None);
        assert_eq!(verdict(b""), None);
        assert_eq!(verdict(b"OK"), None);
    }

    #[test]
    fn answers_to_several_calls_are_read_whole_or_not_at_all() {
        let answers = [&b"\x02\0I\x01"[..], b"\x12\0EFOREIGN of\nothers", b"\x02\0I\0"].concat();
        let read = verdicts(&answers).expect("it is whole");
        assert_eq!(read[0], Ok(Verdict::Impossible { which: 1 }));
        let error = read[1].as_ref().expect_err("it failed");
        assert_eq!((error.code(), error.detail()), (Some("FOREIGN"), Some("of others")));
        assert_eq!(read[2], Ok(Verdict::Impossible { which: 0 }));
        assert!(verdicts(&answers[..answers.len() - 1]).is_none());
        assert!(verdicts(b"\0\0").is_none());
        assert!(verdicts(b"OK").is_none());
    }
}
