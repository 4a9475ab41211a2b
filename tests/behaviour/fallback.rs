//! What the fallback knows of the calls that the store decided, when the store fails.

use std::num::NonZeroU32;
use std::time::{Duration, SystemTime};

use rate_limit::contract::Ledger;
use rate_limit::{
    Algorithm, Client, DecidedBy, Key, Limiter, ManualClock, MemoryStore, Method, OnStoreError, Permit, Policy,
    Rejection, RejectionKind, Rule, StoreErrorKind, limit_per_time,
};
use rstest::rstest;

use crate::random::Random;
use crate::remote_store::RemoteStore;

/// Instances of one service on one store.
struct World {
    clock: ManualClock,
    store: RemoteStore,
    fallbacks: Vec<MemoryStore>,
    instances: Vec<Limiter>,
}

impl World {
    fn of(instances: u32) -> Self {
        let clock = ManualClock::new();
        let memory = || MemoryStore::builder().clock(&clock).build();
        let store = RemoteStore::new(memory(), StoreErrorKind::Unavailable);
        let fallbacks: Vec<_> = (0..instances).map(|_| memory()).collect();
        let limiter = |fallback: &MemoryStore| {
            let limiter = Limiter::builder().store(store.clone()).fallback(fallback.clone());
            let limiter = limiter.instances(NonZeroU32::new(instances).expect("at least one"));
            limiter.build().expect("no secret is set")
        };
        let instances = fallbacks.iter().map(limiter).collect();
        Self {
            clock,
            store,
            fallbacks,
            instances,
        }
    }

    fn fails(&self, fails: bool) {
        self.store.fails(fails);
    }

    /// How many of `calls` calls one instance admits.
    async fn admits(&self, instance: usize, rule: Rule, calls: u32) -> u32 {
        let mut admitted = 0;
        for _ in 0..calls {
            admitted += u32::from(self.instances[instance].check(rule).await.is_ok());
        }
        admitted
    }

    /// How many of `calls` calls by each instance are admitted, all together.
    async fn all_admit(&self, rule: Rule, calls: u32) -> u32 {
        let mut admitted = 0;
        for instance in 0..self.instances.len() {
            admitted += self.admits(instance, rule, calls).await;
        }
        admitted
    }

    async fn check(&self, rule: Rule) -> Permit {
        self.instances[0].check(rule).await.expect("it fits")
    }
}

const MINUTE: Duration = Duration::from_secs(60);

fn rule(policy: Policy, client: &str) -> Rule {
    let client = Client::of(client).expect("it names somebody");
    Rule::new(policy, Key::new(Method::named("login"), client))
}

fn per_minute(count: u32, client: &str) -> Rule {
    rule(Policy::sliding_window(count, MINUTE), client)
}

#[rstest]
#[case::sliding_window(Policy::sliding_window(100, MINUTE))]
#[case::token_bucket(Policy::token_bucket(100, MINUTE))]
#[case::fixed_window(Policy::fixed_window(100, MINUTE))]
#[tokio::test]
async fn ops_02_a_fallback_goes_on_from_what_the_store_admitted(#[case] policy: Policy) {
    let world = World::of(4);
    let rule = rule(policy, "a");
    assert_eq!(world.all_admit(rule, 15).await, 60);
    world.fails(true);
    assert_eq!(
        world.all_admit(rule, 100).await,
        40,
        "each has 15 of its share of 25: cold they would admit 100 more"
    );
    world.fails(false);
    assert_eq!(
        world.all_admit(rule, 100).await,
        40,
        "the store goes on from 60, for 140 in all: its count, and the shares of the fallbacks"
    );
}

#[tokio::test]
async fn ops_02_an_instance_that_had_it_all_admits_no_more() {
    let world = World::of(4);
    let rule = per_minute(100, "a");
    assert_eq!(world.admits(0, rule, 100).await, 100);
    world.fails(true);
    assert_eq!(world.admits(0, rule, 100).await, 0);
    assert_eq!(
        world.all_admit(rule, 100).await,
        75,
        "of the others each has its share: n + (k - 1)·s, and no more"
    );
    world.clock.advance(MINUTE);
    assert_eq!(
        world.all_admit(rule, 100).await,
        100,
        "in a window without the store: k·s"
    );
}

#[tokio::test]
async fn ops_02_it_stays_within_the_bound_over_many_failures() {
    let world = World::of(3);
    let rule = per_minute(10, "a");
    let mut times = Vec::new();
    for step in 0..600 {
        // Down for 17 s of each 40 s.
        world.fails(step % 40 >= 23);
        if world.instances[step % 3].check(rule).await.is_ok() {
            times.push(world.clock.now());
        }
        world.clock.advance(Duration::from_secs(1));
    }
    let window = MINUTE.as_micros() as u64;
    let admitted = |from: &u64| {
        times
            .iter()
            .filter(|time| (*from..from + window).contains(time))
            .count()
    };
    let most = times.iter().map(admitted).max().expect("some are admitted");
    assert!(most <= 10 + 3 * 4, "n + k·s: {most}");
    assert!(most > 10, "the fallback decided within a window, too: {most}");
}

#[tokio::test]
async fn a_fallback_counts_a_cost_and_refuses_nobody_while_the_store_decides() {
    let world = World::of(1);
    let rule = per_minute(10, "a");
    assert_eq!(world.admits(0, rule.cost(3), 1).await, 1);
    world.fails(true);
    assert_eq!(world.admits(0, rule, 20).await, 7);
    world.fails(false);
    // The fallback is full, and the store has room for 7.
    assert_eq!(world.admits(0, rule, 20).await, 7);
    world.fails(true);
    assert_eq!(world.admits(0, rule, 20).await, 0);
    world.clock.advance(MINUTE);
    assert_eq!(world.admits(0, rule, 20).await, 10);
}

#[tokio::test]
async fn a_reset_reaches_the_fallback_up_to_its_own_hit() {
    let world = World::of(1);
    let rule = per_minute(5, "a");
    assert_eq!(world.admits(0, rule, 2).await, 2);
    let success = world.check(rule).await;
    assert_eq!(world.admits(0, rule, 1).await, 1, "one that fails meanwhile");
    success.reset().await.expect("the store answers");
    world.fails(true);
    assert_eq!(world.admits(0, rule, 20).await, 4, "what came later stays counted");
}

#[tokio::test]
async fn a_refund_reaches_the_fallback_by_its_own_hit() {
    let world = World::of(1);
    let rule = per_minute(5, "a");
    let first = world.check(rule.cost(2)).await;
    assert_eq!(world.admits(0, rule, 2).await, 2);
    first.refund().await.expect("the store answers");
    world.fails(true);
    assert_eq!(world.admits(0, rule, 20).await, 3);
}

#[tokio::test]
async fn a_success_that_the_store_does_not_hear_of_clears_the_fallback() {
    let world = World::of(1);
    let rule = per_minute(5, "a");
    assert_eq!(world.admits(0, rule, 4).await, 4);
    let success = world.check(rule).await;
    world.fails(true);
    success.reset().await.expect_err("the store fails");
    assert_eq!(world.admits(0, rule, 20).await, 5);
}

#[tokio::test]
async fn what_the_fallback_decided_is_settled_there_alone() {
    let world = World::of(1);
    let rule = per_minute(5, "a");
    assert_eq!(world.admits(0, rule, 3).await, 3);
    world.fails(true);
    let success = world.check(rule).await;
    world.fails(false);
    success.reset().await.expect("the fallback answers");
    assert_eq!(world.admits(0, rule, 20).await, 2, "the store still has 3");
    world.fails(true);
    assert_eq!(
        world.admits(0, rule, 20).await,
        3,
        "and the fallback had none before these 2"
    );
}

#[tokio::test]
async fn a_limiter_that_resets_a_key_resets_both() {
    let world = World::of(1);
    let rule = per_minute(5, "a");
    assert_eq!(world.admits(0, rule, 5).await, 5);
    let client = Client::of("a").expect("it names somebody");
    let key = Key::new(Method::named("login"), client);
    world.instances[0].reset(key).await.expect("the store answers");
    assert_eq!(world.admits(0, rule, 1).await, 1);
    world.fails(true);
    assert_eq!(world.admits(0, rule, 20).await, 4);
}

#[tokio::test]
async fn only_what_is_decided_here_is_recorded_here() {
    let world = World::of(1);
    for (client, mode) in [("open", OnStoreError::Open), ("closed", OnStoreError::Closed)] {
        let rule = per_minute(5, client).on_store_error(mode);
        assert_eq!(world.admits(0, rule, 20).await, 5);
        assert_eq!(world.fallbacks[0].len(), 0, "{client}");
    }
    let observing = per_minute(5, "observing").observe();
    assert_eq!(world.admits(0, observing, 20).await, 20);
    assert_eq!(world.admits(0, per_minute(5, "local"), 20).await, 5);
    assert_eq!(world.fallbacks[0].len(), 2);
    world.fails(true);
    let decision = |permit: Permit| permit.decision().map(|decision| decision.remaining);
    let strict = per_minute(6, "observing");
    assert_eq!(
        decision(world.check(strict).await),
        Some(0),
        "the 5 that it would have admitted are counted, and no more"
    );
    assert_eq!(
        world.admits(0, observing, 20).await,
        20,
        "it refuses nobody here either"
    );
}

/// The store decides at once, so it is in this process and does not fail.
#[tokio::test]
async fn an_embedded_store_leaves_the_fallback_empty() {
    let fallback = MemoryStore::new();
    let limiter = Limiter::builder().fallback(fallback.clone());
    let limiter = limiter.build().expect("no secret is set");
    limiter.check(per_minute(5, "a")).await.expect("it fits");
    assert!(fallback.is_empty());
}

#[tokio::test]
async fn each_rule_of_a_stack_is_mirrored_by_its_own_mode() {
    let world = World::of(1);
    let rules = |user: &str| {
        [
            per_minute(2, user),
            per_minute(10, "everybody").place(1),
            per_minute(3, "open").place(2).on_store_error(OnStoreError::Open),
        ]
    };
    let all = async |user: &str, calls: u32| {
        let mut admitted = 0;
        for _ in 0..calls {
            admitted += u32::from(world.instances[0].check_all(&rules(user)).await.is_ok());
        }
        admitted
    };
    assert_eq!(all("a", 5).await, 2);
    assert_eq!(world.fallbacks[0].len(), 2, "the rule that is open is not recorded");
    world.fails(true);
    assert_eq!(all("a", 5).await, 0, "this user has had his two");
    for user in ["b", "c", "d", "e"] {
        assert_eq!(all(user, 5).await, 2, "{user}");
    }
    assert_eq!(all("f", 5).await, 0, "that makes ten of everybody");
}

#[tokio::test]
async fn a_full_fallback_forgets_those_with_the_fewest_hits_and_blocks_nobody() {
    let clock = ManualClock::new();
    let memory = MemoryStore::builder().clock(&clock).build();
    let store = RemoteStore::new(memory, StoreErrorKind::Unavailable);
    let fallback = MemoryStore::builder().clock(&clock).capacity(100).build();
    let limiter = Limiter::builder().store(store.clone()).fallback(fallback.clone());
    let limiter = limiter.build().expect("no secret is set");
    for n in 0..1_000 {
        limiter
            .check(per_minute(1, &format!("client-{n}")))
            .await
            .expect("the store has room");
    }
    assert_eq!(fallback.len(), 100, "those that refuse stay");
    store.fails(true);
    limiter
        .check(per_minute(1, "newcomer"))
        .await
        .expect("what there was no room for is counted for nobody else");
}

#[limit_per_time(3, "1m", key = "k", name = "mirrored", reset_on_success, success = |_| *right)]
async fn login(right: &bool) -> Result<(), Rejection> {
    Ok(())
}

#[tokio::test]
async fn an_annotated_function_settles_both() {
    let world = World::of(1);
    let limiter = &world.instances[0];
    for right in [false, false, true, false] {
        limiter.scope(login(&right)).await.expect("it fits");
    }
    world.fails(true);
    let mut admitted = 0;
    for _ in 0..5 {
        admitted += u32::from(limiter.scope(login(&false)).await.is_ok());
    }
    assert_eq!(admitted, 2, "the failure after the success is counted");
    assert_eq!(limiter.unsettled(), 0);
}

/// The share of one of so many instances, as `instances` documents it.
fn share(policy: Policy, instances: u32) -> Policy {
    let count = policy.count().div_ceil(instances);
    match policy.algorithm() {
        Algorithm::SlidingWindow => Policy::sliding_window(count, policy.window()),
        Algorithm::FixedWindow => Policy::fixed_window(count, policy.window()),
        _ => Policy::token_bucket(count, policy.window() / policy.count() * instances),
    }
}

/// One service while its store comes and goes: what the store admits is within the limit, and what each instance admits without it is
/// within its share. So all of them admit no more than `instances` documents for a store that fails and recovers any number of times.
async fn comes_and_goes(instances: u32, pair: [Policy; 2], calls: u32, random: &mut Random) {
    let world = World::of(instances);
    let shares = pair.map(|policy| share(policy, instances));
    let mut by_store = Ledger::new(&pair);
    let mut by_instance: Vec<Ledger> = (0..instances).map(|_| Ledger::new(&shares)).collect();
    let shortest = pair[0].window().min(pair[1].window());
    let (mut fails, mut admitted) = (false, [0, 0]);
    for call in 0..calls {
        let (which, instance) = (random.below(2) as usize, random.below(u64::from(instances)) as usize);
        let cost = 1 + random.below(9) as u32;
        let answer = world.instances[instance].check(rule(pair[which], "a").cost(cost)).await;
        let now = world.clock.now();
        let (ledger, policy) = match fails {
            false => (&mut by_store, pair[which]),
            true => (&mut by_instance[instance], shares[which]),
        };
        match answer {
            Ok(_) => {
                admitted[usize::from(fails)] += 1;
                let entered = ledger.admit(now, policy, cost);
                assert_eq!(
                    entered,
                    Ok(()),
                    "call {call}, {instances} instances, {pair:?}, the store fails: {fails}"
                );
            }
            Err(refusal) => {
                ledger.look(now, policy);
                let too_heavy = fails && cost > policy.count() && cost <= pair[which].count();
                let kind = match cost > pair[which].count() {
                    true => RejectionKind::Impossible,
                    false if too_heavy => RejectionKind::StoreUnavailable,
                    false => RejectionKind::Limited,
                };
                assert_eq!(refusal.kind(), kind, "{refusal}");
                assert_eq!(refusal.policy(), pair[which], "a share is not shown");
            }
        }
        if random.below(12) == 0 {
            fails = !fails;
            world.fails(fails);
        }
        match random.below(100) {
            0 => world.clock.advance(pair[0].window().max(pair[1].window()) * 2),
            1..10 => world.clock.advance(shortest / 3),
            10..30 => {}
            _ => world
                .clock
                .advance(shortest.mul_f64(random.below(1_000) as f64 / 20_000.0)),
        }
    }
    assert!(
        admitted.iter().all(|admitted| *admitted > calls / 100),
        "{admitted:?} of {calls}"
    );
}

#[tokio::test]
async fn f_01_two_policies_keep_the_bounds_of_an_outage_for_1_to_10_instances() {
    let seconds = Duration::from_secs;
    let pairs = [
        [
            Policy::sliding_window(100, seconds(600)),
            Policy::sliding_window(30, seconds(60)),
        ],
        [
            Policy::sliding_window(40, seconds(60)),
            Policy::sliding_window(90, seconds(60)),
        ],
        [
            Policy::fixed_window(100, seconds(600)),
            Policy::fixed_window(30, seconds(60)),
        ],
        [
            Policy::token_bucket(100, seconds(1)),
            Policy::token_bucket(60, seconds(2)),
        ],
        [
            Policy::token_bucket(90, seconds(5)),
            Policy::token_bucket(100, seconds(1)),
        ],
    ];
    let mut random = Random(7);
    for instances in 1..=10 {
        for pair in pairs {
            comes_and_goes(instances, pair, 2_000, &mut random).await;
        }
    }
}

#[tokio::test]
async fn f_01_a_bucket_over_4_instances_and_a_store_that_flaps_keeps_its_bound() {
    let world = World::of(4);
    let whole = rule(Policy::token_bucket(100, Duration::from_millis(10)), "a");
    let mut admitted = 0;
    // Four seconds, in which the store comes and goes.
    for step in 0..4_000_usize {
        world.fails(step / 7 % 2 == 1);
        for instance in 0..4 {
            admitted += world.admits(instance, whole, 1).await;
        }
        world.clock.advance(Duration::from_millis(1));
    }
    assert!(
        (600..=1_000).contains(&admitted),
        "{admitted} of twice what a bucket of 100 gives in 4 s"
    );
}

#[tokio::test]
async fn f_05_a_call_that_weighs_more_than_a_share_is_refused_for_now() {
    let world = World::of(10);
    let rule = per_minute(100, "a").cost(20);
    world.fails(true);
    let refused = world.instances[0]
        .check(rule)
        .await
        .expect_err("10 are the share of one");
    assert_eq!(refused.kind(), RejectionKind::StoreUnavailable);
    assert_eq!(refused.policy().count(), 100, "the share is nobody's business");
    let impossible = world.instances[0].check(rule.cost(101)).await;
    assert_eq!(impossible.expect_err("100 is all").kind(), RejectionKind::Impossible);
    // A relative: by two rules, of which the second is the one that weighs too much.
    let light = per_minute(100, "b").place(1);
    let refused = world.instances[0]
        .check_all(&[light, rule])
        .await
        .expect_err("as before");
    assert_eq!(refused.kind(), RejectionKind::StoreUnavailable);
    assert_eq!(world.admits(0, light, 10).await, 10, "the other one is not charged");
    // And one that leaves the share as it is: what is told is of the whole policy.
    let permit = world.instances[0]
        .check(per_minute(100, "c").cost(4))
        .await
        .expect("it fits");
    let decision = permit.decision().expect("the fallback decided");
    assert_eq!((decision.limit(), decision.remaining), (100, 6));
}

#[tokio::test]
async fn f_03_a_backlog_is_limited_by_the_fallback_as_it_would_have_been_in_time() {
    let world = World::of(1);
    world.fails(true);
    for age in [0, 25, 48] {
        world.clock.advance(Duration::from_secs(3 * 86_400));
        let at = SystemTime::UNIX_EPOCH + Duration::from_micros(world.clock.now()) - Duration::from_secs(age * 3_600);
        let mut counted = 0;
        for read in 0..40 {
            let at = at + Duration::from_secs(read);
            for member in 0..5_000_u32 {
                let client = format!("{age}, {member}");
                let bucket = rule(Policy::token_bucket(3, Duration::from_secs(50)), &client);
                counted += u32::from(world.instances[0].check(bucket.at(at)).await.is_ok());
            }
            world.fallbacks[0].sweep();
            world.clock.advance(Duration::from_secs(1));
        }
        assert_eq!(counted, 15_000, "{age} hours late");
    }
}

const HOUR: Duration = Duration::from_secs(3_600);

/// Both ways in which NTP may step the wall clock of an instance.
fn steps_of_an_hour() -> [fn(&ManualClock); 2] {
    [
        |clock| clock.step_wall_clock(HOUR),
        |clock| clock.step_wall_clock_back(HOUR),
    ]
}

#[tokio::test]
async fn f_70_a_step_of_the_wall_clock_changes_no_decision_of_the_fallback() {
    for step in steps_of_an_hour() {
        for policy in [
            Policy::sliding_window(3, MINUTE),
            Policy::token_bucket(3, MINUTE),
            Policy::fixed_window(3, MINUTE),
        ] {
            let world = World::of(1);
            let rule = rule(policy, "a");
            // What the store admits is counted along.
            assert_eq!(world.admits(0, rule, 2).await, 2);
            world.fails(true);
            step(&world.clock);
            assert_eq!(world.admits(0, rule, 3).await, 1, "{policy}");
            step(&world.clock);
            world.clock.advance(MINUTE - Duration::from_secs(1));
            assert_eq!(world.admits(0, rule, 1).await, 0, "{policy}");
            world.clock.advance(Duration::from_secs(1));
            assert_eq!(world.admits(0, rule, 1).await, 1, "{policy}");
        }
    }
}

#[tokio::test]
async fn f_70_events_of_now_are_counted_along_and_decided_by_the_fallback_after_a_step() {
    let policy = Policy::token_bucket(3, Duration::from_secs(50));
    for step in steps_of_an_hour() {
        let world = World::of(1);
        step(&world.clock);
        // Events of the last five minutes, 50 s apart, come at once; the store admits the first.
        let at = |n: u32| world.clock.wall_clock() - Duration::from_secs(300) + n * Duration::from_secs(50);
        let event = |n| rule(policy, "a").at(at(n));
        assert_eq!(world.admits(0, event(0), 3).await, 3);
        world.fails(true);
        assert_eq!(world.admits(0, event(0), 1).await, 0, "three were counted along");
        for n in 1..=6 {
            assert_eq!(world.admits(0, event(n), 2).await, 1, "event {n}");
        }
    }
}

/// Told alike by permits, rejections and a peek.
#[tokio::test]
async fn f_27_a_decision_tells_who_decided() {
    let world = World::of(2);
    let limiter = &world.instances[0];
    let rule = per_minute(2, "a");
    let by = async || match limiter.check(rule).await {
        Ok(permit) => (true, permit.decision().map(|decision| decision.decided_by)),
        Err(rejection) => (false, rejection.decision().map(|decision| decision.decided_by)),
    };
    let peeked = async || limiter.peek(rule).await.map(|decision| decision.decided_by).ok();
    assert_eq!(by().await, (true, Some(DecidedBy::Store)));
    world.fails(true);
    assert_eq!(
        by().await,
        (false, Some(DecidedBy::Fallback)),
        "a share of one, and it is taken"
    );
    assert_eq!(peeked().await, None, "only the store is peeked at");
    world.clock.advance(MINUTE);
    assert_eq!(by().await, (true, Some(DecidedBy::Fallback)));
    assert_eq!(
        limiter
            .check(rule.on_store_error(OnStoreError::Open))
            .await
            .expect("it is open")
            .decision(),
        None
    );
    let closed = limiter
        .check(rule.on_store_error(OnStoreError::Closed))
        .await
        .expect_err("it is closed");
    assert_eq!(closed.decision(), None);
    world.fails(false);
    assert_eq!(peeked().await, Some(DecidedBy::Store));
    assert_eq!(
        [by().await, by().await, by().await].map(|(admitted, _)| admitted),
        [true, true, false]
    );
    assert_eq!(by().await, (false, Some(DecidedBy::Store)));
}

/// An open rule asks for nothing while the store fails, also where a local one on its counter has begun a block.
#[tokio::test]
async fn f_05_an_open_rule_is_refused_by_no_block_of_a_local_one() {
    let world = World::of(1);
    let blocking = Policy::sliding_window(1, Duration::from_secs(60)).block(Duration::from_secs(600));
    world.fails(true);
    assert_eq!(world.admits(0, rule(blocking, "a"), 2).await, 1);
    let open = rule(blocking, "a").on_store_error(OnStoreError::Open);
    let stack = [open, per_minute(5, "b").place(1)];
    assert!(world.instances[0].check_all(&stack).await.is_ok());
    let local = [rule(blocking, "a"), per_minute(5, "b").place(1)];
    assert!(world.instances[0].check_all(&local).await.is_err());
}
