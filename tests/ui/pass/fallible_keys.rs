#[path = "../support.rs"]
#[allow(dead_code)]
mod support;

use rate_limit::limit_per_time;
use support::{Error, run};

#[limit_per_time(1, "1h", key = user.ok_or(Error::Wrong)?)]
async fn plain(user: Option<u64>) -> Result<u64, Error> {
    Ok(user.unwrap_or_default())
}

#[limit_per_time(1, "1h", key = (id.parse::<u64>()?, "id"), reset_on_success)]
async fn settled(id: &str, valid: bool) -> Result<(), Failure> {
    if valid { Ok(()) } else { Err(Failure(Error::Wrong)) }
}

#[derive(Debug, PartialEq)]
struct Failure(Error);

impl<E: Into<Cause>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.into().0)
    }
}

struct Cause(Error);

impl From<std::num::ParseIntError> for Cause {
    fn from(_: std::num::ParseIntError) -> Self {
        Self(Error::Wrong)
    }
}

impl From<rate_limit::Rejection> for Cause {
    fn from(rejection: rate_limit::Rejection) -> Self {
        Self(rejection.into())
    }
}

fn main() {
    // No key, so nobody is charged.
    assert_eq!(
        [run(plain(None)), run(plain(None))],
        [Err(Error::Wrong), Err(Error::Wrong)]
    );
    assert_eq!([run(plain(Some(7))), run(plain(Some(7)))], [Ok(7), Err(Error::Limited)]);

    assert_eq!(run(settled("x", true)), Err(Failure(Error::Wrong)));
    assert_eq!([run(settled("7", true)), run(settled("7", true))], [Ok(()), Ok(())]);
    assert_eq!(
        [run(settled("7", false)), run(settled("07", true))],
        [Err(Failure(Error::Wrong)), Err(Failure(Error::Limited))]
    );
}
