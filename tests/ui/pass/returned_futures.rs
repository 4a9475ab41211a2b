#[path = "../support.rs"]
#[allow(dead_code)]
mod support;

use std::future::Future;
use std::pin::Pin;

use rate_limit::limit_per_time;
use support::{Error, run};

type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

#[limit_per_time(1, "1h", key = user)]
fn opaque(user: u64) -> impl Future<Output = Result<u64, Error>> + Send {
    let before = user;
    async move { Ok(before) }
}

/// What it awaits is not moved.
#[limit_per_time(1, "1h", key = *user)]
fn borrowing<'a>(user: &'a u64, (other, _): (u64, u8)) -> impl Future<Output = Result<u64, Error>> + 'a {
    async move {
        let user = *user;
        Ok(user + other)
    }
}

#[limit_per_time(1, "1h", key = user, reset_on_success)]
fn boxed(user: u64, right: bool) -> Pin<Box<dyn Future<Output = Result<u64, Error>> + Send>> {
    Box::pin(async move {
        if !right {
            return Err(Error::Wrong);
        }
        Ok(user)
    })
}

#[limit_per_time(1, "1h", key = user)]
fn by_name<'a>(user: &'a str) -> BoxFuture<'a, Result<&'a str, Error>> {
    Box::pin(async move { Ok(user) })
}

#[limit_per_time(1, "1h", key = user, on_limit = |_| 0)]
fn on_limit(user: u64) -> impl Future<Output = u64> + use<> {
    async move { user }
}

#[limit_per_time(9, "1h", key = user)]
#[limit_per_time(1, "1h", key = user, refund_on_error)]
fn stacked(user: u64, right: bool) -> impl Future<Output = Result<u64, Error>> {
    async move { if right { Ok(user) } else { Err(Error::Wrong) } }
}

struct Portal {
    account: u64,
}

impl Portal {
    #[limit_per_time(1, "1h", key = self.account)]
    fn method(&self) -> impl Future<Output = Result<u64, Error>> + '_ {
        async move { Ok(self.account) }
    }
}

fn main() {
    for _ in 0..3 {
        drop((opaque(7), boxed(7, true), by_name("a")));
    }
    assert_eq!([run(opaque(7)), run(opaque(7))], [Ok(7), Err(Error::Limited)]);
    assert_eq!(
        [run(borrowing(&7, (1, 0))), run(borrowing(&7, (1, 0)))],
        [Ok(8), Err(Error::Limited)]
    );
    assert_eq!([run(boxed(7, true)), run(boxed(7, false))], [Ok(7), Err(Error::Wrong)]);
    assert_eq!(run(boxed(7, true)), Err(Error::Limited));
    assert_eq!([run(by_name("a")), run(by_name("a"))], [Ok("a"), Err(Error::Limited)]);
    assert_eq!([run(on_limit(7)), run(on_limit(7))], [7, 0]);
    assert_eq!(
        [run(stacked(7, false)), run(stacked(7, true))],
        [Err(Error::Wrong), Ok(7)]
    );
    assert_eq!(run(stacked(7, false)), Err(Error::Limited));
    let portal = Portal { account: 7 };
    assert_eq!(
        [run(portal.method()), run(portal.method())],
        [Ok(7), Err(Error::Limited)]
    );
}
