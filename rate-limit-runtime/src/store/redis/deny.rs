//! Refusals that still hold, told without asking the server: a client that knocks at full speed costs it next to nothing.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use smallvec::SmallVec;

use super::told::{self, Told};
use crate::error::StoreError;
use crate::key::{Client, Id};
use crate::policy::Policy;
use crate::store::{Charge, Settlement};
use crate::verdict::Verdict;

const SHARDS: usize = 64;
/// How many refusals are kept in all, about 1 MB.
const REFUSALS: usize = 10_000;
const REFUSALS_A_SHARD: usize = REFUSALS / SHARDS;

/// How many there were in this process.
static IDS: AtomicU64 = AtomicU64::new(0);

/// The last refusal of each key, for as long as it is sure to hold.
pub(super) struct Denials {
    staleness: Duration,
    /// Whether the server last failed to decide: then nobody is refused here, and `on_store_error` holds for all alike.
    blind: AtomicBool,
    shards: [Shard; SHARDS],
    /// Which of the process this is.
    id: u64,
}

#[derive(Default)]
struct Shard {
    known: Mutex<Known>,
    /// Counts the changes of what is known.
    version: AtomicU64,
}

#[derive(Default)]
struct Known {
    refusals: HashMap<Id, Refusal, RandomState>,
    /// Counts the times that something was forgotten: a refusal that was asked for before may hold no more.
    epoch: u64,
}

#[derive(Clone, Copy)]
pub(super) struct Refusal {
    policy: Policy,
    cost: u32,
    sent: Instant,
    heard: Instant,
    remaining: u32,
    retry_after: Duration,
    reset_after: Duration,
    /// Whether a call is asking if it still holds.
    doubted: bool,
}

/// What there is to say to a call.
pub(super) enum Look {
    Refused(Verdict),
    /// To be asked of the server, and answered here.
    Ask(Asked),
}

/// A call that asks the server. Dropped without an answer, it leaves the asking to the next one.
#[must_use]
pub(super) struct Asked {
    denials: Arc<Denials>,
    sent: Instant,
    /// The charges of the call whose refusals are kept.
    charges: SmallVec<[AskedCharge; 1]>,
    is_doubtful: bool,
}

/// One charge of a call that asks.
#[derive(Clone, Copy)]
struct AskedCharge {
    /// Its place in the call.
    place: u8,
    id: Id,
    policy: Policy,
    cost: u32,
    epoch: u64,
    /// Whether it asks on behalf of others, which are refused meanwhile.
    doubts: bool,
}

/// Counters that are being changed. Dropped when that has ended, however it did, it forgets their refusals.
#[must_use]
pub(super) struct Changing {
    denials: Arc<Denials>,
    ids: SmallVec<[Id; 2]>,
}

impl Denials {
    /// `None` where nothing may be stale.
    pub(super) fn new(staleness: Duration) -> Option<Arc<Self>> {
        (!staleness.is_zero()).then(|| {
            Arc::new(Self {
                staleness,
                blind: AtomicBool::new(false),
                shards: std::array::from_fn(|_| Shard::default()),
                id: IDS.fetch_add(1, Ordering::Relaxed),
            })
        })
    }

    /// Whether this call is sure to be refused. It is if one of its charges is: one that weighed no more was refused, by the same policy,
    /// not long ago.
    ///
    /// `None` if nothing is kept of such a call: of one whose charges all observe or come with their time, and of one that can never be
    /// admitted.
    pub(super) fn look(self: &Arc<Self>, charges: &[Charge], now: Instant) -> Option<Look> {
        if charges.iter().any(|charge| charge.cost > charge.policy.count()) {
            return None;
        }
        let kept = charges.iter().enumerate().filter(|(_, charge)| is_kept(charge));
        let mut asked: SmallVec<[(AskedCharge, Option<Refusal>); 2]> =
            kept.map(|(place, charge)| self.ask(place, charge, now)).collect();
        if asked.is_empty() {
            return None;
        }
        if self.blind.load(Ordering::Relaxed) {
            asked.iter_mut().for_each(|(_, known)| *known = None);
        }
        let fresh = |refusal: &Refusal| refusal.doubted || now.duration_since(refusal.sent) < self.staleness;
        let refusals = || {
            asked
                .iter()
                .filter_map(|(charge, known)| Some((charge.place, known.filter(fresh)?)))
        };
        let longest = refusals().max_by_key(|(place, refusal)| (refusal.left(now), Reverse(*place)));
        // A block begins with the first call that exceeds its limit, which only the server can tell.
        let may_begin_a_block = |(place, charge): (usize, &Charge)| {
            charge.policy.block_span() > 0 && refusals().all(|(refused, _)| usize::from(refused) != place)
        };
        if let Some((place, refusal)) = longest
            && !charges.iter().enumerate().any(may_begin_a_block)
        {
            if let [charge] = charges {
                self.keep_told(charge, refusal);
            }
            return Some(Look::Refused(refusal.verdict(now, place.into())));
        }
        let is_doubtful = asked.len() < charges.len() || asked.iter().any(|(_, known)| known.is_some());
        let charges = asked.into_iter().map(|(charge, known)| AskedCharge {
            doubts: known.is_some() && self.doubt(charge.id),
            ..charge
        });
        Some(Look::Ask(Asked {
            denials: Arc::clone(self),
            sent: now,
            charges: charges.collect(),
            is_doubtful,
        }))
    }

    /// What there is to ask of a charge, and the refusal of it that holds, if one is known.
    fn ask(&self, place: usize, charge: &Charge, now: Instant) -> (AskedCharge, Option<Refusal>) {
        let id = Id::of(&charge.key);
        let known = self.shard(id).lock();
        let refusal = known.refusals.get(&id).copied();
        let asked = AskedCharge {
            // A call has eight at the most.
            place: place as u8,
            id,
            policy: charge.policy,
            cost: charge.cost,
            epoch: known.epoch,
            doubts: false,
        };
        (
            asked,
            refusal.filter(|refusal| refusal.is_of(charge) && refusal.holds(now)),
        )
    }

    /// Has others refused while one call asks. Returns whether this is the one.
    fn doubt(&self, id: Id) -> bool {
        let mut known = self.shard(id).lock();
        let refusal = known.refusals.get_mut(&id);
        refusal.is_some_and(|refusal| !std::mem::replace(&mut refusal.doubted, true))
    }

    fn keep_told(&self, charge: &Charge, refusal: Refusal) {
        let id = Id::of(&charge.key);
        let shard = place(id);
        told::keep(Told {
            denials: self.id,
            shard,
            version: self.shards[shard].version.load(Ordering::Acquire),
            id,
            refusal,
            until: refusal.sent + self.staleness.min(refusal.retry_after),
        });
    }

    /// What [`look`](Self::look) would refuse too, if this thread has told so not long ago.
    #[inline]
    pub(super) fn told(&self, charge: &Charge, now: impl FnOnce() -> Instant) -> Option<Verdict> {
        if !is_kept(charge) {
            return None;
        }
        told::look(Id::of(&charge.key), |told| {
            if told.denials != self.id
                || told.version != self.shards[told.shard].version.load(Ordering::Acquire)
                || self.blind.load(Ordering::Relaxed)
            {
                return None;
            }
            let now = now();
            let holds = now < told.until && told.refusal.is_of(charge);
            holds.then(|| told.refusal.verdict(now, 0))
        })
    }

    pub(super) fn changing(self: &Arc<Self>, settlements: &[Settlement]) -> Changing {
        Changing {
            denials: Arc::clone(self),
            ids: settlements.iter().map(|settlement| Id::of(&settlement.key)).collect(),
        }
    }

    /// What is known of a client holds no more.
    pub(super) fn forget(&self, client: Client) {
        for shard in &self.shards {
            let mut known = shard.change();
            known.refusals.retain(|id, _| !id.is_of(client));
            known.epoch += 1;
        }
    }

    fn shard(&self, id: Id) -> &Shard {
        &self.shards[place(id)]
    }
}

/// Whether refusals of such a charge are kept.
const fn is_kept(charge: &Charge) -> bool {
    !charge.observe && charge.at.is_none()
}

const fn place(id: Id) -> usize {
    id.hash() as usize % SHARDS
}

impl Shard {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// To change what is known: no thread tells any more what it has told.
    fn change(&self) -> MutexGuard<'_, Known> {
        let known = self.lock();
        self.version.fetch_add(1, Ordering::Release);
        known
    }
}

impl Known {
    fn keep(&mut self, id: Id, refusal: Refusal) {
        if self.refusals.len() >= REFUSALS_A_SHARD && !self.refusals.contains_key(&id) {
            // One that is asked for again and again is young.
            let oldest = self.refusals.iter().min_by_key(|(_, refusal)| refusal.heard);
            if let Some(oldest) = oldest.map(|(id, _)| *id) {
                self.refusals.remove(&oldest);
            }
        }
        self.refusals.insert(id, refusal);
    }
}

impl Refusal {
    /// Whether it is one of this charge too, which has the key.
    fn is_of(&self, charge: &Charge) -> bool {
        self.policy == charge.policy && self.cost <= charge.cost
    }

    /// Whether the wait is not over. It was told after the call was sent, so it ends no earlier than this.
    fn holds(&self, now: Instant) -> bool {
        now.duration_since(self.sent) < self.retry_after
    }

    /// What is left of the wait from when it was heard of: who waits as long is not refused for coming too early.
    fn left(&self, now: Instant) -> Duration {
        self.retry_after.saturating_sub(now.duration_since(self.heard))
    }

    /// As a verdict on the charge in this place.
    #[inline]
    fn verdict(&self, now: Instant, place: usize) -> Verdict {
        let micros = |left: Duration| left.as_secs() * 1_000_000 + u64::from(left.subsec_nanos().div_ceil(1_000));
        Verdict::Denied {
            longest: place,
            remaining: self.remaining,
            retry_after: micros(self.left(now)),
            reset_after: micros(self.reset_after.saturating_sub(now.duration_since(self.heard))),
        }
    }
}

impl Asked {
    /// Returns `true` if a charge of the call was refused before and may be again, or if that cannot be known.
    pub(super) const fn is_doubtful(&self) -> bool {
        self.is_doubtful
    }

    pub(super) fn answered(self, answer: &Result<Verdict, StoreError>, now: Instant) {
        let blind = &self.denials.blind;
        let fails = answer.as_ref().is_err_and(StoreError::is_transient);
        if blind.load(Ordering::Relaxed) != fails {
            blind.store(fails, Ordering::Relaxed);
        }
        for charge in &self.charges {
            let refusal = match *answer {
                Ok(Verdict::Denied {
                    longest,
                    remaining,
                    retry_after,
                    reset_after,
                }) if longest == usize::from(charge.place) => Some(Refusal {
                    policy: charge.policy,
                    cost: charge.cost,
                    sent: self.sent,
                    heard: now,
                    remaining,
                    retry_after: Duration::from_micros(retry_after),
                    reset_after: Duration::from_micros(reset_after),
                    doubted: false,
                }),
                // Nothing is said of the others.
                Ok(Verdict::Denied { .. }) => continue,
                // Admitted, or what is known cannot be asked for any more.
                _ => None,
            };
            self.denials.replace(charge, self.sent, refusal);
        }
    }
}

impl Denials {
    /// Puts what was answered to a call in the place of what is known, unless that is the answer to a later call.
    fn replace(&self, charge: &AskedCharge, sent: Instant, refusal: Option<Refusal>) {
        let shard = self.shard(charge.id);
        let mut known = shard.lock();
        let before = known.refusals.get(&charge.id);
        if before.is_some_and(|before| before.sent > sent) {
            return;
        }
        if before.is_some() {
            shard.version.fetch_add(1, Ordering::Release);
        }
        match refusal {
            Some(refusal) if known.epoch == charge.epoch => known.keep(charge.id, refusal),
            Some(_) => {}
            None => drop(known.refusals.remove(&charge.id)),
        }
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        for charge in self.charges.iter().filter(|charge| charge.doubts) {
            if let Some(refusal) = self.denials.shard(charge.id).lock().refusals.get_mut(&charge.id) {
                refusal.doubted = false;
            }
        }
    }
}

impl Drop for Changing {
    fn drop(&mut self) {
        for id in &self.ids {
            let mut known = self.denials.shard(*id).change();
            known.epoch += 1;
            known.refusals.remove(id);
        }
    }
}

#[cfg(all(test, feature = "test-util"))]
mod tests;
