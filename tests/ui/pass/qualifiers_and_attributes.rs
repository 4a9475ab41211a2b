#![deny(warnings, missing_docs)]

//! Every attribute and qualifier of a function stays, once.

#[path = "../support.rs"]
#[allow(dead_code)]
mod support;

use rate_limit::limit_per_time;
use support::{Error, run};

/// Logs in.
///
/// # Errors
///
/// If it is wrong.
#[doc(alias = "sign_in")]
#[inline]
#[must_use]
#[limit_per_time(1, "1h", key = user)]
#[cfg(not(any()))]
#[expect(unused_variables)]
pub async fn login(user: u64) -> Result<u64, Error> {
    #![allow(clippy::unused_async)]
    let unused = 1;
    Ok(user)
}

/// Is not safe.
///
/// # Safety
///
/// None is needed.
#[limit_per_time(1, "1h", key = user, reset_on_success)]
pub(crate) async unsafe fn not_safe(user: u64) -> Result<u64, Error> {
    #![allow(unused_variables)]
    let unused = 1;
    if user == 0 { Err(Error::Wrong) } else { Ok(user) }
}

#[cfg(any())]
#[limit_per_time(1, "1h", key = missing)]
async fn gone(missing: Missing) -> Missing {}

#[deprecated]
#[limit_per_time(1, "1h", key = user)]
pub(crate) async extern "Rust" fn old(user: u64) -> Result<u64, Error> {
    Ok(user)
}

fn main() {
    assert_eq!([run(login(7)), run(login(7))], [Ok(7), Err(Error::Limited)]);
    let not_safe = |user| run(unsafe { not_safe(user) });
    assert_eq!(
        [not_safe(7), not_safe(7), not_safe(0), not_safe(0)],
        [Ok(7), Ok(7), Err(Error::Wrong), Err(Error::Limited)]
    );
    #[allow(deprecated)]
    let old = || run(old(7));
    assert_eq!([old(), old()], [Ok(7), Err(Error::Limited)]);
}
