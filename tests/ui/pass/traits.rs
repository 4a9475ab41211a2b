#![allow(async_fn_in_trait)]

#[path = "../support.rs"]
#[allow(dead_code)]
mod support;

use rate_limit::limit_per_time;
use support::{Error, run};

#[limit_per_time(2, "1h", key = user)]
pub trait Api<T: Copy>: Sync {
    type Id;

    const NAME: &'static str = "api";

    async fn get(&self, user: u64) -> Result<T, Error>;

    async fn list(&self, user: u64) -> Result<u64, Error> {
        Ok(user)
    }

    #[limit_per_time(1, "1h", key = user)]
    async fn nearest(&self, user: u64) -> Result<u64, Error> {
        Ok(user)
    }

    #[limit_per_time(exempt)]
    async fn health(&self) -> Result<&'static str, Error> {
        Ok(Self::NAME)
    }

    fn name(&self) -> &'static str {
        Self::NAME
    }
}

struct First;
struct Second;
struct Third<'a>(&'a u8);

#[limit_per_time(key = user)]
impl Api<u64> for First {
    type Id = u64;

    async fn get(&self, user: u64) -> Result<u64, Error> {
        Ok(user)
    }
}

#[limit_per_time(1, "1h", key = user, reset_on_success, success = |_| false)]
impl Api<u64> for Second {
    type Id = u64;

    async fn get(&self, user: u64) -> Result<u64, Error> {
        Ok(user)
    }
}

/// The numbers of the trait, settled.
#[limit_per_time(key = user, reset_on_success)]
impl<'a> Api<&'a u8> for Third<'a> {
    type Id = u8;

    async fn get(&self, user: u64) -> Result<&'a u8, Error> {
        if user == 0 { Err(Error::Wrong) } else { Ok(self.0) }
    }
}

#[limit_per_time(1, "1h", key = 7)]
trait Dynamic {
    fn shape(&self) -> &'static str;
}

#[limit_per_time]
impl Dynamic for First {
    fn shape(&self) -> &'static str {
        "dynamic"
    }
}

fn main() {
    let get = |user| run(First.get(user));
    assert_eq!(
        [get(7), get(7), get(7), get(8)],
        [Ok(7), Ok(7), Err(Error::Limited), Ok(8)]
    );
    assert_eq!([run(Second.get(7)), run(Second.get(7))], [Ok(7), Err(Error::Limited)]);
    let get = |user| run(Third(&3).get(user));
    assert_eq!([get(7), get(7), get(7)], [Ok(&3), Ok(&3), Ok(&3)]);
    assert_eq!(
        [get(0), get(0), get(0)],
        [Err(Error::Wrong), Err(Error::Wrong), Err(Error::Limited)]
    );
    assert_eq!(
        [run(First.list(7)), run(Second.list(7)), run(Third(&3).list(7))],
        [Ok(7), Ok(7), Err(Error::Limited)]
    );
    assert_eq!(
        [run(First.nearest(7)), run(First.nearest(7))],
        [Ok(7), Err(Error::Limited)]
    );
    for _ in 0..5 {
        assert_eq!(run(First.health()), Ok("api"));
    }
    assert_eq!((First.name(), (&First as &dyn Dynamic).shape()), ("api", "dynamic"));
}
