#[path = "../support.rs"]
#[allow(dead_code)]
mod support;

use std::future::Future;

use rate_limit::limit_per_time;
use support::{Error, run};

#[derive(Clone, Copy)]
struct Portal {
    account: u64,
}

/// With a comment of its own.
#[limit_per_time(1, "1h", key = self.account)]
#[allow(clippy::unused_async)]
impl Portal {
    #![allow(clippy::needless_pass_by_value)]

    const LIMIT: u32 = 2;

    async fn grades(&self) -> Result<u64, Error> {
        Ok(self.account)
    }

    pub(crate) async fn take(mut self, by: u64) -> Result<u64, Error> {
        self.account += by;
        Ok(self.account)
    }

    fn later(self) -> impl Future<Output = Result<u64, Error>> {
        let account = self.account;
        async move { self.returned(account) }
    }

    fn returned(self, account: u64) -> Result<u64, Error> {
        assert_eq!(self.account, account);
        Ok(account)
    }

    #[limit_per_time(Self::LIMIT, "1h", key = self.account)]
    async fn nearest(&self) -> Result<u64, Error> {
        Ok(self.account)
    }

    #[limit_per_time(9, "1h", key = self.account)]
    #[limit_per_time(1, "1d", key = self.account)]
    async fn stacked(&self) -> Result<u64, Error> {
        Ok(self.account)
    }

    #[limit_per_time(exempt)]
    async fn health(&self) -> Result<u64, Error> {
        Ok(self.account)
    }

    #[rate_limit::limit_per_time(exempt)]
    fn name(&self) -> &'static str {
        "portal"
    }
}

struct Keyless;

#[limit_per_time(1, "1h", key = "everybody", reset_on_success, success = |_| false, name = "shared")]
impl Keyless {
    async fn first() -> Result<u8, Error> {
        Ok(1)
    }

    async fn second() -> Result<u8, Error> {
        Ok(2)
    }
}

struct Generic<'a, T, const N: usize>(&'a [T; N]);

#[limit_per_time(1, "1h", key = N)]
impl<'a, T: Copy, const N: usize> Generic<'a, T, N>
where
    T: Send,
{
    async fn first(&self) -> Result<&'a T, Error> {
        self.0.first().ok_or(Error::Wrong)
    }
}

fn main() {
    let portal = Portal { account: 7 };
    assert_eq!(
        [run(portal.grades()), run(portal.grades())],
        [Ok(7), Err(Error::Limited)]
    );
    assert_eq!(run(Portal { account: 8 }.grades()), Ok(8), "another client");
    assert_eq!([run(portal.take(1)), run(portal.take(1))], [Ok(8), Err(Error::Limited)]);
    drop(portal.later());
    assert_eq!([run(portal.later()), run(portal.later())], [Ok(7), Err(Error::Limited)]);
    assert_eq!(
        [run(portal.nearest()), run(portal.nearest()), run(portal.nearest())],
        [Ok(7), Ok(7), Err(Error::Limited)]
    );
    assert_eq!(
        [run(portal.stacked()), run(portal.stacked())],
        [Ok(7), Err(Error::Limited)]
    );
    for _ in 0..9 {
        assert_eq!(run(portal.health()), Ok(7));
    }
    assert_eq!(portal.name(), "portal");
    assert_eq!(
        [run(Keyless::first()), run(Keyless::second())],
        [Ok(1), Err(Error::Limited)]
    );
    assert_eq!(
        [run(Generic(&[1]).first()), run(Generic(&[2]).first())],
        [Ok(&1), Err(Error::Limited)]
    );
}
