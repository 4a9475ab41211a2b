//! Numbers that are not one value for a function: each set of them has counters of its own.

use std::time::Duration;

use rate_limit::{Client, Key, Limiter, Method, Policies, Policy, Rule, limit_per_time};

use crate::world::{Failure, World, admitted};

trait Plan {
    const COUNT: u32;
    const WINDOW: Duration = Duration::from_secs(3_600);
    const BLOCK: Duration = Duration::from_secs(60);

    #[limit_per_time(count = Self::COUNT, window = Self::WINDOW, key = user)]
    async fn read(&self, user: u64) -> Result<u64, Failure> {
        Ok(user)
    }

    #[limit_per_time(algorithm = token_bucket, capacity = Self::COUNT, refill = "1h", key = user, name = "draw")]
    async fn draw(&self, user: u64) -> Result<u64, Failure> {
        Ok(user)
    }

    #[limit_per_time(count = 3, window = "1s", block = Self::BLOCK, key = user)]
    async fn blocked(&self, user: u64) -> Result<u64, Failure> {
        Ok(user)
    }
}

struct Small;
struct Large;
struct AsLarge;

impl Plan for Small {
    const COUNT: u32 = 3;
}

impl Plan for Large {
    const COUNT: u32 = 10;
    const BLOCK: Duration = Duration::from_secs(600);
}

impl Plan for AsLarge {
    const COUNT: u32 = 10;
    const BLOCK: Duration = Duration::from_secs(600);
}

#[test]
fn f_44_plans_with_unlike_numbers_do_not_take_each_others_calls() {
    let world = World::new();
    world.run(async {
        let mut in_all = [0, 0];
        for _ in 0..2_000 {
            in_all[0] += admitted(10, || Large.read(1)).await;
            in_all[1] += admitted(1, || Small.read(1)).await;
        }
        assert_eq!(in_all, [10, 3], "of either plan what it allows");
        assert_eq!(
            admitted(5, || AsLarge.read(1)).await,
            0,
            "the same numbers are one counter"
        );
    });
}

#[test]
fn f_44_neither_do_buckets_of_one_name() {
    let world = World::new();
    world.run(async {
        assert_eq!(admitted(99, || Small.draw(1)).await, 3);
        assert_eq!(admitted(99, || Large.draw(1)).await, 10);
    });
}

#[test]
fn f_44_nor_blocks() {
    let world = World::new();
    world.run(async {
        assert_eq!(admitted(4, || Small.blocked(1)).await, 3);
        assert_eq!(admitted(4, || Large.blocked(1)).await, 3);
    });
    world.advance(61);
    world.run(async {
        assert_eq!(
            admitted(4, || Small.blocked(1)).await,
            3,
            "its block of a minute is over"
        );
        assert_eq!(admitted(4, || Large.blocked(1)).await, 0, "that of ten minutes is not");
    });
}

struct Pool<const SIZE: u32>;

impl<const SIZE: u32> Pool<SIZE> {
    #[limit_per_time(count = SIZE, window = "1h", key = user)]
    async fn take(&self, user: u64) -> Result<u64, Failure> {
        Ok(user)
    }
}

#[limit_per_time(count = N, window = "1h", key = user)]
async fn of_a_function<const N: u32>(user: u64) -> Result<u64, Failure> {
    Ok(user)
}

#[limit_per_time(count = size_of::<T>() as u32, window = "1h", key = user)]
async fn of_a_type<T>(user: u64) -> Result<u64, Failure> {
    Ok(user)
}

#[limit_per_time(count = N, window = "1h", key = user)]
fn of_a_future<const N: u32>(user: u64) -> impl Future<Output = Result<u64, Failure>> {
    async move { Ok(user) }
}

trait Sized<const SIZE: u32> {
    #[limit_per_time(count = SIZE, window = "1h", key = user)]
    async fn sized(&self, user: u64) -> Result<u64, Failure> {
        Ok(user)
    }
}

impl Sized<2> for Small {}
impl Sized<4> for Small {}

#[test]
fn f_44_constants_of_a_type_a_trait_and_a_function_are_told_apart() {
    let world = World::new();
    world.run(async {
        assert_eq!(admitted(9, || Pool::<2>.take(1)).await, 2);
        assert_eq!(admitted(9, || Pool::<4>.take(1)).await, 4);
        assert_eq!(admitted(9, || of_a_function::<2>(1)).await, 2);
        assert_eq!(admitted(9, || of_a_function::<4>(1)).await, 4);
        assert_eq!(admitted(9, || of_a_type::<u16>(1)).await, 2);
        assert_eq!(admitted(9, || of_a_type::<u32>(1)).await, 4);
        assert_eq!(
            admitted(9, || of_a_type::<[u8; 4]>(1)).await,
            0,
            "the numbers count, and not the type"
        );
        assert_eq!(admitted(9, || of_a_future::<2>(1)).await, 2);
        assert_eq!(admitted(9, || of_a_future::<4>(1)).await, 4);
        assert_eq!(admitted(9, || Sized::<2>::sized(&Small, 1)).await, 2);
        assert_eq!(admitted(9, || Sized::<4>::sized(&Small, 1)).await, 4);
    });
}

#[limit_per_time(count = Self::MOST, window = "1h", key = user)]
trait Store {
    const MOST: u32;

    async fn get(&self, user: u64) -> Result<u64, Failure>;
}

struct Shelf<const SIZE: u32>;

#[limit_per_time(key = user)]
impl<const SIZE: u32> Store for Shelf<SIZE> {
    const MOST: u32 = SIZE;

    async fn get(&self, user: u64) -> Result<u64, Failure> {
        Ok(user)
    }
}

#[test]
fn f_44_an_impl_for_many_types_that_takes_the_numbers_of_its_trait_has_those_of_each() {
    let world = World::new();
    world.run(async {
        assert_eq!(admitted(9, || Shelf::<2>.get(1)).await, 2);
        assert_eq!(admitted(9, || Shelf::<4>.get(1)).await, 4);
    });
}

#[limit_per_time(count = N, window = "1h", key = user)]
#[limit_per_time(5, "1m", key = user)]
async fn with_a_second_limit<const N: u32>(user: u64) -> Result<u64, Failure> {
    Ok(user)
}

#[test]
fn f_44_a_limit_of_literals_beside_one_of_constants_is_one_for_all() {
    let world = World::new();
    world.run(async {
        assert_eq!(admitted(9, || with_a_second_limit::<4>(1)).await, 4);
        assert_eq!(
            admitted(9, || with_a_second_limit::<3>(1)).await,
            1,
            "the fifth of the minute"
        );
    });
}

#[limit_per_time(count = N, window = "1h", key = user, reset_on_success)]
async fn reset<const N: u32>(user: u64, good: bool) -> Result<u64, Failure> {
    good.then_some(user).ok_or(Failure::Own)
}

#[test]
fn f_44_a_settlement_finds_the_counter_that_was_charged() {
    let world = World::new();
    world.run(async {
        assert_eq!(admitted(1, || reset::<2>(1, false)).await, 1);
        assert_eq!(admitted(1, || reset::<2>(1, true)).await, 1);
        assert_eq!(admitted(9, || reset::<2>(1, false)).await, 2);
    });
}

#[test]
fn f_44_a_configured_policy_is_one_limit_again() {
    let policies = Policies::new().with(
        "attribute::numbers::of_a_function",
        Policy::sliding_window(3, Duration::from_secs(60)),
    );
    let limiter = Limiter::builder().policies(policies).build().expect("no secret is set");
    let world = World {
        limiter,
        ..World::new()
    };
    world.run(async {
        assert_eq!(admitted(2, || of_a_function::<2>(1)).await, 2);
        assert_eq!(admitted(9, || of_a_function::<4>(1)).await, 1);
        assert_eq!(admitted(9, || Pool::<4>.take(1)).await, 4, "no entry names it");
    });
}

#[test]
fn f_44_a_client_is_looked_at_and_let_go_by_the_numbers() {
    let world = World::new();
    let key = || {
        let alice = Client::of(&7_u64).expect("it names somebody");
        Key::new(Method::named("attribute::numbers::of_a_function"), alice)
    };
    let rule = |count| Rule::new(Policy::sliding_window(count, Duration::from_secs(3_600)), key()).by_numbers();
    let limiter = world.limiter.clone();
    world.run(async {
        let remaining = async |count| limiter.peek(rule(count)).await.expect("it is in memory").remaining;
        assert_eq!(admitted(1, || of_a_function::<2>(7)).await, 1);
        assert_eq!(admitted(1, || of_a_function::<4>(7)).await, 1);
        assert_eq!([remaining(2).await, remaining(4).await], [1, 3]);
        limiter.reset_rule(rule(4)).await.expect("it is in memory");
        assert_eq!([remaining(2).await, remaining(4).await], [1, 4]);
        limiter.reset(key()).await.expect("it is in memory");
        assert_eq!([remaining(2).await, remaining(4).await], [2, 4]);
    });
}

/// The counter of a plain constant is that of the function, so that it lives on when the constant changes.
const LIMIT: u32 = 3;

struct Plain;

impl Plain {
    const LIMIT: u32 = 2;

    #[limit_per_time(count = Self::LIMIT, window = "1h", key = user)]
    async fn of_its_own(&self, user: u64) -> Result<u64, Failure> {
        Ok(user)
    }
}

#[limit_per_time(count = LIMIT, window = "1h", key = user)]
#[allow(clippy::needless_lifetimes)]
async fn of_the_module<'a>(user: &'a str) -> Result<&'a str, Failure> {
    Ok(user)
}

#[limit_per_time(2, "1h", key = user)]
async fn of_literals<T>(user: T) -> Result<T, Failure>
where
    T: rate_limit::ToKey,
{
    Ok(user)
}

#[test]
fn f_44_numbers_that_are_one_value_leave_the_counter_as_it_is() {
    let world = World::new();
    let limiter = world.limiter.clone();
    let remaining = async |name: &'static str, client: Client| {
        let rule = Rule::new(
            Policy::sliding_window(9, Duration::from_secs(3_600)),
            Key::new(Method::named(name), client),
        );
        limiter.peek(rule).await.expect("it is in memory").remaining
    };
    world.run(async {
        let (seven, bob) = (Client::of(&7_u64), Client::of("bob"));
        let (seven, bob) = (seven.expect("it names somebody"), bob.expect("it names somebody"));
        assert_eq!(admitted(1, || Plain.of_its_own(7)).await, 1);
        assert_eq!(admitted(1, || of_the_module("bob")).await, 1);
        assert_eq!(admitted(1, || of_literals(7_u64)).await, 1);
        assert_eq!(remaining("attribute::numbers::Plain::of_its_own", seven).await, 8);
        assert_eq!(remaining("attribute::numbers::of_the_module", bob).await, 8);
        assert_eq!(remaining("attribute::numbers::of_literals", seven).await, 8);
    });
}
