//! The scripts, each beside what it takes and answers.

use redis::{Cmd, Script as Hashed};

use crate::policy::Policy;
use crate::store::Charge;
use crate::verdict::{Hit, Verdict};

const LOG: &str = include_str!("log.lua");
const ACQUIRE: &str = include_str!("acquire.lua");
const RESET: &str = include_str!("reset.lua");
const SERVER_CLOCK: &str = include_str!("clock.lua");
/// The time as the last argument, for tests that turn a clock.
#[cfg(feature = "test-util")]
const GIVEN_CLOCK: &str = "local now = tonumber(ARGV[#ARGV])\n";

/// One Lua script.
#[derive(Debug)]
pub(super) struct Script {
    code: String,
    hash: String,
}

impl Script {
    fn new(clock: &str, body: &str) -> Self {
        let code = [clock, LOG, body].concat();
        let hash = Hashed::new(&code).get_hash().to_owned();
        Self { code, hash }
    }

    /// Loads it into the server.
    pub(super) fn load(&self) -> Cmd {
        let mut cmd = redis::cmd("SCRIPT");
        cmd.arg("LOAD").arg(&self.code);
        cmd
    }

    /// Runs it on one key, with what is common to all.
    fn run(&self, key: &str, count: u32, window: u64) -> Cmd {
        // One millisecond more than two windows: the server rounds the time at which a key goes.
        let expiry = (2 * window).div_ceil(1_000) + 1;
        let mut cmd = redis::cmd("EVALSHA");
        cmd.arg(&self.hash).arg(1).arg(key).arg(count).arg(window).arg(expiry);
        cmd
    }
}

/// All scripts, by one clock.
#[derive(Debug)]
pub(super) struct Scripts {
    acquire: Script,
    reset: Script,
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
        Self {
            acquire: Script::new(clock, ACQUIRE),
            reset: Script::new(clock, RESET),
        }
    }

    pub(super) fn all(&self) -> [&Script; 2] {
        [&self.acquire, &self.reset]
    }

    pub(super) fn acquire(&self, key: &str, charge: &Charge) -> Cmd {
        self.decide(key, charge.policy, charge.cost, "take")
    }

    pub(super) fn peek(&self, key: &str, policy: Policy) -> Cmd {
        self.decide(key, policy, 1, "peek")
    }

    fn decide(&self, key: &str, policy: Policy, cost: u32, mode: &str) -> Cmd {
        let mut cmd = self.acquire.run(key, policy.count(), policy.window_span().0);
        cmd.arg(cost).arg(mode);
        cmd
    }

    pub(super) fn reset(&self, key: &str, hit: Hit) -> Cmd {
        // The largest count makes the script read a long log by its header alone.
        let mut cmd = self.reset.run(key, u32::MAX, 0);
        cmd.arg(hit.raw());
        cmd
    }
}

/// What the script `acquire` answered, or `None` if it is no such answer.
pub(super) fn verdict(reply: &[u8]) -> Option<Verdict> {
    let (tag, mut rest) = reply.split_first()?;
    let verdict = match tag {
        b'A' => Verdict::Allowed {
            hit: Hit::from_raw(number(&mut rest, 7)?),
            remaining: number(&mut rest, 4)? as u32,
            reset_after: number(&mut rest, 7)?,
        },
        b'D' => Verdict::Denied {
            retry_after: number(&mut rest, 7)?,
            reset_after: number(&mut rest, 7)?,
        },
        b'I' => Verdict::Impossible,
        _ => return None,
    };
    rest.is_empty().then_some(verdict)
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
        let admitted = [&b"A"[..], &[1, 0, 0, 0, 0, 0, 0], &[4, 0, 0, 0], &[2, 1, 0, 0, 0, 0, 0]].concat();
        assert_eq!(
            verdict(&admitted),
            Some(Verdict::Allowed {
                hit: Hit::from_raw(1),
                remaining: 4,
                reset_after: 258
            })
        );
        assert_eq!(verdict(b"I"), Some(Verdict::Impossible));
        assert_eq!(verdict(&admitted[..18]), None);
        assert_eq!(verdict(&[&admitted[..], b"x"].concat()), None);
        assert_eq!(verdict(b""), None);
        assert_eq!(verdict(b"OK"), None);
    }
}
