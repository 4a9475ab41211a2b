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
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::clock::ManualClock;
    use crate::error::StoreErrorKind;
    use crate::key::{Client, Key};
    use crate::method::Method;
    use crate::store::draws::draws;
    use crate::store::{Change, MemoryStore, Store as _};
    use crate::verdict::Hit;

    const STALENESS: Duration = Duration::from_secs(1);
    /// The longest way of a message, there or back.
    const WAY: u64 = 40_000;

    fn key(client: &str) -> Key {
        Key::new(Method::named("login"), Client::of(client).expect("it names somebody"))
    }

    fn denied(micros: u64) -> Result<Verdict, StoreError> {
        Ok(Verdict::Denied {
            longest: 0,
            remaining: 0,
            retry_after: micros,
            reset_after: micros,
        })
    }

    fn ask(denials: &Arc<Denials>, charge: Charge, now: Instant) -> Asked {
        match denials.look(&[charge], now) {
            Some(Look::Ask(asked)) => asked,
            _ => panic!("it is not to be asked"),
        }
    }

    fn is_refused(denials: &Arc<Denials>, charge: Charge, now: Instant) -> bool {
        matches!(denials.look(&[charge], now), Some(Look::Refused(_)))
    }

    fn charge(client: &str) -> Charge {
        Charge::new(
            key(client),
            Policy::sliding_window(5, Duration::from_secs(600)).block(Duration::from_secs(900)),
            2,
        )
    }

    #[test]
    fn only_a_call_that_is_sure_to_be_refused_is() {
        let denials = Denials::new(STALENESS).expect("it is on");
        let (now, mine) = (Instant::now(), charge("a"));
        ask(&denials, mine, now).answered(&denied(9_000_000), now + Duration::from_millis(3));
        let soon = now + Duration::from_millis(500);
        assert!(is_refused(&denials, mine, soon));
        assert!(is_refused(&denials, Charge { cost: 3, ..mine }, soon));
        assert!(!is_refused(&denials, Charge { cost: 1, ..mine }, soon));
        for policy in [
            Policy::sliding_window(6, Duration::from_secs(600)).block(Duration::from_secs(900)),
            Policy::sliding_window(5, Duration::from_secs(601)).block(Duration::from_secs(900)),
            Policy::sliding_window(5, Duration::from_secs(600)).block(Duration::from_secs(901)),
            Policy::fixed_window(5, Duration::from_secs(600)).block(Duration::from_secs(900)),
        ] {
            assert!(!is_refused(&denials, Charge { policy, ..mine }, soon), "{policy:?}");
        }
        assert!(!is_refused(&denials, charge("b"), soon));
        for unlike in [
            Charge { observe: true, ..mine },
            Charge { at: Some(0), ..mine },
            Charge { cost: 6, ..mine },
        ] {
            assert!(denials.look(&[unlike], soon).is_none());
        }
        assert!(Denials::new(Duration::ZERO).is_none());
    }

    fn no_block(client: &str) -> Charge {
        let policy = Policy::sliding_window(5, Duration::from_secs(600));
        Charge {
            policy,
            ..charge(client)
        }
    }

    #[test]
    fn f_57_a_call_by_several_rules_is_refused_by_the_rule_that_refused_one() {
        let denials = Denials::new(STALENESS).expect("it is on");
        let (now, stack) = (Instant::now(), ["a", "b", "c"].map(no_block));
        let refused_by = |charges: &[Charge], now| match denials.look(charges, now) {
            Some(Look::Refused(Verdict::Denied { longest, .. })) => Some(longest),
            _ => None,
        };
        let asked = denials.look(&stack, now);
        let Some(Look::Ask(asked)) = asked else {
            panic!("nothing is known yet")
        };
        let by_the_second = Ok(Verdict::Denied {
            longest: 1,
            remaining: 0,
            retry_after: 9_000_000,
            reset_after: 9_000_000,
        });
        asked.answered(&by_the_second, now);
        let soon = now + Duration::from_millis(500);
        assert_eq!(refused_by(&stack, soon), Some(1));
        assert_eq!(refused_by(&stack[1..], soon), Some(0), "whatever its place is");
        assert_eq!(
            refused_by(&[stack[0], stack[2]], soon),
            None,
            "the others refused nothing"
        );
        let may_begin_a_block = [stack[1], charge("d")];
        assert_eq!(refused_by(&may_begin_a_block, soon), None, "only the server begins it");
        let can_never_be = [
            stack[1],
            Charge {
                cost: 6,
                ..no_block("d")
            },
        ];
        assert_eq!(refused_by(&can_never_be, soon), None);
        let observes = [
            stack[1],
            Charge {
                observe: true,
                ..no_block("d")
            },
        ];
        assert_eq!(refused_by(&observes, soon), Some(0));

        // Stale: one call asks, and the others are refused meanwhile.
        let later = now + STALENESS;
        let Some(Look::Ask(asked)) = denials.look(&stack, later) else {
            panic!("it is stale")
        };
        assert_eq!(refused_by(&stack, later), Some(1));
        asked.answered(
            &Ok(Verdict::Allowed {
                tightest: 0,
                remaining: 0,
                reset_after: 0,
                hits: crate::verdict::Hits::new(),
            }),
            later,
        );
        assert_eq!(refused_by(&stack, later), None, "it was admitted");
    }

    #[test]
    fn the_wait_ends_by_the_sending_and_is_told_by_the_answer() {
        let denials = Denials::new(STALENESS).expect("it is on");
        let (now, mine) = (Instant::now(), charge("a"));
        ask(&denials, mine, now).answered(&denied(10_000), now + Duration::from_millis(3));
        let Some(Look::Refused(verdict)) = denials.look(&[mine], now + Duration::from_nanos(9_999_999)) else {
            panic!("it still waits");
        };
        // Of the 13 ms after the sending less than 3,000.001 us are left.
        assert_eq!(verdict, denied(3_001).expect("it is a verdict"));
        assert!(!is_refused(&denials, mine, now + Duration::from_millis(10)));
    }

    #[test]
    fn one_call_asks_when_it_is_stale() {
        let denials = Denials::new(STALENESS).expect("it is on");
        let (now, mine) = (Instant::now(), charge("a"));
        ask(&denials, mine, now).answered(&denied(9_000_000), now);
        let later = now + STALENESS;
        let asking = ask(&denials, mine, later);
        assert!(is_refused(&denials, mine, later));
        drop(asking);
        let asking = ask(&denials, mine, later);
        assert!(is_refused(&denials, mine, later));
        asking.answered(&denied(8_000_000), later);
        assert!(is_refused(&denials, mine, later + Duration::from_millis(999)));
        let asking = ask(&denials, mine, later + STALENESS);
        asking.answered(&Err(StoreError::new(StoreErrorKind::Timeout, "")), later + STALENESS);
        assert!(!is_refused(&denials, mine, later + STALENESS), "it cannot be asked for");
    }

    #[test]
    fn nobody_is_refused_while_the_server_does_not_decide() {
        let denials = Denials::new(STALENESS).expect("it is on");
        let (now, mine) = (Instant::now(), charge("a"));
        ask(&denials, mine, now).answered(&denied(9_000_000), now);
        let fail = |kind| ask(&denials, charge("b"), now).answered(&Err(StoreError::new(kind, "")), now);
        fail(StoreErrorKind::Unexpected);
        assert!(is_refused(&denials, mine, now), "that was about another key");
        fail(StoreErrorKind::Unavailable);
        assert!(!is_refused(&denials, mine, now));
        ask(&denials, charge("b"), now).answered(&denied(9_000_000), now);
        assert!(is_refused(&denials, mine, now));
    }

    #[test]
    fn one_that_asks_while_its_neighbours_are_forgotten_leaves_the_asking_to_the_next() {
        let denials = Denials::new(STALENESS).expect("it is on");
        let (now, mine) = (Instant::now(), charge("a"));
        ask(&denials, mine, now).answered(&denied(9_000_000), now);
        let asking = ask(&denials, mine, now + STALENESS);
        denials.shard(Id::of(&mine.key)).change().epoch += 1;
        asking.answered(&denied(8_000_000), now + STALENESS);
        assert!(!is_refused(&denials, mine, now + STALENESS), "this one asks");
    }

    #[test]
    fn rst_05_a_refusal_under_way_is_not_kept_after_a_reset() {
        let denials = Denials::new(STALENESS).expect("it is on");
        let (now, mine) = (Instant::now(), charge("a"));
        let before = ask(&denials, mine, now);
        let reset = Settlement::new(mine.key, mine.policy, Change::Reset { upto: Hit::NONE });
        drop(denials.changing(&[reset]));
        before.answered(&denied(9_000_000), now);
        assert!(!is_refused(&denials, mine, now));
    }

    #[test]
    fn an_earlier_answer_that_comes_late_changes_nothing() {
        let denials = Denials::new(STALENESS).expect("it is on");
        let (now, mine) = (Instant::now(), charge("a"));
        let first = ask(&denials, mine, now);
        let later = now + Duration::from_millis(1);
        ask(&denials, mine, later).answered(&denied(9_000_000), later);
        first.answered(&Ok(Verdict::Impossible { which: 0 }), later);
        assert!(is_refused(&denials, mine, later));
    }

    #[test]
    fn the_oldest_goes_when_there_are_too_many() {
        let denials = Denials::new(STALENESS).expect("it is on");
        let now = Instant::now();
        let clients = 3 * REFUSALS as u64;
        for client in 0..clients {
            let at = now + Duration::from_micros(client);
            let mine = charge(&client.to_string());
            ask(&denials, mine, at).answered(&denied(9_000_000), at);
        }
        let kept: usize = denials.shards.iter().map(|shard| shard.lock().refusals.len()).sum();
        assert_eq!(kept, SHARDS * REFUSALS_A_SHARD);
        let at = now + Duration::from_micros(clients);
        let known = |client: &u64| is_refused(&denials, charge(&client.to_string()), at);
        assert!((clients - 1_000..clients).all(|client| known(&client)));
        assert_eq!((0..10_000).filter(known).count(), 0);
    }

    enum Event {
        Call,
        Arrives(Charge, Asked),
        Answers(Asked, Result<Verdict, StoreError>),
        ResetElsewhere,
        Reset,
        Forgets(Changing),
        Ends(Changing),
    }

    /// Calls by one instance, resets by it and by others, messages that take their time and get lost: whatever is refused
    /// without asking, the store would refuse, or would have a moment ago.
    #[test]
    fn rst_05_nobody_is_refused_who_fits_but_for_the_staleness() {
        let mut told_again = 0;
        let (mut refused, mut excused, mut asked_again) = (0, 0, 0);
        for seed in 1..=40 {
            let mut draw = draws(seed);
            let window = Duration::from_millis(500 + draw(20_000));
            let policy = match draw(4) {
                0 => Policy::fixed_window(5, window),
                1 => Policy::token_bucket(5, window / 5),
                2 => Policy::sliding_window(5, window).block(2 * window),
                _ => Policy::sliding_window(5, window),
            };
            let key = key("a").counted_by(policy.algorithm(), 0);
            let clock = ManualClock::new();
            let store = MemoryStore::builder().clock(&clock).build();
            let (start, origin) = (clock.now(), Instant::now());
            let denials = Denials::new(STALENESS).expect("it is on");
            let clear = Settlement::new(key, policy, Change::Clear);
            let mut events = BTreeMap::new();
            let mut number = 0;
            let mut at = |events: &mut BTreeMap<_, _>, time, event| {
                number += 1;
                events.insert((time, number), event);
            };
            let mut time = start;
            for _ in 0..3_000 {
                time += draw(30_000);
                let event = match draw(400) {
                    0 | 1 => Event::ResetElsewhere,
                    2 | 3 => Event::Reset,
                    _ => Event::Call,
                };
                at(&mut events, time, event);
            }
            let (mut elsewhere, mut lost, mut changing) = (0, 0, 0);
            while let Some(((time, _), event)) = events.pop_first() {
                clock.advance(Duration::from_micros(time - clock.now()));
                let now = origin + Duration::from_micros(time - start);
                match event {
                    Event::Call => {
                        let charge = Charge::new(key, policy, 1 + draw(2) as u32);
                        let told = denials.told(&charge, || now);
                        let looked = denials.look(&[charge], now);
                        if let Some(told) = told {
                            assert!(
                                matches!(&looked, Some(Look::Refused(verdict)) if *verdict == told),
                                "seed {seed}"
                            );
                            told_again += 1;
                        }
                        match looked {
                            Some(Look::Refused(verdict)) => {
                                refused += 1;
                                let truth = store.peek(charge).answer().map(|answer| answer.as_ref().ok().cloned());
                                let excuse = changing > 0
                                    || time - elsewhere < STALENESS.as_micros() as u64 + 2 * WAY
                                    || lost >= elsewhere
                                        && elsewhere > 0
                                        && time - lost < 2 * STALENESS.as_micros() as u64;
                                match (truth.flatten(), verdict) {
                                    (
                                        Some(Verdict::Denied {
                                            retry_after: longest, ..
                                        }),
                                        Verdict::Denied { retry_after, .. },
                                    ) => assert!(excuse || retry_after <= longest + 2 * WAY, "seed {seed}"),
                                    (Some(Verdict::Allowed { .. }), _) => {
                                        assert!(excuse, "seed {seed}, {policy:?}");
                                        excused += 1;
                                    }
                                    unlike => panic!("{unlike:?}"),
                                }
                            }
                            Some(Look::Ask(asked)) => {
                                asked_again += asked.charges.iter().filter(|charge| charge.doubts).count();
                                at(&mut events, time + draw(WAY), Event::Arrives(charge, asked));
                            }
                            None => panic!("it has one charge"),
                        }
                    }
                    // The caller gave up, and the message may arrive all the same.
                    Event::Arrives(charge, asked) if draw(20) == 0 => {
                        lost = time;
                        drop(asked);
                        if draw(2) == 0 {
                            drop(store.acquire(&[charge]));
                        }
                    }
                    Event::Arrives(charge, asked) => {
                        let answer = match draw(20) {
                            0 => Err(StoreError::new(StoreErrorKind::Timeout, "")),
                            _ => match store.acquire(&[charge]).answer() {
                                Some(Ok(verdict)) => Ok(verdict.clone()),
                                _ => panic!("it is in memory"),
                            },
                        };
                        at(&mut events, time + draw(WAY), Event::Answers(asked, answer));
                    }
                    Event::Answers(asked, answer) => asked.answered(&answer, now),
                    Event::ResetElsewhere => {
                        elsewhere = time;
                        drop(store.settle(&[clear]));
                    }
                    Event::Reset => {
                        changing += 1;
                        let change = denials.changing(&[clear]);
                        at(&mut events, time + draw(WAY), Event::Forgets(change));
                    }
                    Event::Forgets(change) => {
                        drop(store.settle(&[clear]));
                        at(&mut events, time + draw(WAY), Event::Ends(change));
                    }
                    Event::Ends(change) => {
                        changing -= 1;
                        drop(change);
                    }
                }
            }
        }
        println!(
            "{refused} refused without asking, {told_again} without a lock, {excused} who would fit, {asked_again} asked again"
        );
        assert!(refused > 10_000 && told_again > 5_000 && excused > 10 && asked_again > 100);
    }
}
