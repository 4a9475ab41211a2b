#[path = "../support.rs"]
#[allow(dead_code)]
mod support;

use rate_limit::limit_per_time;
use rate_limit::limit_per_time as other;
use support::{Error, run};

#[limit_per_time(1, "1h", key = user)]
/// With a comment between.
#[inline]
#[rate_limit::limit_per_time(3, "1d", key = "everybody")]
async fn checked(user: u64) -> Result<u64, Error> {
    Ok(user)
}

#[limit_per_time(2, "1h", key = user, reset_on_success)]
#[cfg_attr(all(), limit_per_time(3, "1d", key = user, refund_on_success))]
#[cfg_attr(any(), limit_per_time(1, "1d", key = "nobody"))]
async fn settled(user: u64, right: bool) -> Result<u64, Error> {
    if right { Ok(user) } else { Err(Error::Wrong) }
}

/// The second name is above all the others, and takes them with it.
#[other(9, "1h", key = user)]
#[limit_per_time(8, "1h", key = user, name = "stacked")]
#[limit_per_time(1, "1d", key = user, on_limit = |_| 0)]
async fn over_an_alias(user: u64) -> u64 {
    user
}

#[limit_per_time(8, "1m", key = user)]
#[limit_per_time(7, "2m", key = user)]
#[limit_per_time(6, "3m", key = user)]
#[limit_per_time(5, "4m", key = user)]
#[limit_per_time(4, "5m", key = user)]
#[limit_per_time(3, "6m", key = user)]
#[limit_per_time(2, "7m", key = user)]
#[limit_per_time(1, "8m", key = user)]
async fn eight(user: u64) -> Result<u64, Error> {
    Ok(user)
}

macro_rules! limited {
    ($(#[$attr:meta])* $name:ident($user:ident), $count:literal) => {
        $(#[$attr])*
        #[limit_per_time($count, "1d", key = $user)]
        async fn $name($user: u64) -> Result<u64, Error> {
            Ok($user)
        }
    };
}
limited!(
    #[limit_per_time(1, "1h", key = user)]
    by_macro_rules(user),
    9
);

struct Portal;

impl Portal {
    #[limit_per_time(9, "1h", key = user)]
    #[limit_per_time(1, "1h", key = user)]
    async fn login(&self, user: u64) -> Result<u64, Error> {
        Ok(user)
    }
}

fn main() {
    assert_eq!([run(checked(1)), run(checked(1))], [Ok(1), Err(Error::Limited)]);
    assert_eq!(
        [run(checked(2)), run(checked(3))],
        [Ok(2), Ok(3)],
        "the refused call was not charged"
    );
    assert_eq!(run(checked(4)), Err(Error::Limited));

    let wrong = || run(settled(7, false));
    assert_eq!(
        [run(settled(7, true)), run(settled(7, true)), wrong()],
        [Ok(7), Ok(7), Err(Error::Wrong)]
    );
    assert_eq!(
        [run(settled(7, true)), wrong(), wrong()],
        [Ok(7), Err(Error::Wrong), Err(Error::Wrong)]
    );
    assert_eq!(run(settled(7, true)), Err(Error::Limited), "three failures in a day");

    assert_eq!([run(over_an_alias(7)), run(over_an_alias(7))], [7, 0]);
    assert_eq!([run(eight(7)), run(eight(7))], [Ok(7), Err(Error::Limited)]);
    assert_eq!(
        [run(by_macro_rules(7)), run(by_macro_rules(7))],
        [Ok(7), Err(Error::Limited)]
    );
    assert_eq!(
        [run(Portal.login(7)), run(Portal.login(7))],
        [Ok(7), Err(Error::Limited)]
    );
}
