//! Numbers from configuration: by name, by the name of a function, and reloaded.

use std::time::{Duration, SystemTime};

use rate_limit::{
    Charge, Limiter, ManualClock, MemoryStore, OnStoreError, Policies, Policy, RejectionKind, Reply, Settlement, Store,
    StoreError, StoreErrorKind, Verdict, limit_per_time,
};
use rstest::rstest;

use crate::log;
use crate::support::{Failure, World};

#[limit_per_time(policy = "read", key = user)]
async fn read(user: u64) -> Result<u64, Failure> {
    Ok(user)
}

#[limit_per_time(policy = "read", key = user, name = "shared")]
async fn shared(user: u64) -> Result<u64, Failure> {
    Ok(user)
}

#[limit_per_time(policy = "same as read", key = user, name = "shared", reset_on_success)]
async fn shared_and_reset(user: u64) -> Result<u64, Failure> {
    Ok(user)
}

#[limit_per_time(policy = "read", key = user, deny_if = user == 666)]
#[limit_per_time(policy = "write", key = "all")]
async fn stacked(user: u64) -> Result<u64, Failure> {
    Ok(user)
}

#[limit_per_time(policy = "read", key = user, observe, on_store_error = open)]
async fn lenient(user: u64) -> Result<u64, Failure> {
    Ok(user)
}

#[limit_per_time(policy = "read", key = user, at = SystemTime::UNIX_EPOCH + clock)]
async fn late(user: u64, clock: Duration) -> Result<u64, Failure> {
    Ok(user)
}

#[limit_per_time(2, "1m", key = user, block = "1h")]
async fn inline(user: u64) -> Result<u64, Failure> {
    Ok(user)
}

#[limit_per_time(9, "1m", key = user, name = "log in")]
#[limit_per_time(9, "2m", key = user)]
#[limit_per_time(9, "3m", key = user, skip_if = user == 7)]
async fn inline_thrice(user: u64) -> Result<u64, Failure> {
    Ok(user)
}

struct Portal;

#[limit_per_time(policy = "read", key = user)]
impl Portal {
    async fn grades(&self, user: u64) -> Result<u64, Failure> {
        Ok(user)
    }

    async fn courses(&self, user: u64) -> Result<u64, Failure> {
        Ok(user)
    }
}

#[limit_per_time(policy = "write", key = user)]
trait Api {
    async fn save(&self, user: u64) -> Result<u64, Failure>;
}

#[limit_per_time(key = user)]
impl Api for Portal {
    async fn save(&self, user: u64) -> Result<u64, Failure> {
        Ok(user)
    }
}

#[limit_per_time(policy = "of the trait alone", key = user)]
#[allow(dead_code)]
trait NeverWritten {
    async fn save(&self, user: u64) -> Result<u64, Failure>;
}

const MINUTE: Duration = Duration::from_secs(60);

fn window(count: u32, seconds: u64) -> Policy {
    Policy::sliding_window(count, Duration::from_secs(seconds))
}

fn bucket(capacity: u32, refill: u64) -> Policy {
    Policy::token_bucket(capacity, Duration::from_secs(refill))
}

/// All that the functions of this program ask for.
fn policies(read: Policy) -> Policies {
    Policies::new()
        .with("read", read)
        .with("same as read", read)
        .with("write", window(1, 60))
        .with("of the trait alone", bucket(1, 1))
}

impl World {
    fn with(read: Policy) -> Self {
        let world = Self::new();
        world.load(policies(read));
        world
    }

    fn load(&self, policies: Policies) {
        self.limiter.set_policies(policies).expect("they are all there");
    }

    /// How many calls of `read` are admitted before one is refused, and how many seconds that one has to wait.
    async fn drain(&self) -> (u32, f64) {
        let mut admitted = 0;
        loop {
            match self.run(read(1)).await {
                Ok(_) => admitted += 1,
                Err(Failure::Refused(refused)) => {
                    let wait = refused.retry_after().expect("the limit is reached");
                    return (admitted, wait.as_secs_f64());
                }
                Err(failure) => panic!("{failure:?}"),
            }
        }
    }
}

fn kind<T>(answer: &Result<T, Failure>) -> Option<RejectionKind> {
    match answer {
        Err(Failure::Refused(rejection)) => Some(rejection.kind()),
        _ => None,
    }
}

fn policy<T>(answer: Result<T, Failure>) -> Option<Policy> {
    match answer {
        Err(Failure::Refused(rejection)) => Some(rejection.policy()),
        _ => None,
    }
}

#[tokio::test]
async fn a_policy_is_found_by_its_name() {
    let world = World::with(window(2, 60));
    world
        .run(async {
            assert_eq!([read(1).await, read(1).await], [Ok(1), Ok(1)]);
            assert_eq!(policy(read(1).await), Some(window(2, 60)));
            assert_eq!([Portal.grades(1).await, Portal.grades(1).await], [Ok(1), Ok(1)]);
            assert_eq!(policy(Portal.grades(1).await), Some(window(2, 60)));
            assert_eq!(
                Portal.courses(1).await,
                Ok(1),
                "each function of a block is counted apart"
            );
            assert_eq!(Portal.save(1).await, Ok(1));
            assert_eq!(policy(Portal.save(1).await), Some(window(1, 60)), "the trait's");
            assert_eq!(stacked(1).await, Ok(1));
            assert_eq!(
                policy(stacked(2).await),
                Some(window(1, 60)),
                "that of the second limit"
            );
        })
        .await;
}

#[tokio::test]
async fn counters_go_by_the_function_and_not_by_the_name_of_its_policy() {
    let world = World::with(window(1, 60));
    world
        .run(async {
            assert_eq!(shared(1).await, Ok(1));
            assert_eq!(kind(&shared_and_reset(1).await), Some(RejectionKind::Limited));
            assert_eq!(shared_and_reset(2).await, Ok(2));
            assert_eq!(shared(2).await, Ok(2), "the success cleared the record");
        })
        .await;
}

#[tokio::test]
async fn a_name_that_is_missing_refuses_every_call() {
    log::install();
    log::take();
    let embedded = read(1).await;
    assert_eq!(
        kind(&embedded),
        Some(RejectionKind::Misconfigured),
        "no limiter is installed"
    );

    let closed = Limiter::builder()
        .on_store_error(OnStoreError::Open)
        .policies(Policies::new().with("write", window(1, 60)))
        .build()
        .expect("what is asked for is not known here");
    let mut logged = Vec::new();
    for limiter in [closed, World::new().limiter] {
        let nothing = Policy::sliding_window(0, Policy::MIN_WINDOW);
        let at = Duration::from_secs(1);
        for answer in [
            limiter.scope(read(1)).await,
            limiter.scope(lenient(1)).await,
            limiter.scope(stacked(1)).await,
            limiter.scope(late(1, at)).await,
        ] {
            assert_eq!(kind(&answer), Some(RejectionKind::Misconfigured));
            assert_eq!(policy(answer), Some(nothing));
        }
        logged.extend(log::take());

        let denied = limiter.scope(stacked(666)).await;
        assert_eq!(
            kind(&denied),
            Some(RejectionKind::Denied),
            "it is turned away all the same"
        );
        assert_eq!(policy(denied), Some(nothing));
    }
    let told: Vec<_> = logged.iter().filter(|line| line.contains("ERROR")).collect();
    assert_eq!(told.len(), 4, "once a minute for each function: {logged:?}");
    for (line, function) in told.iter().zip(["read", "lenient", "stacked", "late"]) {
        assert!(line.contains(&format!("behaviour::policies::{function}\"")), "{line}");
        assert!(line.contains("policy=\"read\""), "{line}");
        assert!(line.contains("add it to the `Policies` of the limiter"), "{line}");
    }
}

#[tokio::test]
async fn what_deny_if_turns_away_bears_the_policy_that_holds() {
    let world = World::with(window(2, 60));
    let denied = world.run(stacked(666)).await;
    assert_eq!(kind(&denied), Some(RejectionKind::Denied));
    assert_eq!(policy(denied), Some(window(2, 60)));
    assert_eq!(world.charges(), 0);
}

#[tokio::test]
async fn only_a_named_bucket_goes_by_the_time_of_the_event() {
    let world = World::with(bucket(1, 60));
    let at = |seconds| late(1, Duration::from_secs(seconds));
    world
        .run(async {
            assert_eq!(at(0).await, Ok(1));
            assert_eq!(kind(&at(59).await), Some(RejectionKind::Limited));
            assert_eq!(at(60).await, Ok(1));
        })
        .await;

    world.load(policies(window(1, 60)));
    log::take();
    let answer = world.run(at(0)).await;
    assert_eq!(kind(&answer), Some(RejectionKind::Misconfigured));
    assert_eq!(policy(answer), Some(window(1, 60)));
    let log = log::take().concat();
    assert!(log.contains("make the policy one, or leave out `at`"), "{log}");
    let error = world.limiter.verify().expect_err("it is no bucket").to_string();
    let late = concat!(module_path!(), "::late");
    let words =
        "goes by the time of the event, and its policy (1 in 1m) is no token bucket: make it one, or leave out `at`";
    assert_eq!(error, format!("`{late}` {words}"));
    world.load(policies(bucket(1, 60)));
    assert!(world.limiter.verify().is_ok());
}

#[tokio::test]
async fn an_entry_by_the_name_of_a_function_replaces_all_its_numbers() {
    let world = World::new();
    let path = concat!(module_path!(), "::inline");
    world.load(policies(window(9, 60)).with(path, window(1, 30)));
    assert_eq!(world.run(inline(1)).await, Ok(1));
    assert_eq!(policy(world.run(inline(1)).await), Some(window(1, 30)));
    world.clock.advance(Duration::from_secs(30));
    assert_eq!(world.run(inline(1)).await, Ok(1), "nothing is blocked");

    world.load(policies(window(9, 60)));
    assert_eq!(world.run(inline(1)).await, Ok(1), "the second in its own window");
    let own = window(2, 60).block(Duration::from_secs(3600));
    assert_eq!(policy(world.run(inline(1)).await), Some(own));
}

#[tokio::test]
async fn each_limit_of_a_function_has_an_entry() {
    let world = World::new();
    let all = policies(window(9, 60));
    let second = policies(window(9, 60)).with("log in#2", window(1, 30));
    let third = policies(window(9, 60)).with("log in#3", window(1, 45));
    world.load(all.with("log in", window(1, 15)));
    assert_eq!(world.run(inline_thrice(1)).await, Ok(1));
    assert_eq!(policy(world.run(inline_thrice(1)).await), Some(window(1, 15)));
    world.load(second);
    assert_eq!(policy(world.run(inline_thrice(1)).await), Some(window(1, 30)));
    world.load(third);
    assert_eq!(policy(world.run(inline_thrice(1)).await), Some(window(1, 45)));
    assert_eq!(world.run(inline_thrice(7)).await, Ok(7));
    assert_eq!(world.run(inline_thrice(7)).await, Ok(7), "its third limit is skipped");
}

#[rstest]
#[case::half_the_refill((3, 50), (3, 25), 3, (0, 25.0))]
#[case::twice_the_refill((3, 25), (3, 50), 3, (0, 25.0))]
#[case::more_tokens((3, 50), (10, 50), 3, (7, 50.0))]
#[case::fewer_tokens((10, 50), (3, 50), 8, (0, 50.0))]
#[case::fewer_tokens_than_are_left((10, 50), (3, 50), 2, (1, 50.0))]
#[case::both((3, 50), (10, 25), 3, (7, 25.0))]
#[tokio::test]
async fn a_bucket_keeps_the_tokens_that_it_lacks(
    #[case] before: (u32, u64),
    #[case] after: (u32, u64),
    #[case] taken: u32,
    #[case] left: (u32, f64),
) {
    let world = World::with(bucket(before.0, before.1));
    for _ in 0..taken {
        assert_eq!(world.run(read(1)).await, Ok(1));
    }
    world.load(policies(bucket(after.0, after.1)));
    assert_eq!(world.drain().await, left);
}

#[tokio::test]
async fn tokens_come_back_at_the_faster_of_two_refills_since_the_last_take() {
    let world = World::with(bucket(3, 50));
    assert_eq!(world.drain().await, (3, 50.0));
    world.clock.advance(Duration::from_secs(10));
    world.load(policies(bucket(3, 25)));
    assert_eq!(world.drain().await, (0, 15.0), "a refusal leaves that as it was");
    world.load(policies(bucket(3, 50)));
    assert_eq!(world.drain().await, (0, 40.0));
}

#[rstest]
#[case::of_two_refills(bucket(1000, 7), bucket(1000, 3))]
#[case::of_two_sizes(bucket(1000, 7), bucket(1200, 3))]
#[case::of_windows(window(1000, 60), window(1000, 30))]
#[tokio::test]
async fn to_and_fro_between_two_policies_gains_nothing(#[case] one: Policy, #[case] other: Policy) {
    let world = World::with(one);
    let mut admitted = 0;
    for turn in 0..2_600 {
        world.load(policies(if turn % 2 == 0 { one } else { other }));
        if turn % 2 == 1 && admitted >= one.count() {
            continue;
        }
        admitted += u32::from(world.run(read(1)).await.is_ok());
    }
    assert_eq!(admitted, 1_000);
}

#[tokio::test]
async fn a_bucket_turned_to_and_fro_over_time_gains_what_the_faster_refill_gives() {
    let world = World::with(bucket(3, 50));
    assert_eq!(world.drain().await, (3, 50.0));
    let mut admitted = 0;
    for turn in 0..1_000_u32 {
        world.load(policies(if turn % 2 == 0 { bucket(3, 25) } else { bucket(3, 50) }));
        world.clock.advance(Duration::from_secs(1));
        admitted += world.drain().await.0;
    }
    assert_eq!(admitted, 40, "each second is a 25th of a token");
}

#[tokio::test]
async fn a_window_is_judged_over_the_same_log() {
    let world = World::with(window(3, 60));
    for _ in 0..3 {
        assert_eq!(world.run(read(1)).await, Ok(1));
        world.clock.advance(Duration::from_secs(10));
    }
    assert_eq!(world.drain().await, (0, 30.0), "hits at 0, 10 and 20 s, and it is 30 s");
    world.load(policies(window(5, 60)));
    assert_eq!(world.drain().await, (2, 30.0), "and two at 30 s");
    world.load(policies(window(2, 60)));
    assert_eq!(world.drain().await, (0, 60.0), "all but one of five have to go");
    world.load(policies(window(5, 25)));
    assert_eq!(world.drain().await, (1, 5.0), "the first is out of the window");
    world.load(policies(window(5, 120)));
    assert_eq!(world.drain().await.0, 0, "what the log still has counts again");
    world.load(policies(window(6, 15)));
    assert_eq!(world.drain().await, (2, 5.0), "hits at 20 s, three at 30 s");
}

/// A reload of one bad minute forgives nothing.
#[rstest]
#[case::a_sliding_window(window(5, 600), window(5, 1))]
#[case::a_fixed_window(Policy::fixed_window(5, MINUTE * 10), Policy::fixed_window(5, Duration::from_secs(1)))]
#[case::a_smaller_count_too(window(5, 600), window(1, 1))]
#[case::a_bucket(bucket(5, 600), bucket(1, 600))]
#[tokio::test]
async fn f_42_numbers_that_were_wrong_for_a_minute_forgive_nothing(#[case] right: Policy, #[case] wrong: Policy) {
    let world = World::with(right);
    // To the beginning of a window, if windows have one.
    let begin = 600_000_000 - world.clock.now() % 600_000_000;
    world.clock.advance(Duration::from_micros(begin));
    assert_eq!(world.drain().await.0, 5);
    for load in [wrong, right, wrong, right] {
        world.load(policies(load));
        world.clock.advance(Duration::from_secs(2));
        let _ = world.run(read(1)).await;
    }
    world.load(policies(right));
    assert_eq!(world.drain().await.0, 0);
}

#[tokio::test]
async fn a_fixed_window_keeps_its_hits() {
    let fixed = |count| policies(Policy::fixed_window(count, MINUTE));
    let world = World::with(Policy::fixed_window(3, MINUTE));
    assert_eq!(world.drain().await.0, 3);
    world.load(fixed(5));
    assert_eq!(world.drain().await.0, 2);
    world.load(fixed(3));
    assert_eq!(world.drain().await.0, 0);
}

#[tokio::test]
async fn policies_that_lack_a_name_are_refused_and_change_nothing() {
    let world = World::with(window(1, 60));
    let known = |policies: Policies, name| policies.with(name, window(9, 60));
    let short = ["reed", "same as read", "write"]
        .into_iter()
        .fold(Policies::new(), known);
    let error = world
        .limiter
        .set_policies(short)
        .expect_err("two are missing")
        .to_string();
    let here = |name: &str| concat!(module_path!(), "::").to_owned() + name;
    let missing = |name: &str| {
        format!(
            "`{}` asks for the policy `read`, which is missing: did you mean `reed`",
            here(name)
        )
    };
    let of_trait = format!(
        "`{}` asks for the policy `of the trait alone`, which is missing: add it",
        here("NeverWritten")
    );
    let mut expected = vec![of_trait];
    expected.extend(["Portal::courses", "Portal::grades", "late", "lenient", "read"].map(missing));
    expected.push(missing("stacked"));
    expected.push("`shared` asks for the policy `read`, which is missing: did you mean `reed`".to_owned());
    assert_eq!(error.lines().collect::<Vec<_>>(), expected);

    assert_eq!(world.drain().await, (1, 60.0), "what held before holds");
}

#[tokio::test]
async fn an_entry_that_no_function_goes_by_is_warned_of() {
    let world = World::new();
    let inline = concat!(module_path!(), "::inline");
    let read = concat!(module_path!(), "::read");
    let loaded = policies(bucket(1, 60))
        .with(inline, window(1, 60))
        .with("log in#3", window(1, 60));
    log::take();
    world.load(loaded.clone());
    world.limiter.verify().expect("all is there");
    assert_eq!(log::take(), [""; 0]);

    // Of a function whose policy is named, that name alone counts.
    let idle = ["log in#4", "exprot", "log in#1", read];
    world.load(
        idle.into_iter()
            .fold(loaded, |loaded, name| loaded.with(name, window(1, 60))),
    );
    world.limiter.verify().expect("all is there");
    // Told when they are loaded, and when they are verified.
    let log = log::take();
    let idle = [read, "exprot", "log in#1", "log in#4"];
    for (line, name) in log.iter().zip(idle.into_iter().chain(idle)) {
        assert!(line.contains("WARN"), "{line}");
        assert!(line.contains(&format!("policy=\"{name}\"")), "{line}");
    }
    assert_eq!(log.len(), 8, "{log:?}");
}

#[tokio::test]
async fn f_56_a_reload_tells_of_a_misspelt_name_and_of_the_nearest() {
    let world = World::new();
    let misspelt = concat!(module_path!(), "::inlnie");
    log::take();
    world.load(
        policies(bucket(1, 60))
            .with(misspelt, window(1, 60))
            .with("log in#9", window(1, 60))
            .with("far from all", window(1, 60)),
    );
    let [near, far, third] = &log::take()[..] else {
        panic!("a line each")
    };
    let inline = concat!("did you mean `", module_path!(), "::inline`");
    assert!(near.contains("WARN") && near.contains(inline), "{near}");
    assert!(third.contains("did you mean `log in"), "{third}");
    assert!(far.contains("far from all") && !far.contains("did you mean"), "{far}");
    log::take();
    world.limiter.verify().expect("all is there");
    assert!(log::take()[0].contains(inline));
}

/// Keeps token buckets alone.
#[derive(Debug)]
struct Buckets(MemoryStore);

impl Store for Buckets {
    fn acquire(&self, charges: &[Charge]) -> Reply<Result<Verdict, StoreError>> {
        self.0.acquire(charges)
    }

    fn peek(&self, charge: Charge) -> Reply<Result<Verdict, StoreError>> {
        self.0.peek(charge)
    }

    fn accepts(&self, policy: Policy) -> Result<(), StoreError> {
        match policy.algorithm() {
            rate_limit::Algorithm::TokenBucket => Ok(()),
            _ => Err(StoreError::new(
                StoreErrorKind::Misconfigured,
                "it keeps token buckets alone: take a `MemoryStore`",
            )),
        }
    }

    fn settle(&self, settlements: &[Settlement]) -> Reply<Result<(), StoreError>> {
        self.0.settle(settlements)
    }
}

fn of_buckets(policies: Policies) -> Result<Limiter, rate_limit::BuildError> {
    let store = Buckets(MemoryStore::builder().clock(&ManualClock::new()).build());
    Limiter::builder()
        .store(store)
        .on_store_error(OnStoreError::Open)
        .policies(policies)
        .build()
}

#[tokio::test]
async fn a_store_says_which_policies_it_keeps() {
    log::install();
    let words = "is not for this store: it keeps token buckets alone: take a `MemoryStore`";
    let error = of_buckets(policies(bucket(1, 60)))
        .expect_err("`write` is a window")
        .to_string();
    assert_eq!(error, format!("the policy `write` (1 in 1m) {words}"));

    let kept = policies(bucket(1, 60)).with("write", bucket(1, 60));
    let limiter = of_buckets(kept.clone()).expect("all are buckets");
    let error = limiter
        .set_policies(kept.with("read", window(2, 60)))
        .expect_err("a window");
    assert_eq!(error.to_string(), format!("the policy `read` (2 in 1m) {words}"));
    assert_eq!(limiter.scope(read(1)).await, Ok(1), "what held before holds");
    assert_eq!(policy(limiter.scope(read(1)).await), Some(bucket(1, 60)));

    log::take();
    let answer = limiter.scope(inline(1)).await;
    assert_eq!(
        kind(&answer),
        Some(RejectionKind::Misconfigured),
        "whatever is said of store errors"
    );
    assert_eq!(policy(answer), Some(window(2, 60).block(Duration::from_secs(3600))));
    let log = log::take().concat();
    assert!(log.contains("ERROR") && log.contains("take a `MemoryStore`"), "{log}");

    let error = limiter.verify().expect_err("there are windows").to_string();
    let line = format!(
        "the policy of `{}` (2 in 1m, then blocked for 1h) {words}",
        concat!(module_path!(), "::inline")
    );
    assert!(error.lines().any(|told| told == line), "{error}");
    assert!(!error.contains("::read`"), "{error}");
}
