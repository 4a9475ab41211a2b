#![deny(unused)]
#![forbid(unsafe_code)]

#[path = "../support.rs"]
#[allow(dead_code)]
mod support;

use std::time::{Duration, SystemTime};

use rate_limit::{Limiter, Policies, Policy, limit_per_time};
use support::{Error, run};

#[limit_per_time(policy = "one", key = user)]
async fn plain(user: u64) -> Result<u64, Error> {
    Ok(user)
}

#[limit_per_time(policy = "two", key = user, reset_on_success)]
#[limit_per_time(policy = "one", key = "everybody", cost = user)]
async fn stacked(user: u32) -> Result<u32, Error> {
    Err(Error::Wrong)
}

#[limit_per_time(key = at, policy = "bucket", at = SystemTime::now())]
async fn late<T: rate_limit::ToKey>(at: T) -> Result<T, Error> {
    Ok(at)
}

macro_rules! limited {
    ($($name:ident by $policy:literal;)*) => {$(
        #[limit_per_time(policy = $policy, key = user)]
        async fn $name(user: u64) -> Result<u64, Error> {
            Ok(user)
        }
    )*};
}

limited! {
    first by "one";
    second by "two";
}

struct Api;

#[limit_per_time(policy = "one", key = user)]
impl Api {
    async fn read(&self, user: u64) -> Result<u64, Error> {
        Ok(user)
    }
}

#[limit_per_time(policy = "one", key = user)]
trait Library<T> {
    async fn search(&self, user: u64) -> Result<u64, Error>;

    async fn list(&self, user: u64) -> Result<u64, Error> {
        Ok(user)
    }
}

#[limit_per_time(key = user)]
impl<T> Library<T> for Api {
    async fn search(&self, user: u64) -> Result<u64, Error> {
        Ok(user)
    }
}

fn main() {
    let minute = Duration::from_secs(60);
    let policies = Policies::new()
        .with("one", Policy::sliding_window(1, minute))
        .with("two", Policy::sliding_window(2, minute))
        .with("bucket", Policy::token_bucket(1, minute));
    let limiter = Limiter::builder().policies(policies).build().unwrap();
    limiter.verify().unwrap();
    rate_limit::install(limiter).unwrap();

    assert_eq!([run(plain(7)), run(plain(7))], [Ok(7), Err(Error::Limited)]);
    assert_eq!([run(stacked(1)), run(stacked(1))], [Err(Error::Wrong), Err(Error::Limited)]);
    assert_eq!([run(late(7)), run(late(7))], [Ok(7), Err(Error::Limited)]);
    assert_eq!([run(first(7)), run(first(7))], [Ok(7), Err(Error::Limited)]);
    assert_eq!([run(second(7)), run(second(7)), run(second(7))], [Ok(7), Ok(7), Err(Error::Limited)]);
    assert_eq!([run(Api.read(7)), run(Api.read(7))], [Ok(7), Err(Error::Limited)]);
    let search = || run(Library::<u8>::search(&Api, 7));
    assert_eq!([search(), search()], [Ok(7), Err(Error::Limited)]);
    let list = || run(Library::<u8>::list(&Api, 7));
    assert_eq!([list(), list()], [Ok(7), Err(Error::Limited)]);
}
