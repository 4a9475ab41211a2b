//! Refusals that still hold, told without a lock: clients that knock at full speed keep nobody else waiting, not even each other.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::algorithm::Answer;
use crate::key::Id;
use crate::policy::Policy;
use crate::store::Demand;

/// How many refusals one shard keeps. The younger takes the place of the older.
const CELLS: usize = 64;

/// The last refusals of calls that weigh 1: as long as one holds, no other call is admitted by the same counter, so nothing but a change
/// of the counter after the fact, another policy, or a clock that steps back ends it before its time. Who notices those forgets it here.
///
/// Written under the lock of the shard, and read without. A reader who comes in the middle of writing finds words that do not fit
/// together, and asks the counter. Source: Hyatt and Mann, *A lockless transposition table implementation for parallel search*.
#[derive(Debug)]
pub(super) struct Refusals([Cell; CELLS]);

/// What tells the counter and the policy, each half mixed with the times, and the times: when it was decided, until when it holds, and
/// when the limit is whole again.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Cell {
    mixed: [AtomicU64; 2],
    since: AtomicU64,
    until: AtomicU64,
    whole: AtomicU64,
}

impl Default for Refusals {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Cell::default()))
    }
}

impl Refusals {
    /// The refusal of this demand at `now`, if it is known.
    #[inline]
    pub(super) fn look(&self, now: u64, id: Id, demand: Demand<'_>) -> Option<Answer> {
        let cell = self.cell(id);
        let (since, until) = (load(&cell.since), load(&cell.until));
        if now < since || until <= now || demand.cost != 1 {
            return None;
        }
        let whole = load(&cell.whole);
        let known = cell.mixed.each_ref().map(load);
        (known == mix(id, demand.policy, since, until, whole)).then(|| Answer::Refused {
            remaining: 0,
            retry_after: until - now,
            reset_after: whole.saturating_sub(now),
        })
    }

    /// Keeps a refusal that was decided at `now`.
    pub(super) fn keep(&self, now: u64, id: Id, demand: Demand<'_>, retry_after: u64, reset_after: u64) {
        if demand.cost == 1 && demand.at.is_none() {
            let (until, whole) = (now + retry_after, now + reset_after);
            self.cell(id)
                .write(mix(id, demand.policy, now, until, whole), now, until, whole);
        }
    }

    /// Whatever is kept of this counter may hold no more.
    pub(super) fn forget(&self, id: Id) {
        self.cell(id).write([0, 0], 0, 0, 0);
    }

    #[cold]
    pub(super) fn forget_all(&self) {
        self.0.iter().for_each(|cell| cell.write([0, 0], 0, 0, 0));
    }

    #[inline]
    fn cell(&self, id: Id) -> &Cell {
        &self.0[id.second_hash() as usize % CELLS]
    }
}

impl Cell {
    fn write(&self, mixed: [u64; 2], since: u64, until: u64, whole: u64) {
        let words = [&self.mixed[0], &self.mixed[1], &self.since, &self.until, &self.whole];
        for (word, value) in words.into_iter().zip([mixed[0], mixed[1], since, until, whole]) {
            word.store(value, Ordering::Relaxed);
        }
    }
}

#[inline]
fn load(word: &AtomicU64) -> u64 {
    word.load(Ordering::Relaxed)
}

/// Differs for any two counters, policies or times, but for a chance of one in 2^64.
#[inline]
fn mix(id: Id, policy: &Policy, since: u64, until: u64, whole: u64) -> [u64; 2] {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let numbers = policy.span().wrapping_mul(FACTOR) ^ policy.block_span().rotate_left(32) ^ u64::from(policy.count());
    [
        id.hash() ^ numbers.wrapping_mul(FACTOR) ^ until ^ since.rotate_left(16),
        id.second_hash() ^ id.method() ^ whole ^ since.rotate_left(48),
    ]
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::key::{Client, Key};
    use crate::method::Method;

    fn id(client: u64) -> Id {
        Id::of(&Key::new(
            Method::named("login"),
            Client::of(&client).expect("it names somebody"),
        ))
    }

    fn demand(policy: &Policy) -> Demand<'_> {
        Demand {
            policy,
            cost: 1,
            at: None,
        }
    }

    #[test]
    fn a_refusal_holds_for_its_time_its_policy_and_its_counter() {
        let refusals = Refusals::default();
        let policy = Policy::sliding_window(5, Duration::from_secs(60));
        let mine = demand(&policy);
        refusals.keep(1_000, id(1), mine, 500, 700);
        let refused = |retry_after, reset_after| {
            Some(Answer::Refused {
                remaining: 0,
                retry_after,
                reset_after,
            })
        };
        assert_eq!(refusals.look(1_000, id(1), mine), refused(500, 700));
        assert_eq!(refusals.look(1_499, id(1), mine), refused(1, 201));
        assert_eq!(refusals.look(1_500, id(1), mine), None, "it is over");
        assert_eq!(refusals.look(999, id(1), mine), None, "the clock stepped back");
        assert_eq!(refusals.look(1_000, id(1), Demand { cost: 2, ..mine }), None);
        for other in [
            Policy::sliding_window(6, Duration::from_secs(60)),
            Policy::sliding_window(5, Duration::from_secs(61)),
            policy.block(Duration::from_secs(1)),
        ] {
            assert_eq!(refusals.look(1_000, id(1), demand(&other)), None, "{other:?}");
        }
        for other in 2..1_000 {
            assert_eq!(refusals.look(1_000, id(other), mine), None);
        }
        refusals.forget(id(1));
        assert_eq!(refusals.look(1_000, id(1), mine), None);
        refusals.keep(1_000, id(1), Demand { cost: 2, ..mine }, 500, 700);
        refusals.keep(1_000, id(1), Demand { at: Some(1), ..mine }, 500, 700);
        assert_eq!(
            refusals.look(1_000, id(1), mine),
            None,
            "neither is sure to hold for others"
        );
    }

    /// Two writers in turn and a reader: whatever is read was written as a whole.
    #[test]
    fn what_is_read_while_it_is_written_is_of_one_piece() {
        let refusals = Refusals::default();
        let policy = Policy::sliding_window(5, Duration::from_secs(60));
        let mine = demand(&policy);
        let found = std::thread::scope(|scope| {
            scope.spawn(|| {
                for round in 1..400_000_u64 {
                    refusals.keep(round, id(1), mine, 1_000_000 + round, 2_000_000 + 3 * round);
                }
            });
            let mut found = 0;
            for _ in 0..400_000 {
                if let Some(Answer::Refused {
                    retry_after,
                    reset_after,
                    ..
                }) = refusals.look(400_000, id(1), mine)
                {
                    // until = 1,000,000 + 2 * round, whole = 2,000,000 + 4 * round
                    assert_eq!(reset_after + 400_000, 2 * (retry_after + 400_000), "{retry_after}");
                    found += 1;
                }
            }
            found
        });
        assert!(found > 0 || refusals.look(400_000, id(1), mine).is_some());
    }
}
