//! Who decides. Each has its limit over an hour, so that nothing comes back while it is measured.

use std::num::NonZeroU32;
use std::pin::pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use rate_limit::{Client, Key, Limiter, MemoryStore, Method, Rejection, install, limit_per_time};
use trypema::local::LocalRateLimiterProvider;
use trypema::{RateLimit, RateLimitDecision, RateLimiterBuilder as _, WindowSize};

const HOUR: Duration = Duration::from_secs(3600);

pub trait Contender: Sync {
    const NAME: &'static str;

    /// One that admits `limit` calls of a client, for about so many clients.
    fn new(limit: u32, clients: usize) -> Self;

    /// Lets a client make some calls at once.
    fn spend(&self, client: u128, calls: u32);

    /// Decides a call of each client in turn, and tells how many were admitted.
    fn decide(&self, clients: &[u128]) -> usize;
}

/// The installed limiter, as a service has it. Its store is emptied after each use.
pub struct Ours {
    limit: u32,
    clients: u128,
}

static STORE: LazyLock<MemoryStore> = LazyLock::new(|| {
    let store = MemoryStore::builder().capacity(500_000).build();
    let limiter = Limiter::builder().store(store.clone()).build().expect("it is set up");
    install(limiter).expect("it is the only one");
    store
});

#[limit_per_time(count = LIMIT, window = "1h", key = client, name = "call")]
async fn call<const LIMIT: u32>(client: u128) -> Result<(), Rejection> {
    Ok(())
}

#[limit_per_time(count = LIMIT, window = "1h", key = client, cost = calls, name = "call")]
async fn several_calls<const LIMIT: u32>(client: u128, calls: u32) -> Result<(), Rejection> {
    Ok(())
}

/// A future that never waits.
fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("a decision in memory does not wait"),
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        let limiter = Limiter::builder().store(STORE.clone()).build().expect("it is set up");
        for client in 0..self.clients {
            let client = Client::of(&client).expect("it names somebody");
            now(limiter.reset(Key::new(Method::named("call"), client))).expect("it is in memory");
        }
        STORE.sweep();
        assert!(STORE.is_empty());
    }
}

impl Contender for Ours {
    const NAME: &'static str = "ours";

    fn new(limit: u32, clients: usize) -> Self {
        LazyLock::force(&STORE);
        Self {
            limit,
            clients: clients as u128,
        }
    }

    fn spend(&self, client: u128, calls: u32) {
        let admitted = match self.limit {
            5 => now(several_calls::<5>(client, calls)),
            100 => now(several_calls::<100>(client, calls)),
            _ => now(several_calls::<10_000>(client, calls)),
        };
        admitted.expect("it fits");
    }

    fn decide(&self, clients: &[u128]) -> usize {
        fn each<const LIMIT: u32>(clients: &[u128]) -> usize {
            clients
                .iter()
                .filter(|client| now(call::<LIMIT>(**client)).is_ok())
                .count()
        }
        match self.limit {
            5 => each::<5>(clients),
            100 => each::<100>(clients),
            _ => each::<10_000>(clients),
        }
    }
}

pub struct Governor(DefaultKeyedRateLimiter<u128>);

impl Contender for Governor {
    const NAME: &'static str = "governor";

    fn new(limit: u32, _clients: usize) -> Self {
        let burst = NonZeroU32::new(limit).expect("it is above 0");
        let quota = Quota::with_period(HOUR / limit)
            .expect("it is above 0")
            .allow_burst(burst);
        Self(RateLimiter::keyed(quota))
    }

    fn spend(&self, client: u128, calls: u32) {
        let calls = NonZeroU32::new(calls).expect("it is above 0");
        let admitted = self.0.check_key_n(&client, calls).expect("it is within the burst");
        admitted.expect("it fits");
    }

    fn decide(&self, clients: &[u128]) -> usize {
        clients.iter().filter(|client| self.0.check_key(client).is_ok()).count()
    }
}

/// Its keys are text, which is there before it is measured.
pub struct Trypema {
    provider: Arc<LocalRateLimiterProvider>,
    rate: RateLimit,
    names: Names,
}

impl Contender for Trypema {
    const NAME: &'static str = "trypema local";

    fn new(limit: u32, clients: usize) -> Self {
        let window = WindowSize::hours(1).expect("it is a window");
        let provider = LocalRateLimiterProvider::builder()
            .window_size(window)
            .disable_cleanup()
            .build();
        // It cuts the product with the window down to a whole number.
        let rate = RateLimit::per_second((f64::from(limit) + 0.5) / HOUR.as_secs_f64());
        Self {
            provider: provider.expect("it is set up"),
            rate: rate.expect("it is a rate"),
            names: Names::new(clients),
        }
    }

    fn spend(&self, client: u128, calls: u32) {
        let decision = self
            .provider
            .absolute()
            .inc(self.names.of(client), &self.rate, calls.into());
        assert!(matches!(decision, RateLimitDecision::Allowed), "it fits");
    }

    fn decide(&self, clients: &[u128]) -> usize {
        let admitted = |client: &&u128| {
            let decision = self.provider.absolute().inc(self.names.of(**client), &self.rate, 1);
            matches!(decision, RateLimitDecision::Allowed)
        };
        clients.iter().filter(admitted).count()
    }
}

/// One bucket for all, without keys: what it leaves out is most of the work.
pub struct LeakyBucket(leaky_bucket::RateLimiter);

impl Contender for LeakyBucket {
    const NAME: &'static str = "leaky-bucket without keys";

    fn new(limit: u32, clients: usize) -> Self {
        let tokens = limit as usize * clients;
        let mut bucket = leaky_bucket::RateLimiter::builder();
        Self(bucket.initial(tokens).max(tokens).refill(1).interval(HOUR).build())
    }

    fn spend(&self, _client: u128, calls: u32) {
        assert!(self.0.try_acquire(calls as usize), "it fits");
    }

    fn decide(&self, clients: &[u128]) -> usize {
        clients.iter().filter(|_| self.0.try_acquire(1)).count()
    }
}

/// Clients as text.
struct Names(Vec<String>);

impl Names {
    fn new(clients: usize) -> Self {
        Self((0..clients).map(|client| format!("client-{client}")).collect())
    }

    fn of(&self, client: u128) -> &str {
        &self.0[client as usize]
    }
}
