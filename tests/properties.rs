//! Random histories on the embedded store, against models that keep every hit and reckon anew.

use std::cmp::Reverse;
use std::time::Duration;

use proptest::prelude::*;
use rate_limit::{
    Algorithm, Change, Charge, Client, Hit, Key, ManualClock, MemoryStore, Method, Policy, PolicyError, Settlement,
    Store, Verdict,
};

/// What happens to the key.
#[derive(Clone, Debug)]
enum Step {
    Advance(u64),
    Acquire(u32),
    /// A reset up to one of the hits admitted so far.
    Reset(usize),
    /// A refund of one of them, once.
    Refund(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0..400_000_u64).prop_map(Step::Advance),
        1 => (0..4_000_000_u64).prop_map(Step::Advance),
        8 => (0..4_u32).prop_map(Step::Acquire),
        1 => any::<usize>().prop_map(Step::Reset),
    ];
    prop::collection::vec(step, 1..200)
}

fn policies() -> impl Strategy<Value = Policy> {
    (1..8_u32, 1_000..3_000_000_u64)
        .prop_map(|(count, micros)| Policy::sliding_window(count, Duration::from_micros(micros)))
}

/// As [`steps`], with some that take a hit back.
fn steps_and_refunds() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0..400_000_u64).prop_map(Step::Advance),
        1 => (0..4_000_000_u64).prop_map(Step::Advance),
        8 => (0..5_u32).prop_map(Step::Acquire),
        1 => any::<usize>().prop_map(Step::Reset),
        2 => any::<usize>().prop_map(Step::Refund),
    ];
    prop::collection::vec(step, 1..200)
}

fn buckets() -> impl Strategy<Value = Policy> {
    (1..8_u32, 1..1_000_000_u64)
        .prop_map(|(capacity, micros)| Policy::token_bucket(capacity, Duration::from_micros(micros)))
}

fn fixed_windows() -> impl Strategy<Value = Policy> {
    (1..8_u32, 1_000..3_000_000_u64)
        .prop_map(|(count, micros)| Policy::fixed_window(count, Duration::from_micros(micros)))
}

fn any_policy() -> impl Strategy<Value = Policy> {
    prop_oneof![policies(), buckets(), fixed_windows()]
}

struct Subject {
    clock: ManualClock,
    store: MemoryStore,
    key: Key,
    policy: Policy,
}

impl Subject {
    fn new(policy: Policy) -> Self {
        let clock = ManualClock::new();
        let store = MemoryStore::builder().clock(&clock).build();
        let client = Client::of("20230001").expect("it names somebody");
        Self {
            clock,
            store,
            key: Key::new(Method::named("properties"), client),
            policy,
        }
    }

    fn acquire(&self, cost: u32) -> Verdict {
        ready(self.store.acquire(&[Charge::new(self.key, self.policy, cost)]))
    }

    fn peek(&self, cost: u32) -> Verdict {
        ready(self.store.peek(Charge::new(self.key, self.policy, cost)))
    }
}

impl Subject {
    fn reset(&self, upto: Hit) {
        self.settle(Change::Reset { upto });
    }

    fn refund(&self, hit: Hit, cost: u32) {
        self.settle(Change::Refund { hit, cost });
    }

    fn settle(&self, change: Change) {
        ready(self.store.settle(&[Settlement::new(self.key, self.policy, change)]));
    }
}

/// The embedded store never waits.
fn ready<T: Unpin>(reply: rate_limit::Reply<Result<T, rate_limit::StoreError>>) -> T {
    use std::future::Future as _;
    use std::task::{Context, Poll, Waker};
    match std::pin::pin!(reply).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Ok(answer)) => answer,
        other => panic!(
            "the embedded store answers at once, not {}",
            if other.is_ready() { "an error" } else { "later" }
        ),
    }
}

/// Every hit that was admitted and not reset: when, and its id.
#[derive(Default)]
struct Model(Vec<(u64, Hit)>);

impl Model {
    fn live(&self, now: u64, window: u64) -> usize {
        self.0.iter().filter(|(time, _)| time + window > now).count()
    }

    /// The first time at which `cost` fits, if nothing else comes.
    fn fits_at(&self, now: u64, policy: Policy, cost: u32) -> u64 {
        let (count, window) = (policy.count() as usize, policy.window().as_micros() as u64);
        let mut times: Vec<u64> = self
            .0
            .iter()
            .map(|(time, _)| time + window)
            .filter(|end| *end > now)
            .collect();
        times.insert(0, now);
        *times
            .iter()
            .find(|time| self.live(**time, window) + cost as usize <= count)
            .expect("it fits once all have left")
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Never more than `count` in any window, and each answer as the model has it.
    #[test]
    fn alg_03_never_more_than_count_in_any_window(policy in policies(), steps in steps()) {
        let subject = Subject::new(policy);
        let window = policy.window().as_micros() as u64;
        let mut model = Model::default();
        // Since the last reset: what was forgiven may be admitted again.
        let mut admitted: Vec<u64> = Vec::new();
        for step in steps {
            let now = subject.clock.now();
            match step {
                Step::Advance(micros) => subject.clock.advance(Duration::from_micros(micros)),
                Step::Reset(which) => {
                    if let Some((_, hit)) = model.0.get(which % model.0.len().max(1)).copied() {
                        subject.reset(hit);
                        model.0.retain(|(_, other)| *other > hit);
                        admitted.clear();
                        admitted.extend(model.0.iter().map(|(time, _)| *time));
                    }
                }
                Step::Acquire(cost) => match subject.acquire(cost) {
                    Verdict::Allowed { hits, remaining, .. } => {
                        let hit = hits[0];
                        prop_assert_eq!(model.fits_at(now, policy, cost), now);
                        model.0.extend((0..cost).map(|_| (now, hit)));
                        admitted.extend((0..cost).map(|_| now));
                        let live = model.live(now, window);
                        prop_assert_eq!(remaining as usize, policy.count() as usize - live);
                    }
                    Verdict::Denied { retry_after, reset_after, .. } => {
                        prop_assert_eq!(now + retry_after, model.fits_at(now, policy, cost));
                        let newest = model.0.last().map_or(0, |(time, _)| time + window - now);
                        prop_assert_eq!(reset_after, newest);
                    }
                    Verdict::Impossible { .. } => prop_assert!(cost > policy.count()),
                    other => prop_assert!(false, "{:?}", other),
                },
                Step::Refund(_) => unreachable!("none is asked for"),
            }
        }
        for start in &admitted {
            let within = admitted.iter().filter(|time| **time >= *start && **time < start + window).count();
            prop_assert!(within <= policy.count() as usize, "{} of {} in one window", within, policy.count());
        }
    }

    /// After any history, every moment before the wait is over is refused, and the moment it is over is admitted.
    #[test]
    fn alg_05_one_tick_before_the_hint_is_denied_and_the_hint_admits(
        policy in any_policy(), steps in steps(), cost in 1..4_u32, probes in prop::collection::vec(0.0..1.0_f64, 3)
    ) {
        let subject = Subject::new(policy);
        let cost = cost.min(policy.count());
        for step in steps {
            match step {
                Step::Advance(micros) => subject.clock.advance(Duration::from_micros(micros)),
                Step::Acquire(cost) => { subject.acquire(cost.min(policy.count())); }
                Step::Reset(_) | Step::Refund(_) => {}
            }
        }
        for _ in 0..policy.count() {
            subject.acquire(1);
        }
        let Verdict::Denied { retry_after, .. } = subject.acquire(cost) else {
            return Err(TestCaseError::fail("a full key refuses"));
        };
        let mut waits: Vec<u64> = probes.iter().map(|part| (retry_after as f64 * part) as u64).collect();
        waits.push(retry_after - 1);
        waits.sort_unstable();
        let start = subject.clock.now();
        for wait in waits {
            subject.clock.advance(Duration::from_micros(start + wait - subject.clock.now()));
            prop_assert_eq!(retry(subject.peek(cost)), Some(retry_after - wait));
            prop_assert_eq!(retry(subject.acquire(cost)), Some(retry_after - wait));
        }
        subject.clock.advance(Duration::from_micros(start + retry_after - subject.clock.now()));
        prop_assert_eq!(retry(subject.acquire(cost)), None);
    }

    /// At the edges of what a policy takes, nothing overflows and nothing more is admitted.
    #[test]
    fn alg_10_extreme_numbers_never_admit_more(
        policy in extreme_policies(),
        costs in prop::collection::vec(prop::sample::select(&EXTREME_COSTS[..]), 1..6),
        years in prop::sample::select(vec![0, 1, 20, 40]),
    ) {
        let subject = Subject::new(policy);
        subject.clock.advance(Duration::from_secs(years * 365 * 86_400));
        let (count, now) = (policy.count(), subject.clock.now());
        let whole = policy.window().as_micros() as u64;
        let mut left = count;
        for cost in costs {
            match subject.acquire(cost) {
                Verdict::Allowed { remaining, reset_after, .. } => {
                    prop_assert!(cost <= left);
                    left -= cost;
                    prop_assert_eq!(remaining, left);
                    prop_assert!(reset_after <= whole);
                    prop_assert_eq!(reset_after > 0, left < count);
                }
                Verdict::Denied { retry_after, .. } => {
                    prop_assert!(cost > left && cost <= count);
                    let wait = match policy.algorithm() {
                        Algorithm::SlidingWindow => whole,
                        Algorithm::FixedWindow => whole - now % whole,
                        _ => whole / u64::from(count) * u64::from(cost - left),
                    };
                    prop_assert_eq!(retry_after, wait);
                }
                Verdict::Impossible { .. } => prop_assert!(cost > count),
                other => prop_assert!(false, "{:?}", other),
            }
        }
        // Long after, all of it is back.
        subject.clock.advance(policy.window());
        let whole_again = subject.peek(count);
        prop_assert_eq!(retry(whole_again), None);
    }

    /// Each answer as a bucket of exact fractions has it, whatever is settled meanwhile.
    #[test]
    fn alg_06_a_bucket_answers_as_one_of_exact_fractions(policy in buckets(), steps in steps_and_refunds()) {
        let subject = Subject::new(policy);
        let mut model = Fractions::of(policy, subject.clock.now());
        let mut hits: Vec<(Hit, usize)> = Vec::new();
        for step in steps {
            let now = subject.clock.now();
            if model.is_full(now) {
                // Ids begin anew, at the time, in what was forgotten: those ahead of it name nothing any more.
                hits.retain(|(hit, _)| hit.raw() <= now);
            }
            match step {
                Step::Advance(micros) => subject.clock.advance(Duration::from_micros(micros)),
                Step::Acquire(cost) => {
                    let expected = model.take(now, cost);
                    let verdict = subject.acquire(cost);
                    if let Verdict::Allowed { hits: recorded, .. } = &verdict && cost > 0 {
                        hits.push((recorded[0], model.taken.len() - 1));
                    }
                    prop_assert_eq!(told(verdict), expected);
                }
                Step::Reset(which) if !hits.is_empty() => {
                    let (hit, place) = hits[which % hits.len()];
                    subject.reset(hit);
                    model.reset(now, place);
                }
                Step::Refund(which) if !hits.is_empty() => {
                    let (hit, place) = hits.swap_remove(which % hits.len());
                    subject.refund(hit, model.taken[place]);
                    model.refund(now, place);
                }
                Step::Reset(_) | Step::Refund(_) => {}
            }
        }
    }

    /// In any time, a bucket admits up to its capacity and one more for each refill.
    #[test]
    fn alg_06_a_bucket_admits_its_capacity_and_one_for_each_refill(policy in buckets(), steps in steps()) {
        let subject = Subject::new(policy);
        let refill = policy.window().as_micros() as u64 / u64::from(policy.count());
        let mut admitted: Vec<(u64, u64)> = Vec::new();
        for step in steps {
            match step {
                Step::Advance(micros) => subject.clock.advance(Duration::from_micros(micros)),
                Step::Acquire(cost) if matches!(subject.acquire(cost), Verdict::Allowed { .. }) => {
                    admitted.push((subject.clock.now(), cost.into()));
                }
                _ => {}
            }
        }
        for (first, (start, _)) in admitted.iter().enumerate() {
            let mut sum = 0;
            for (time, cost) in &admitted[first..] {
                sum += cost;
                let most = u64::from(policy.count()) + (time - start) / refill;
                prop_assert!(sum <= most, "{} of {} in {} us", sum, most, time - start);
            }
        }
    }

    /// Never more than `count` in one aligned window, and each answer as a count of its live hits has it.
    #[test]
    fn alg_03_never_more_than_count_in_one_aligned_window(policy in fixed_windows(), steps in steps_and_refunds()) {
        let subject = Subject::new(policy);
        let (window, count) = (policy.window().as_micros() as u64, u64::from(policy.count()));
        // When, what it weighed, its id, and whether it counts.
        let mut hits: Vec<(u64, u32, Hit, bool)> = Vec::new();
        let mut refunded = false;
        for step in steps {
            let now = subject.clock.now();
            let this = now / window;
            if !hits.iter().any(|(time, _, _, counts)| *counts && time / window == this) {
                // Ids begin anew, at the time, in what was forgotten: those ahead of it name nothing any more.
                hits.retain(|(.., hit, _)| hit.raw() <= now);
            }
            match step {
                Step::Advance(micros) => {
                    subject.clock.advance(Duration::from_micros(micros));
                    refunded &= subject.clock.now() / window == this;
                }
                Step::Acquire(cost) => {
                    let counted = hits.iter().filter(|(time, _, _, counts)| *counts && time / window == this);
                    let used: u64 = counted.map(|(_, cost, ..)| u64::from(*cost)).sum();
                    let verdict = subject.acquire(cost);
                    let end = (this + 1) * window - now;
                    let expected = match (u64::from(cost), used + u64::from(cost)) {
                        (cost, _) if cost > count => Told::Never,
                        (1.., used) if used > count => Told::Refused { retry_after: end, reset_after: end },
                        (_, used) => Told::Admitted {
                            remaining: (count - used) as u32,
                            reset_after: if used > 0 { end } else { 0 },
                        },
                    };
                    if let Verdict::Allowed { hits: recorded, .. } = &verdict && cost > 0 {
                        hits.push((now, cost, recorded[0], true));
                    }
                    prop_assert_eq!(told(verdict), expected);
                }
                // What was given back before is not told from what is forgotten: at worst it counts again.
                Step::Reset(which) if !hits.is_empty() && !refunded => {
                    let upto = hits[which % hits.len()].2;
                    subject.reset(upto);
                    hits.iter_mut().filter(|(.., hit, _)| *hit <= upto).for_each(|(.., counts)| *counts = false);
                }
                Step::Refund(which) if !hits.is_empty() => {
                    let which = which % hits.len();
                    let (time, cost, hit, _) = hits[which];
                    subject.refund(hit, cost);
                    refunded |= time / window == this;
                    hits.remove(which);
                }
                Step::Reset(_) | Step::Refund(_) => {}
            }
        }
    }

    /// Several rules are one decision: if it is refused, every rule stands as it did; if it is admitted, each is charged.
    #[test]
    fn ops_01_a_refused_stack_leaves_every_rule_as_it_was(
        policies in prop::collection::vec(any_policy(), 1..4),
        width in 2..5_usize,
        calls in prop::collection::vec(
            (0..300_000_u64, prop::collection::vec((0..4_u32, prop::bool::weighted(0.2)), 4)),
            1..80,
        ),
    ) {
        // Some alike, so that some waits are.
        let policies: Vec<Policy> = policies.into_iter().cycle().take(width).collect();
        let clock = ManualClock::new();
        let store = MemoryStore::builder().clock(&clock).build();
        let key = |place: usize| {
            let client = Client::of(&(place as u32)).expect("it names somebody");
            Key::new(Method::named("stack"), client)
        };
        let peek = |charge: Charge| told(ready(store.peek(charge)));
        for (wait, charges) in calls {
            clock.advance(Duration::from_micros(wait));
            let charges: Vec<Charge> = policies.iter().zip(&charges).enumerate().map(|(place, (policy, (cost, observe)))| {
                let mut charge = Charge::new(key(place), *policy, *cost);
                charge.observe = *observe;
                charge
            }).collect();
            // What each alone would say, and how it stands.
            let alone: Vec<Told> = charges.iter().map(|charge| peek(Charge::new(charge.key, charge.policy, charge.cost))).collect();
            let look = || -> Vec<Told> {
                charges.iter().map(|charge| peek(Charge::new(charge.key, charge.policy, 0))).collect()
            };
            let before = look();
            let verdict = ready(store.acquire(&charges));
            let deciding = || alone.iter().enumerate().filter(|(place, _)| !charges[*place].observe);
            let never = deciding().find(|(_, told)| **told == Told::Never);
            let wait = deciding().filter_map(|(place, told)| match told {
                Told::Refused { retry_after, reset_after } => Some((*retry_after, *reset_after, Reverse(place))),
                _ => None,
            });
            let longest = wait.max().map(|(wait, _, Reverse(place))| (wait, place));
            match (verdict, never, longest) {
                (Verdict::Impossible { which }, Some((place, _)), _) => prop_assert_eq!(which, place),
                (Verdict::Denied { longest, retry_after, .. }, None, Some((wait, place))) => {
                    prop_assert_eq!((longest, retry_after), (place, wait));
                }
                (Verdict::Allowed { hits, remaining, tightest, .. }, None, None) => {
                    let mut least = None;
                    for (place, (was, is)) in before.iter().zip(look()).enumerate() {
                        let fits = matches!(alone[place], Told::Admitted { .. });
                        let (Told::Admitted { remaining: was, .. }, Told::Admitted { remaining: is, reset_after }) = (was, is) else {
                            return Err(TestCaseError::fail("a cost of 0 always fits"));
                        };
                        let charged = if fits { charges[place].cost } else { 0 };
                        prop_assert_eq!(is, was - charged, "{:?}", charges[place]);
                        prop_assert!(fits || hits[place] == Hit::NONE);
                        // Of equals the one whose limit takes the longest to be whole again.
                        let told = (is, Reverse(reset_after), place);
                        if fits && least.is_none_or(|least| told < least) {
                            least = Some(told);
                        }
                    }
                    let least = least.map(|(is, _, place)| (is, place));
                    prop_assert_eq!((remaining, tightest), least.unwrap_or((0, 0)));
                    continue;
                }
                (verdict, ..) => return Err(TestCaseError::fail(format!("{verdict:?} of {alone:?}"))),
            }
            prop_assert_eq!(look(), before, "{:?}", charges);
        }
    }
}

/// A verdict on one charge, without the id of its hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Admitted { remaining: u32, reset_after: u64 },
    Refused { retry_after: u64, reset_after: u64 },
    Never,
}

fn told(verdict: Verdict) -> Told {
    match verdict {
        Verdict::Allowed {
            remaining, reset_after, ..
        } => Told::Admitted { remaining, reset_after },
        Verdict::Denied {
            retry_after,
            reset_after,
            ..
        } => Told::Refused {
            retry_after,
            reset_after,
        },
        Verdict::Impossible { .. } => Told::Never,
        other => panic!("an answer of no known kind: {other:?}"),
    }
}

/// A bucket that holds fractions of a token: it gains one part of `parts` each microsecond.
struct Fractions {
    parts: u128,
    capacity: u128,
    held: u128,
    at: u64,
    /// What each admitted hit took, in tokens.
    taken: Vec<u32>,
}

impl Fractions {
    fn of(policy: Policy, at: u64) -> Self {
        let capacity = policy.window().as_micros();
        let parts = capacity / u128::from(policy.count());
        Self {
            parts,
            capacity,
            held: capacity,
            at,
            taken: Vec::new(),
        }
    }

    fn take(&mut self, now: u64, cost: u32) -> Told {
        self.gain(now);
        let asked = u128::from(cost) * self.parts;
        if asked > self.capacity {
            return Told::Never;
        }
        if cost > 0 && asked > self.held {
            return Told::Refused {
                retry_after: (asked - self.held) as u64,
                reset_after: (self.capacity - self.held) as u64,
            };
        }
        self.held -= asked;
        if cost > 0 {
            self.taken.push(cost);
        }
        Told::Admitted {
            remaining: (self.held / self.parts) as u32,
            reset_after: (self.capacity - self.held) as u64,
        }
    }

    fn gain(&mut self, now: u64) {
        self.held = self.capacity.min(self.held + u128::from(now - self.at));
        self.at = now;
    }

    fn is_full(&mut self, now: u64) -> bool {
        self.gain(now);
        self.held == self.capacity
    }

    /// What hits after one took, as far as it can still be out.
    fn later(&self, place: usize) -> u128 {
        let tokens: u32 = self.taken[place + 1..].iter().sum();
        (u128::from(tokens) * self.parts).min(self.capacity - self.held)
    }

    fn reset(&mut self, now: u64, place: usize) {
        self.gain(now);
        self.held = self.capacity - self.later(place);
    }

    fn refund(&mut self, now: u64, place: usize) {
        self.gain(now);
        let back = self.held + u128::from(self.taken[place]) * self.parts;
        self.held = back.min(self.capacity - self.later(place)).max(self.held);
    }
}

const EXTREME_COSTS: [u32; 7] = [0, 1, 2, 3, Policy::MAX_COUNT - 1, Policy::MAX_COUNT, u32::MAX];

fn extreme_policies() -> impl Strategy<Value = Policy> {
    let year = Duration::from_secs(365 * 86_400);
    let (micro, longest) = (Duration::from_micros(1), Policy::MAX_WINDOW);
    let mut policies = vec![
        Policy::token_bucket(1, micro),
        Policy::token_bucket(Policy::MAX_COUNT, micro),
        Policy::token_bucket(1, longest),
        Policy::token_bucket(2, longest / 2),
        Policy::token_bucket(Policy::MAX_COUNT, longest / Policy::MAX_COUNT),
        Policy::token_bucket(3, year),
    ];
    for count in [1, 2, Policy::MAX_COUNT] {
        for window in [Policy::MIN_WINDOW, year, longest] {
            policies.push(Policy::fixed_window(count, window));
            policies.push(Policy::sliding_window(count, window));
        }
    }
    prop::sample::select(policies)
}

fn retry(verdict: Verdict) -> Option<u64> {
    match verdict {
        Verdict::Denied { retry_after, .. } => Some(retry_after),
        _ => None,
    }
}

#[test]
fn alg_10_numbers_out_of_range_are_refused_at_construction() {
    let second = Duration::from_secs(1);
    assert!(Policy::try_sliding_window(u32::MAX, second).is_err());
    assert!(Policy::try_sliding_window(Policy::MAX_COUNT + 1, second).is_err());
    assert!(Policy::try_sliding_window(Policy::MAX_COUNT, second).is_ok());
    assert!(Policy::try_sliding_window(1, Duration::from_secs(u64::MAX)).is_err());
    assert!(Policy::try_sliding_window(1, Policy::MAX_WINDOW + Duration::from_nanos(1)).is_err());
    assert!(Policy::try_sliding_window(1, Policy::MIN_WINDOW - Duration::from_nanos(1)).is_err());
    assert!(Policy::try_sliding_window(1, Duration::ZERO).is_err());
}

#[test]
fn alg_10_numbers_of_other_algorithms_out_of_range_are_refused_at_construction() {
    let (micro, second) = (Duration::from_micros(1), Duration::from_secs(1));
    let longest = Policy::MAX_WINDOW;
    assert_eq!(Policy::try_fixed_window(u32::MAX, second), Err(PolicyError::Count));
    assert_eq!(
        Policy::try_fixed_window(1, Duration::ZERO),
        Err(PolicyError::WindowTooShort)
    );
    assert_eq!(
        Policy::try_fixed_window(1, Policy::MIN_WINDOW - Duration::from_nanos(1)),
        Err(PolicyError::WindowTooShort)
    );
    assert_eq!(
        Policy::try_fixed_window(1, Duration::MAX),
        Err(PolicyError::WindowTooLong)
    );
    assert_eq!(
        Policy::try_token_bucket(Policy::MAX_COUNT + 1, micro),
        Err(PolicyError::Count)
    );
    assert_eq!(
        Policy::try_token_bucket(1, Duration::ZERO),
        Err(PolicyError::RefillTooShort)
    );
    assert_eq!(
        Policy::try_token_bucket(1, Duration::MAX),
        Err(PolicyError::RefillTooLong)
    );
    assert_eq!(
        Policy::try_token_bucket(1, longest + micro),
        Err(PolicyError::RefillTooLong)
    );
    assert_eq!(
        Policy::try_token_bucket(2, longest / 2 + micro),
        Err(PolicyError::RefillTooLong)
    );
    assert_eq!(
        Policy::try_token_bucket(Policy::MAX_COUNT, Duration::from_secs(u64::MAX / 1_000_000)),
        Err(PolicyError::RefillTooLong),
        "the product overflows"
    );
    assert_eq!(
        Policy::try_token_bucket(0, longest + micro),
        Err(PolicyError::RefillTooLong)
    );
    // A refill of less than a microsecond is rounded up to one.
    let fastest = Policy::token_bucket(5, Duration::from_nanos(1));
    assert_eq!(fastest.window(), micro * 5);
    for policy in [Policy::fixed_window(1, second), fastest] {
        assert_eq!(policy.try_block(Duration::ZERO), Err(PolicyError::Block));
        assert_eq!(policy.try_block(longest + micro), Err(PolicyError::Block));
        assert!(policy.try_block(longest).is_ok());
    }
}

#[test]
fn alg_09_a_limit_of_0_admits_nothing_by_any_algorithm() {
    let second = Duration::from_secs(1);
    for policy in [
        Policy::sliding_window(0, second),
        Policy::token_bucket(0, second),
        Policy::fixed_window(0, second),
    ] {
        let subject = Subject::new(policy);
        for _ in 0..3 {
            assert_eq!(told(subject.acquire(1)), Told::Never);
            assert_eq!(told(subject.peek(1)), Told::Never);
            assert!(matches!(told(subject.acquire(0)), Told::Admitted { remaining: 0, .. }));
            subject.clock.advance(second);
        }
    }
}
