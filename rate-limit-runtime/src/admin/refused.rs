//! Who is refused now.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::key::{Client, Id, Key};
use crate::method::Method;
use crate::policy::Policy;

/// The clients that were refused and whose wait is not over: a table of fixed size, in sets that each have a lock. In a set that is full the one
/// goes that is admitted first.
pub(super) struct Refused {
    sets: Box<[Set]>,
    /// How many were not kept, or went to make room.
    lost: AtomicU64,
}

/// In memory that no other set has a part of.
#[repr(align(128))]
struct Set {
    /// How many it has, to be seen without the lock.
    len: AtomicUsize,
    refusals: Mutex<Vec<Refusal>>,
}

/// A client that is refused by one rule. Times are those since the start of the watch.
#[derive(Clone, Copy)]
pub(super) struct Refusal {
    /// The counter that refuses.
    key: Key,
    pub(super) policy: Policy,
    pub(super) until: Duration,
    /// How often, since it was first refused or last admitted.
    pub(super) times: u64,
}

impl Refusal {
    pub(super) const fn client(&self) -> Client {
        self.key.client()
    }

    pub(super) const fn function(&self) -> &'static str {
        self.key.method().name()
    }
}

impl Refused {
    const SETS: usize = 64;
    /// How many clients a set has room for.
    const ROOM: usize = 16;

    pub(super) fn new() -> Self {
        let set = |_| Set {
            len: AtomicUsize::new(0),
            refusals: Mutex::new(Vec::with_capacity(Self::ROOM)),
        };
        Self {
            sets: (0..Self::SETS).map(set).collect(),
            lost: AtomicU64::new(0),
        }
    }

    /// The counter refuses the client from `now` until then.
    pub(super) fn note(&self, key: Key, policy: Policy, now: Duration, until: Duration) {
        let set = self.set(&key);
        let mut refusals = set.lock();
        if let Some(known) = refusals.iter_mut().find(|known| known.key == key) {
            *known = Refusal {
                key,
                policy,
                until,
                times: known.times + 1,
            };
            return;
        }
        if refusals.len() == Self::ROOM {
            refusals.retain(|known| known.until > now);
        }
        if refusals.len() == Self::ROOM {
            self.lost.fetch_add(1, Ordering::Relaxed);
            let first = (0..Self::ROOM).min_by_key(|place| refusals[*place].until);
            match first {
                Some(first) if refusals[first].until < until => {
                    refusals.swap_remove(first);
                }
                _ => return,
            }
        }
        refusals.push(Refusal {
            key,
            policy,
            until,
            times: 1,
        });
        set.tell(&refusals);
    }

    /// The counter has admitted its client.
    pub(super) fn admitted(&self, key: &Key) {
        let set = self.set(key);
        if set.len.load(Ordering::Relaxed) > 0 {
            set.remove(|known| known.key == *key);
        }
    }

    /// Nothing is kept of the client any more, at this method or at all.
    pub(super) fn forget(&self, client: Client, method: Option<&Method>) {
        let is_meant =
            |known: &Refusal| known.client() == client && method.is_none_or(|method| known.function() == method.name());
        self.sets.iter().for_each(|set| set.remove(is_meant));
    }

    /// Who is refused at this time, those for the longest first.
    pub(super) fn at(&self, now: Duration) -> Vec<Refusal> {
        let mut all = Vec::new();
        for set in &self.sets {
            set.remove(|known| known.until <= now);
            all.extend_from_slice(&set.lock());
        }
        all.sort_by_key(|refusal| std::cmp::Reverse(refusal.until));
        all
    }

    pub(super) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    fn set(&self, key: &Key) -> &Set {
        // The lowest bits of a random number.
        &self.sets[Id::of(key).second_hash() as usize % Self::SETS]
    }
}

impl Set {
    fn lock(&self) -> MutexGuard<'_, Vec<Refusal>> {
        self.refusals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remove(&self, which: impl Fn(&Refusal) -> bool) {
        let mut refusals = self.lock();
        refusals.retain(|known| !which(known));
        self.tell(&refusals);
    }

    fn tell(&self, refusals: &[Refusal]) {
        self.len.store(refusals.len(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: Policy = Policy::sliding_window(1, Duration::from_secs(60));

    fn key(method: &'static str, client: u64) -> Key {
        Key::new(Method::named(method), Client::of(&client).expect("it names somebody"))
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_client_is_there_until_the_wait_is_over_or_a_call_is_admitted() {
        let refused = Refused::new();
        refused.note(key("a", 1), POLICY, seconds(0), seconds(10));
        refused.note(key("a", 1), POLICY, seconds(1), seconds(12));
        refused.note(key("a", 2), POLICY, seconds(1), seconds(20));
        let told = |now| {
            refused
                .at(seconds(now))
                .iter()
                .map(|one| (one.until.as_secs(), one.times))
                .collect::<Vec<_>>()
        };
        assert_eq!(told(11), [(20, 1), (12, 2)]);
        assert_eq!(told(12), [(20, 1)]);
        refused.admitted(&key("b", 2));
        assert_eq!(told(12), [(20, 1)], "it was admitted by another counter");
        refused.admitted(&key("a", 2));
        assert_eq!(told(12), []);
    }

    #[test]
    fn a_client_is_forgotten_at_one_function_or_at_all() {
        let refused = Refused::new();
        for (method, client) in [("a", 1), ("b", 1), ("c", 1), ("a", 2)] {
            refused.note(key(method, client), POLICY, seconds(0), seconds(10));
        }
        let client = key("a", 1).client();
        refused.forget(client, Some(&Method::named("b")));
        assert_eq!(refused.at(seconds(0)).len(), 3);
        refused.forget(client, None);
        assert_eq!(refused.at(seconds(0)).len(), 1);
    }

    #[test]
    fn a_flood_takes_no_more_room_and_those_who_wait_longest_stay() {
        let refused = Refused::new();
        let room = (Refused::SETS * Refused::ROOM) as u64;
        refused.note(key("a", u64::MAX), POLICY, seconds(0), seconds(3_600));
        for client in 0..10 * room {
            refused.note(key("a", client), POLICY, seconds(0), seconds(10));
        }
        let kept = refused.at(seconds(1));
        assert_eq!(kept.len() as u64, room);
        assert_eq!(refused.lost(), 9 * room + 1);
        assert_eq!(kept[0].until, seconds(3_600));
        assert!(refused.sets.iter().all(|set| set.lock().capacity() == Refused::ROOM));
        refused.note(key("b", 1), POLICY, seconds(20), seconds(21));
        assert_eq!(refused.at(seconds(20)).len(), 2, "who has run out makes room");
    }
}
