#[path = "../support.rs"]
#[allow(dead_code)]
mod support;

use std::time::Duration;

use rate_limit::limit_per_time;
use support::{Error, run};

const COUNT: u32 = 1;
const HOUR: Duration = Duration::from_secs(3600);

mod numbers {
    pub(crate) const fn count(of: usize) -> u32 {
        of as u32
    }
}

#[limit_per_time(COUNT, HOUR, key = user)]
async fn constants(user: u64) -> Result<u64, Error> {
    Ok(user)
}

#[limit_per_time(count = numbers::count([7].len()), window = HOUR.saturating_mul(2), key = user)]
async fn calls(user: u64) -> Result<u64, Error> {
    Ok(user)
}

#[limit_per_time(numbers::count(1), Duration::from_millis(3_600_000), key = user)]
async fn calls_by_position(user: u64) -> Result<u64, Error> {
    Ok(user)
}

#[limit_per_time(2 - COUNT, "1h", key = user, reset_on_success)]
async fn arithmetic(user: u64) -> Result<u64, Error> {
    if user == 0 { Err(Error::Wrong) } else { Ok(user) }
}

#[limit_per_time(if cfg!(all()) { 1 } else { 100 }, "1h", key = user)]
async fn branches(user: u64) -> Result<u64, Error> {
    Ok(user)
}

#[limit_per_time(1_u32, "1h", key = user)]
async fn suffix(user: u64) -> Result<u64, Error> {
    Ok(user)
}

#[limit_per_time(N, "1h", key = user)]
async fn parameter<const N: u32>(user: u64) -> Result<u64, Error> {
    Ok(user)
}

struct Portal;

trait Numbers {
    const COUNT: u32;
    const WINDOW: Duration = HOUR;
}

impl Numbers for Portal {
    const COUNT: u32 = 1;
}

impl Portal {
    const LIMIT: u32 = 1;

    #[limit_per_time(Self::LIMIT, <Self as Numbers>::WINDOW, key = user)]
    async fn associated(user: u64) -> Result<u64, Error> {
        Ok(user)
    }
}

#[limit_per_time(P::COUNT, P::WINDOW, key = user)]
async fn of_a_parameter<P: Numbers>(user: u64) -> Result<u64, Error> {
    Ok(user)
}

#[limit_per_time(key = user)]
async fn defaults(user: u64) -> Result<u64, Error> {
    Ok(user)
}

fn main() {
    macro_rules! check {
        ($($handler:expr;)*) => {$(
            assert_eq!([run($handler(7)), run($handler(7))], [Ok(7), Err(Error::Limited)], stringify!($handler));
        )*};
    }
    check! {
        constants;
        calls;
        calls_by_position;
        branches;
        suffix;
        parameter::<1>;
        Portal::associated;
        of_a_parameter::<Portal>;
    }
    assert_eq!([run(arithmetic(7)), run(arithmetic(7))], [Ok(7), Ok(7)]);
    assert_eq!(
        [run(arithmetic(0)), run(arithmetic(0))],
        [Err(Error::Wrong), Err(Error::Limited)]
    );
    for _ in 0..5 {
        assert_eq!(run(defaults(7)), Ok(7));
    }
    assert_eq!(run(defaults(7)), Err(Error::Limited));
}
