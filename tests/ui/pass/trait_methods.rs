#![allow(async_fn_in_trait)]

#[path = "../support.rs"]
#[allow(dead_code)]
mod support;

use rate_limit::limit_per_time;
use support::{Error, run};

trait Api {
    async fn login(&self, user: u64) -> Result<u64, Error>;

    #[limit_per_time(1, "1h", key = user)]
    async fn default_body(&self, user: u64) -> Result<u64, Error> {
        Ok(user)
    }
}

struct First;
struct Second;

impl Api for First {
    #[limit_per_time(1, "1h", key = user)]
    async fn login(&self, user: u64) -> Result<u64, Error> {
        Ok(user)
    }
}

impl Api for Second {
    #[limit_per_time(1, "1h", key = user, reset_on_success)]
    async fn login(&self, user: u64) -> Result<u64, Error> {
        if user == 0 { Err(Error::Wrong) } else { Ok(user) }
    }
}

impl First {
    #[limit_per_time(1, "1h", key = user)]
    async fn logout(&self, user: u64) -> Result<u64, Error> {
        Ok(user)
    }
}

impl Second {
    #[limit_per_time(1, "1h", key = user)]
    async fn logout(&self, user: u64) -> Result<u64, Error> {
        Ok(user)
    }
}

fn main() {
    assert_eq!([run(First.login(7)), run(First.login(7))], [Ok(7), Err(Error::Limited)]);
    // A counter of its own for each implementation, though the names are the same.
    assert_eq!([run(Second.login(7)), run(Second.login(7))], [Ok(7), Ok(7)]);
    assert_eq!(
        [run(Second.login(0)), run(Second.login(0))],
        [Err(Error::Wrong), Err(Error::Limited)]
    );
    assert_eq!(
        [run(First.logout(7)), run(First.logout(7))],
        [Ok(7), Err(Error::Limited)]
    );
    assert_eq!(
        [run(Second.logout(7)), run(Second.logout(7))],
        [Ok(7), Err(Error::Limited)]
    );
    // A default body is one method, the trait's.
    assert_eq!(
        [run(First.default_body(7)), run(Second.default_body(7))],
        [Ok(7), Err(Error::Limited)]
    );
}
