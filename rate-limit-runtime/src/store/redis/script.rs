//! The scripts, each beside what it takes and answers.

use std::collections::HashSet;

use foldhash::fast::RandomState;
use redis::{Cmd, RedisError, RedisResult, Script as Hashed};

use super::batch::Charges;
use super::connection::Connection;
use super::store_key::store_key;
use crate::key::Key;
use crate::policy::{Algorithm, Policy};
use crate::store::{Change, Charge, Settlement};
use crate::verdict::{Hit, Hits, Verdict};

const VALUE: &str = include_str!("value.lua");
const SLIDING_WINDOW: &str = include_str!("sliding_window.lua");
const TOKEN_BUCKET: &str = include_str!("token_bucket.lua");
const FIXED_WINDOW: &str = include_str!("fixed_window.lua");
/// Between the algorithms. A call makes the functions of those alone that it goes by, since each of them costs it some 100 ns.
const ALGORITHMS: [&str; 4] = [
    "local made = {}\nlocal function algorithm(tag)\nif made[tag] then return made[tag] end\nif tag == 's' then\n",
    "made.s = sliding_window\nelseif tag == 'b' then\n",
    "made.b = token_bucket\nelse\n",
    "made.f = fixed_window\nend\nreturn made[tag]\nend\n",
];
const ACQUIRE: &str = include_str!("acquire.lua");
/// What most calls of a sliding window are decided by, and the script that has no other call.
const SLIDING_LOG: &str = include_str!("sliding_log.lua");
const ACQUIRE_LOG: &str = include_str!("acquire_log.lua");
/// What is left of it, as `acquire` takes it.
const AS_CHARGE: &str = "local ARGV = { 'take', 's', count, window, '1', '0', '', '' }\n";
const ACQUIRE_MANY: &str = include_str!("acquire_many.lua");
/// Shorter, and found once.
const NAMES: &str = "local call, pack, read = redis.call, struct.pack, struct.unpack\n";
const SETTLE: &str = include_str!("settle.lua");
const INSPECT: &str = include_str!("inspect.lua");
/// The largest count of a window that is kept as a list, in the scripts too.
const LIST_MAX: u32 = 128;
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
    /// For a call that [`is_log`], as most are.
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
        let [sliding_window, token_bucket, fixed_window, end] = ALGORITHMS;
        let algorithms = [
            VALUE,
            sliding_window,
            SLIDING_WINDOW,
            token_bucket,
            TOKEN_BUCKET,
            fixed_window,
            FIXED_WINDOW,
            end,
        ];
        let algorithms = algorithms.concat();
        Self {
            acquire_log: Script::new(&[clock, NAMES, ACQUIRE_LOG, SLIDING_LOG, AS_CHARGE, &algorithms, ACQUIRE]),
            acquire: Script::new(&[clock, &algorithms, ACQUIRE]),
            acquire_many: Script::new(&[
                clock,
                NAMES,
                "local function decide_log(key, numbers, count, window, value)\n",
                SLIDING_LOG,
                "end\nlocal function general()\n",
                &algorithms,
                "return function(KEYS, ARGV)\n",
                ACQUIRE,
                "end\nend\n",
                ACQUIRE_MANY,
            ]),
            settle: Script::new(&[clock, &algorithms, SETTLE]),
            inspect: Script::new(&[clock, VALUE, SLIDING_WINDOW, INSPECT]),
        }
    }

    /// A small one first: a server that wants a password closes the connection at more than 16 KB without saying so.
    fn all(&self) -> [&Script; 5] {
        [
            &self.inspect,
            &self.acquire_log,
            &self.acquire,
            &self.acquire_many,
            &self.settle,
        ]
    }

    /// Loads them into the server of a connection.
    pub(super) async fn load_through(&self, connection: &mut Connection) -> RedisResult<()> {
        for script in self.all() {
            connection.send(&script.load()).await?;
        }
        Ok(())
    }

    pub(super) fn acquire(&self, prefix: &str, charges: &[Charge]) -> Cmd {
        match charges {
            [charge] if is_log(charge) => {
                let mut cmd = self.acquire_log.call(1);
                cmd.arg(store_key(prefix, &charge.key))
                    .arg(numbers(charge.policy, false));
                cmd
            }
            _ => self.decide(prefix, charges, "take"),
        }
    }

    pub(super) fn peek(&self, prefix: &str, charges: &[Charge]) -> Cmd {
        self.decide(prefix, charges, "peek")
    }

    fn decide(&self, prefix: &str, charges: &[Charge], mode: &str) -> Cmd {
        let mut cmd = self.acquire.call(charges.len());
        add_keys(&mut cmd, prefix, charges);
        cmd.arg(mode);
        add_charges(&mut cmd, charges);
        cmd
    }

    /// Several calls, each for itself, in this order.
    pub(super) fn acquire_many(&self, prefix: &str, calls: &[Charges]) -> Cmd {
        let mut cmd = self.acquire_many.call(calls.iter().map(|charges| charges.len()).sum());
        for charges in calls {
            add_keys(&mut cmd, prefix, charges);
        }
        let is_list =
            |charges: &Charges| matches!(charges[..], [charge] if is_log(&charge) && charge.policy.count() <= LIST_MAX);
        cmd.arg(if calls.iter().all(is_list) { "lists" } else { "" });
        let mut earlier = HashSet::with_capacity_and_hasher(calls.len(), RandomState::default());
        for charges in calls {
            match charges[..] {
                [charge] if is_log(&charge) => {
                    let again = !earlier.insert(charge.key);
                    cmd.arg(numbers(charge.policy, again));
                }
                _ => {
                    earlier.extend(charges.iter().map(|charge| charge.key));
                    cmd.arg("").arg(charges.len());
                    add_charges(&mut cmd, charges);
                }
            }
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
        let keys = changed().count();
        if keys == 0 {
            return None;
        }
        let mut cmd = self.settle.call(keys);
        for (Settlement { key, .. }, _) in changed() {
            cmd.arg(store_key(prefix, key));
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
}

/// Whether a call of this one charge is what `acquire_log` decides.
fn is_log(charge: &Charge) -> bool {
    let policy = charge.policy;
    policy.algorithm() == Algorithm::SlidingWindow
        && policy.block_span() == 0
        && policy.count() > 0
        && charge.cost == 1
        && !charge.observe
}

/// A policy as `acquire_log` takes it, and whether an earlier call has the key.
fn numbers(policy: Policy, again: bool) -> Vec<u8> {
    let mut numbers = Vec::with_capacity(32);
    numbers.extend(policy.count().to_le_bytes());
    numbers.extend(&policy.span().to_le_bytes()[..7]);
    numbers.push(u8::from(again));
    numbers.extend(expiry(policy).to_string().into_bytes());
    numbers
}

/// In milliseconds, one more than two windows: the server rounds the time at which a key goes.
const fn expiry(policy: Policy) -> u64 {
    (2 * policy.span()).div_ceil(1_000) + 1
}

fn add_keys(cmd: &mut Cmd, prefix: &str, charges: &[Charge]) {
    for charge in charges {
        cmd.arg(store_key(prefix, &charge.key));
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
        cmd.arg(tag(policy.algorithm()))
            .arg(policy.count())
            .arg(policy.span())
            .arg(cost)
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
pub(super) fn verdict(mut reply: &[u8]) -> Option<Verdict> {
    let hits = reply.len().saturating_sub(ADMITTED) / HIT;
    let verdict = next_verdict(&mut reply, hits)?;
    reply.is_empty().then_some(verdict)
}

/// What an answer begins with that refuses.
const DENIED: u8 = b'D';
const DENIED_BY_A_BLOCK: u8 = b'B';

/// Whether an answer refuses by a block.
pub(super) fn is_blocked(reply: &[u8]) -> bool {
    reply.first() == Some(&DENIED_BY_A_BLOCK)
}

/// The length of an answer that admits, before the hits, and that of a hit.
const ADMITTED: usize = 13;
const HIT: usize = 7;

/// The next answer, to a call with so many charges.
fn next_verdict(rest: &mut &[u8], charges: usize) -> Option<Verdict> {
    let tag = number(rest, 1)? as u8;
    let place = number(rest, 1)? as usize;
    Some(match tag {
        b'A' => Verdict::Allowed {
            tightest: place,
            remaining: number(rest, 4)? as u32,
            reset_after: number(rest, 7)?,
            hits: (0..charges)
                .map(|_| number(rest, HIT).map(Hit::from_raw))
                .collect::<Option<Hits>>()?,
        },
        DENIED | DENIED_BY_A_BLOCK => Verdict::Denied {
            longest: place,
            remaining: number(rest, 4)? as u32,
            retry_after: number(rest, 7)?,
            reset_after: number(rest, 7)?,
        },
        b'I' => Verdict::Impossible { which: place },
        _ => return None,
    })
}

/// What the script `acquire_many` answered to each of these calls, or `None` if it is no such answer.
pub(super) fn verdicts(mut reply: &[u8], calls: &[Charges]) -> Option<Vec<Result<Verdict, RedisError>>> {
    let mut verdicts = Vec::with_capacity(calls.len());
    for charges in calls {
        verdicts.push(if let Some(failed) = reply.strip_prefix(b"E") {
            reply = failed;
            let length = number(&mut reply, 2)? as usize;
            let (text, rest) = reply.split_at_checked(length)?;
            reply = rest;
            Err(server_error(text)?)
        } else {
            Ok(next_verdict(&mut reply, charges.len())?)
        });
    }
    reply.is_empty().then_some(verdicts)
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
    use std::time::Duration;

    use super::*;
    use crate::key::Client;
    use crate::method::Method;

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
        let key = Key::new(Method::named("login"), Client::of("a").expect("it names somebody"));
        let charge = Charge::new(key, Policy::sliding_window(5, Duration::from_secs(1)), 1);
        let calls = [1, 1, 2].map(|charges| Charges::from_elem(charge, charges));
        let admitted = [&b"A\x01"[..], &[4, 0, 0, 0], &[0; 7], &[1, 0, 0, 0, 0, 0, 0], &[0; 7]].concat();
        let answers = [&b"I\0"[..], b"E\x11\0FOREIGN of\nothers", &admitted].concat();
        let read = verdicts(&answers, &calls).expect("it is whole");
        assert_eq!(read[0], Ok(Verdict::Impossible { which: 0 }));
        let error = read[1].as_ref().expect_err("it failed");
        assert_eq!((error.code(), error.detail()), (Some("FOREIGN"), Some("of others")));
        assert_eq!(
            read[2],
            Ok(Verdict::Allowed {
                tightest: 1,
                remaining: 4,
                reset_after: 0,
                hits: Hits::from_slice(&[Hit::from_raw(1), Hit::NONE]),
            })
        );
        assert!(verdicts(&answers[..answers.len() - 1], &calls).is_none());
        assert!(verdicts(&answers, &calls[..2]).is_none());
        assert!(verdicts(b"E\xff\xff", &calls[..1]).is_none());
        assert!(verdicts(b"OK", &calls[..1]).is_none());
    }
}
