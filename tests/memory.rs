//! The embedded store: memory, allocations, eviction, threads.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::future::Future;
use std::net::Ipv6Addr;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use rate_limit::{
    Client, Decision, Key, Limiter, ManualClock, MemoryStore, Method, Policies, Policy, Rejection, RejectionKind, Rule,
    limit_per_time,
};

/// Counts what each thread allocates, and how much of it is live.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
    static LIVE: Cell<isize> = const { Cell::new(0) };
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        LIVE.set(LIVE.get() + layout.size() as isize);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        LIVE.set(LIVE.get() - layout.size() as isize);
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations(of: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.get();
    of();
    ALLOCATIONS.get() - before
}

fn live() -> isize {
    LIVE.get()
}

/// Runs a future that never waits, with no runtime.
fn now<T>(future: impl Future<Output = T>) -> T {
    match std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a decision of the embedded store does not wait"),
    }
}

struct Subject {
    clock: ManualClock,
    store: MemoryStore,
    limiter: Limiter,
}

impl Subject {
    fn new(capacity: usize) -> Self {
        let clock = ManualClock::new();
        let store = MemoryStore::builder().clock(&clock).capacity(capacity).build();
        let limiter = Limiter::builder()
            .store(store.clone())
            .build()
            .expect("it is well set up");
        Self { clock, store, limiter }
    }

    fn check(&self, policy: Policy, key: Key) -> Result<Option<Decision>, Rejection> {
        now(self.limiter.check(Rule::new(policy, key))).map(|permit| permit.decision().copied())
    }

    fn admitted(&self, policy: Policy, key: Key) -> bool {
        self.check(policy, key).is_ok()
    }
}

fn key(client: u128) -> Key {
    Key::new(
        Method::named("memory"),
        Client::of(&client).expect("a number names somebody"),
    )
}

#[limit_per_time(policy = "read", key = user, limiter = *limiter)]
#[limit_per_time(policy = "login", key = "everybody")]
async fn named(limiter: &Limiter, user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

const FIVE: Policy = Policy::sliding_window(5, Duration::from_secs(60));

#[limit_per_time(count = 5, window = "60s", key = user, limiter = *limiter)]
async fn annotated(limiter: &Limiter, user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(count = 5, window = "60s", key = (user, "second part"), reset_on_success, limiter = *limiter)]
async fn settled(limiter: &Limiter, user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

/// Of a client that is being counted. A newcomer costs its counter, and so does one whose counter ran out or was
/// cleared and went in passing.
#[test]
fn a_decision_allocates_nothing() {
    let subject = Subject::new(10_000);
    let round = || {
        for user in 0..100 {
            let annotated = now(annotated(&subject.limiter, user));
            assert_eq!(annotated.is_ok(), subject.admitted(FIVE, key(user.into())));
        }
    };
    let mut counted = 0;
    for n in 0..100 {
        subject.clock.advance(Duration::from_secs(7));
        let allocations = allocations(round);
        // The first window fills the counters.
        counted += if n < 10 { 0 } else { allocations };
    }
    assert_eq!(
        counted, 0,
        "in 18,000 decisions, admitted and refused, over ten windows"
    );

    let settle = || assert_eq!(now(settled(&subject.limiter, 1)), Ok(1));
    settle();
    let counted = allocations(|| (0..1_000).for_each(|_| settle()));
    assert_eq!(counted, 0, "in 1,000 decisions and resets");
}

#[test]
fn a_decision_by_named_policies_allocates_nothing() {
    let subject = Subject::new(10_000);
    let policies = Policies::new()
        .with("read", FIVE)
        .with("login", Policy::token_bucket(100_000, Duration::from_secs(3600)))
        .with("memory::annotated", FIVE)
        .with("memory::annotated#2", FIVE);
    subject.limiter.set_policies(policies).expect("they are all there");
    let admitted = |user| {
        [
            now(named(&subject.limiter, user)).is_ok(),
            now(annotated(&subject.limiter, user)).is_ok(),
        ]
    };
    // The fifth of each is the last that is admitted.
    for n in 0..600 {
        assert_eq!(admitted(n % 100), [n < 500, n < 500]);
    }
    let round = || {
        subject.clock.advance(Duration::from_secs(7));
        (0..100).for_each(|user| _ = admitted(user));
    };
    // The first two windows fill the counters.
    (0..20).for_each(|_| round());
    assert_eq!(allocations(|| (0..100).for_each(|_| round())), 0, "in 20,000 decisions");
}

/// Who watches the limiter changes nothing of that.
#[cfg(feature = "admin")]
#[test]
fn a_decision_that_is_shown_allocates_nothing() {
    use rate_limit::axum::Admin;

    let subject = Subject::new(10_000);
    let guard = |_: &axum::http::request::Parts| async { Ok::<_, axum::http::StatusCode>(()) };
    let _page = Admin::new(subject.limiter.clone(), guard);
    let round = || {
        for user in 0..100 {
            let annotated = now(annotated(&subject.limiter, user));
            assert_eq!(annotated.is_ok(), subject.admitted(FIVE, key(user.into())));
        }
    };
    let mut counted = 0;
    for n in 0..100 {
        subject.clock.advance(Duration::from_secs(7));
        let allocations = allocations(round);
        counted += if n < 10 { 0 } else { allocations };
    }
    assert_eq!(counted, 0, "in 18,000 decisions, admitted and refused");

    // Who is refused, more of them than there is room to list.
    let flood = || (0..5_000).for_each(|user| while subject.admitted(FIVE, key(user)) {});
    flood();
    assert_eq!(allocations(flood), 0, "in 5,000 refusals");
}

#[test]
fn a_refusal_costs_no_memory() {
    let subject = Subject::new(10_000);
    while subject.admitted(FIVE, key(1)) {}
    let refusals = || {
        assert!(!subject.admitted(FIVE, key(1)));
        // A charge that can never fit makes no counter.
        let above = now(subject.limiter.check(Rule::new(FIVE, key(2)).cost(6)));
        assert_eq!(
            above.err().map(|refused| refused.kind()),
            Some(RejectionKind::Impossible)
        );
    };
    // With the feature `metrics` each outcome has labels, which are made once a thread.
    refusals();
    let before = live();
    (0..10_000).for_each(|_| refusals());
    assert_eq!(live(), before);
    assert_eq!(subject.store.len(), 1);
}

#[test]
fn mem_01_memory_is_bounded_and_comes_back() {
    const CAPACITY: usize = 100_000;
    const WINDOW: u64 = 60;
    const KEYS: u128 = 5_000_000;
    let baseline = live();
    let subject = Subject::new(CAPACITY);
    let policy = Policy::sliding_window(5, Duration::from_secs(WINDOW));
    let mut most = 0;
    for n in 0..KEYS {
        if n % (KEYS / (3 * u128::from(WINDOW))) == 0 {
            subject.clock.advance(Duration::from_secs(1));
            most = most.max(live() - baseline);
        }
        assert!(subject.admitted(policy, key(Ipv6Addr::from(n << 64).to_bits())));
    }
    assert!(subject.store.len() <= CAPACITY);
    assert!(most <= 64 << 20, "{most} bytes for {CAPACITY} counters");
    println!("mem_01: at most {most} bytes live for {CAPACITY} counters");

    subject.clock.advance(Duration::from_secs(WINDOW));
    subject.store.sweep();
    assert!(subject.store.is_empty());
    let after = live() - baseline;
    assert!(after <= most / 10, "{after} bytes stay of {most}");
}

#[test]
fn mem_01_counters_that_have_run_out_go_in_passing() {
    let subject = Subject::new(10_000);
    for n in 0..4_000 {
        assert!(subject.admitted(FIVE, key(n)));
    }
    subject.clock.advance(Duration::from_secs(60));
    // A few busy keys look after all the others.
    for n in 0..40_000 {
        subject.admitted(FIVE, key(n % 200));
    }
    assert_eq!(subject.store.len(), 200);
}

#[test]
fn mem_02_a_flood_of_new_keys_frees_nobody_who_is_refused() {
    let subject = Subject::new(1_000);
    let victim = key(u128::MAX);
    while subject.admitted(FIVE, victim) {}
    for n in 0..20_000 {
        assert!(subject.admitted(FIVE, key(n)), "newcomers are served");
    }
    assert!(subject.store.len() <= 1_000);
    assert!(
        !subject.admitted(FIVE, victim),
        "the flood must not free a key that is refused"
    );
    assert!(subject.admitted(FIVE, key(1 << 64)), "an honest newcomer is served");
}

#[test]
fn mem_02_the_counter_that_forgives_least_goes_first() {
    let subject = Subject::new(2);
    for _ in 0..4 {
        assert!(subject.admitted(FIVE, key(1)));
    }
    assert!(subject.admitted(FIVE, key(2)));
    assert!(subject.admitted(FIVE, key(3)));
    assert!(subject.admitted(FIVE, key(1)), "the fifth");
    assert!(
        !subject.admitted(FIVE, key(1)),
        "four hits were kept, the one of key 2 was given up"
    );
}

#[test]
fn mem_02_when_all_are_refused_newcomers_share_a_counter() {
    let subject = Subject::new(10);
    for n in 0..10 {
        while subject.admitted(FIVE, key(n)) {}
    }
    let newcomers = (100..200).filter(|n| subject.admitted(FIVE, key(*n))).count();
    assert_eq!(newcomers, 5, "neither all nor none: one limit for all of them");
    for n in 0..10 {
        assert!(!subject.admitted(FIVE, key(n)), "nobody is freed");
    }
    subject.clock.advance(Duration::from_secs(60));
    assert!(
        subject.admitted(FIVE, key(100)),
        "and there is room again once windows are over"
    );
}

#[test]
fn mem_04_a_store_needs_no_runtime_and_drops_cleanly() {
    // With the feature `metrics` each outcome has labels, which are made once a thread.
    assert!(Subject::new(1).admitted(FIVE, key(1)));
    let before = live();
    {
        let subject = Subject::new(100_000);
        let policy = Policy::sliding_window(100_000, Duration::from_secs(300));
        for _ in 0..100_000 {
            assert!(subject.admitted(policy, key(1)));
        }
        let held = live() - before;
        assert!(
            held < 3 << 20,
            "{held} bytes for 100,000 hits of one key: a time each, and nothing of the request"
        );
    }
    assert_eq!(live(), before, "nothing of it is left");
}

#[test]
fn mem_06_one_lock_is_never_held_across_an_await() {
    let subject = Subject::new(1);
    let limiter = &subject.limiter;
    let policy = Policy::sliding_window(1_000_000, Duration::from_secs(1));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_secs(10));
            assert!(done.load(Ordering::SeqCst), "64 tasks on one shard are stuck");
        });
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(4)
            .enable_all()
            .build();
        runtime.expect("a runtime starts").block_on(async {
            let tasks: Vec<_> = (0..64)
                .map(|_| {
                    let limiter = limiter.clone();
                    tokio::spawn(async move {
                        for n in 0..200 {
                            let permit = limiter.check(Rule::new(policy, key(1))).await.expect("there is room");
                            tokio::task::yield_now().await;
                            if n % 10 == 0 {
                                permit.reset().await.expect("it is in memory");
                            }
                        }
                    })
                })
                .collect();
            for task in tasks {
                task.await.expect("a task ends");
            }
        });
        done.store(true, Ordering::SeqCst);
    });
}

#[test]
fn mem_08_sixteen_threads_admit_exactly_the_count() {
    let subject = Subject::new(1_000);
    let policy = Policy::sliding_window(1_000, Duration::from_secs(60));
    let admitted = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                for _ in 0..10_000 {
                    if subject.admitted(policy, key(1)) {
                        admitted.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    assert_eq!(admitted.into_inner(), 1_000);
}

/// The same on the clock of the machine, a hundred times over.
#[test]
fn mem_08_eight_threads_admit_exactly_fifty_a_hundred_times() {
    let limiter = Limiter::embedded();
    let policy = Policy::sliding_window(50, Duration::from_secs(3_600));
    for round in 0..100 {
        let admitted = AtomicU32::new(0);
        let start = Barrier::new(8);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    start.wait();
                    for _ in 0..64 {
                        if now(limiter.check(Rule::new(policy, key(round)))).is_ok() {
                            admitted.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        assert_eq!(admitted.into_inner(), 50, "in round {round}");
    }
}

#[test]
fn key_05_no_two_of_five_million_ids_meet() {
    let mut hashes: Vec<[u8; 16]> = (0..5_000_000_u32)
        .map(|n| Client::of(&n).expect("a number names somebody").to_bytes())
        .collect();
    hashes.sort_unstable();
    let met = hashes.windows(2).filter(|pair| pair[0] == pair[1]).count();
    assert_eq!(met, 0);
}
