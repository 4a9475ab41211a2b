//! A simulation says what a limiter would have said: the same events, one by one, through both.

use std::collections::HashMap;
use std::time::Duration;

use proptest::prelude::Rng as _;
use proptest::test_runner::{RngAlgorithm, TestRng};
use rate_limit::{
    Client, Key, Limiter, ManualClock, MemoryStore, Method, Policy, Rejection, Rule, Simulation, Verdict,
};

const EVENTS: usize = 100_000;
const CLIENTS: u64 = 500;

/// Whether an event was admitted, the place of the policy that refused it, and the wait.
type Told = Result<(), (usize, Option<Duration>)>;

fn simulated(verdict: &Verdict) -> Told {
    match verdict {
        Verdict::Allowed { .. } => Ok(()),
        Verdict::Denied {
            longest, retry_after, ..
        } => Err((*longest, Some(Duration::from_micros(*retry_after)))),
        Verdict::Impossible { which } => Err((*which, None)),
        other => panic!("{other:?} is news"),
    }
}

fn limited(policies: &[Policy], rejection: &Rejection) -> Told {
    let place = policies.iter().position(|policy| *policy == rejection.policy());
    Err((place.expect("one of them"), rejection.retry_after()))
}

/// Clients come in bursts, some often and some seldom: a few microseconds to half a minute apart.
async fn agree(policies: &[Policy]) -> usize {
    let clock = ManualClock::new();
    let store = MemoryStore::builder().capacity(1_000_000).clock(&clock).build();
    let limiter = Limiter::builder().store(store).build().expect("a limiter");
    let mut random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut draw = |below: u64| random.next_u64() % below;
    let mut clients: HashMap<u64, Simulation> = HashMap::new();
    let mut refused = 0;
    for event in 0..EVENTS {
        clock.advance(Duration::from_micros(match draw(10) {
            0..4 => 0,
            4..9 => draw(20_000),
            _ => draw(2_000_000),
        }));
        let client = draw(CLIENTS).min(draw(CLIENTS)).min(draw(CLIENTS));
        let key = Key::new(
            Method::named("replayed"),
            Client::of(&client).expect("it names somebody"),
        );
        let rules: Vec<Rule> = (0..)
            .zip(policies)
            .map(|(place, policy)| Rule::new(*policy, key).place(place))
            .collect();
        let decided = match limiter.check_all(&rules).await {
            Ok(_) => Ok(()),
            Err(rejection) => limited(policies, &rejection),
        };
        let simulation = clients
            .entry(client)
            .or_insert_with(|| Simulation::new(policies.iter().copied()));
        assert_eq!(
            simulated(&simulation.ask(clock.now())),
            decided,
            "event {event} of {client} by {policies:?}"
        );
        refused += usize::from(decided.is_err());
    }
    refused
}

macro_rules! agree {
    ($($name:ident: $($policy:literal)+;)*) => {$(
        #[tokio::test]
        async fn $name() {
            let policies = [$($policy.parse().expect("a policy")),+];
            let refused = agree(&policies).await;
            assert!((EVENTS / 20..EVENTS * 19 / 20).contains(&refused), "{refused} refused tells little");
        }
    )*};
}

agree! {
    a_sliding_window: "5 in 10m";
    a_sliding_window_of_one: "1 in 1m";
    a_sliding_window_above_five: "20 in 1h";
    a_sliding_window_that_blocks: "5 in 1m, then blocked for 10m";
    a_token_bucket: "3 and one more each 50s";
    a_token_bucket_that_blocks: "3 and one more each 50s, then blocked for 5m";
    a_fixed_window: "10 in each 5m";
    a_fixed_window_that_blocks: "10 in each 5m, then blocked for 7m";
    several_together: "3 in 30s" "12 and one more each 2m" "30 in each 1h";
}
