#![deny(unused)]

#[path = "../support.rs"]
#[allow(dead_code)]
mod support;

use rate_limit::limit_per_time;
use support::{Error, run};

#[limit_per_time(1, "1h", key = user)]
async fn plain(
    #[cfg(any())] gone: Gone,
    user: u64,
    #[cfg(all())] there: u64,
    #[allow(unused)] extra: u64,
) -> Result<u64, Error> {
    Ok(there)
}

#[limit_per_time(1, "1h", key = user, reset_on_success)]
async fn settled(
    #[cfg(any())] gone: Gone,
    user: u64,
    #[cfg(all())] there: u64,
    #[cfg(any())] _: Gone,
    #[cfg(all())] _: u64,
    #[allow(unused)] extra: u64,
) -> Result<u64, Error> {
    if there == 0 { Err(Error::Wrong) } else { Ok(there) }
}

fn main() {
    assert_eq!([run(plain(7, 8, 9)), run(plain(7, 8, 9))], [Ok(8), Err(Error::Limited)]);

    let settled = |there| run(settled(7, there, 1, 9));
    assert_eq!(
        [settled(8), settled(8), settled(0), settled(8)],
        [Ok(8), Ok(8), Err(Error::Wrong), Err(Error::Limited)]
    );
}
