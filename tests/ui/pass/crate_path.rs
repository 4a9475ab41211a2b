#[path = "../support.rs"]
#[allow(dead_code)]
mod support;

mod facade {
    pub(crate) mod deep {
        pub(crate) use rate_limit as limits;
    }
}

use facade::deep;
use facade::deep::limits::limit_per_time;
use support::{Error, run};

#[limit_per_time(1, "1h", key = user, crate = crate::facade::deep::limits)]
async fn absolute(user: u64) -> Result<u64, Error> {
    Ok(user)
}

#[limit_per_time(1, "1h", key = user, crate = deep::limits, reset_on_success)]
async fn relative(user: u64) -> Result<u64, Error> {
    if user == 0 { Err(Error::Wrong) } else { Ok(user) }
}

#[limit_per_time(1, "1h", key = user, crate = ::rate_limit)]
async fn external(user: u64) -> Result<u64, Error> {
    Ok(user)
}

mod inner {
    use super::*;

    #[limit_per_time(1, "1h", key = user, crate = super::deep::limits)]
    pub(crate) async fn parent(user: u64) -> Result<u64, Error> {
        Ok(user)
    }

    #[limit_per_time(1, "1h", key = user, crate = self::limits)]
    pub(crate) async fn own(user: u64) -> Result<u64, Error> {
        Ok(user)
    }

    use super::deep::limits;
}

fn main() {
    assert_eq!([run(absolute(7)), run(absolute(7))], [Ok(7), Err(Error::Limited)]);
    assert_eq!([run(relative(7)), run(relative(7))], [Ok(7), Ok(7)]);
    assert_eq!(
        [run(relative(0)), run(relative(0))],
        [Err(Error::Wrong), Err(Error::Limited)]
    );
    assert_eq!([run(external(7)), run(external(7))], [Ok(7), Err(Error::Limited)]);
    assert_eq!(
        [run(inner::parent(7)), run(inner::parent(7))],
        [Ok(7), Err(Error::Limited)]
    );
    assert_eq!([run(inner::own(7)), run(inner::own(7))], [Ok(7), Err(Error::Limited)]);
}
