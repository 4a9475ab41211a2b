//! Random histories of one key on the embedded store, against a model that keeps every hit and counts anew.

use std::time::Duration;

use proptest::prelude::*;
use rate_limit::{
    Change, Charge, Client, Hit, Key, ManualClock, MemoryStore, Method, Policy, Settlement, Store, Verdict,
};

/// What happens to the key.
#[derive(Clone, Debug)]
enum Step {
    Advance(u64),
    Acquire(u32),
    /// A reset up to one of the hits admitted so far.
    Reset(usize),
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

    fn peek(&self) -> Verdict {
        ready(self.store.peek(Charge::new(self.key, self.policy, 1)))
    }
}

impl Subject {
    fn reset(&self, upto: Hit) {
        let settlement = Settlement::new(self.key, self.policy, Change::Reset { upto });
        ready(self.store.settle(&[settlement]));
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
        policy in policies(), steps in steps(), probes in prop::collection::vec(0.0..1.0_f64, 3)
    ) {
        let subject = Subject::new(policy);
        for step in steps {
            match step {
                Step::Advance(micros) => subject.clock.advance(Duration::from_micros(micros)),
                Step::Acquire(cost) => { subject.acquire(cost.min(policy.count())); }
                Step::Reset(_) => {}
            }
        }
        while matches!(subject.acquire(1), Verdict::Allowed { .. }) {}
        let Verdict::Denied { retry_after, .. } = subject.acquire(1) else {
            return Err(TestCaseError::fail("a full key refuses"));
        };
        let mut waits: Vec<u64> = probes.iter().map(|part| (retry_after as f64 * part) as u64).collect();
        waits.push(retry_after - 1);
        waits.sort_unstable();
        let start = subject.clock.now();
        for wait in waits {
            subject.clock.advance(Duration::from_micros(start + wait - subject.clock.now()));
            prop_assert_eq!(retry(subject.peek()), Some(retry_after - wait));
            prop_assert_eq!(retry(subject.acquire(1)), Some(retry_after - wait));
        }
        subject.clock.advance(Duration::from_micros(start + retry_after - subject.clock.now()));
        prop_assert_eq!(retry(subject.acquire(1)), None);
    }

    /// At the edges of what a policy takes, nothing overflows and nothing more is admitted.
    #[test]
    fn alg_10_extreme_numbers_never_admit_more(
        count in prop::sample::select(vec![1, 2, Policy::MAX_COUNT]),
        window in prop::sample::select(vec![Policy::MIN_WINDOW, Duration::from_secs(365 * 86_400), Policy::MAX_WINDOW]),
        cost in prop::sample::select(vec![0, 1, 2, 3, u32::MAX]),
    ) {
        let subject = Subject::new(Policy::sliding_window(count, window));
        let mut left = count;
        for _ in 0..4 {
            match subject.acquire(cost) {
                Verdict::Allowed { remaining, .. } => {
                    prop_assert!(cost <= left);
                    left -= cost;
                    prop_assert_eq!(remaining, left);
                }
                Verdict::Denied { retry_after, .. } => {
                    prop_assert!(cost > left && cost <= count);
                    prop_assert_eq!(retry_after, window.as_micros() as u64);
                }
                Verdict::Impossible { .. } => prop_assert!(cost > count),
                other => prop_assert!(false, "{:?}", other),
            }
        }
    }
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
