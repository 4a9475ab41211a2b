#[path = "../support.rs"]
#[allow(dead_code)]
mod support;

use std::cell::Cell;
use std::fmt::Display;

use rate_limit::{Rejection, limit_per_time};
use support::run;

#[limit_per_time(1, "1h", key = user, on_limit = |_| ())]
async fn nothing(user: u64, runs: &Cell<u8>) {
    let _ = user;
    runs.set(runs.get() + 1);
}

#[limit_per_time(1, "1h", key = user, on_limit = |_| (), reset_on_success, success = |_| false)]
#[rustfmt::skip]
async fn settled_nothing(user: u64, runs: &Cell<u8>) -> () {
    let _ = user;
    runs.set(runs.get() + 1);
}

#[limit_per_time(1, "1h", key = user, on_limit = |rejection| rejection.policy().to_string())]
async fn opaque(user: u64) -> impl Display {
    user.to_string()
}

#[limit_per_time(1, "1h", key = user, on_limit = |_| "later".into(), reset_on_success, success = |out| out != "0")]
async fn settled_opaque(user: u64) -> impl Display {
    user.to_string()
}

#[limit_per_time(1, "1h", key = user, on_limit = |_| fallback)]
async fn argument(user: u64, fallback: u64) -> u64 {
    user.max(fallback)
}

#[limit_per_time(1, "1h", key = user, on_limit = |_| Err(format!("{user} waits")))]
async fn borrowed(user: String) -> Result<String, String> {
    Ok(user)
}

#[limit_per_time(1, "1h", key = user, on_limit = |_| Err("later".into()), reset_on_success)]
async fn settled_result(user: u64) -> Result<u64, String> {
    if user == 0 { Err("wrong".into()) } else { Ok(user) }
}

mod answers {
    pub(crate) fn none<T>(rejection: rate_limit::Rejection) -> Option<T> {
        assert!(rejection.is_limited());
        None
    }
}

#[limit_per_time(1, "1h", key = user, on_limit = crate::answers::none::<u64>)]
async fn path(user: u64) -> Option<u64> {
    Some(user)
}

#[limit_per_time(1, "1h", key = user, on_limit = Err)]
async fn constructor(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

fn main() {
    let runs = Cell::new(0);
    for _ in 0..2 {
        run(nothing(7, &runs));
    }
    assert_eq!(runs.take(), 1);
    for _ in 0..2 {
        run(settled_nothing(7, &runs));
    }
    assert_eq!(runs.take(), 1);

    let shown = || run(opaque(7)).to_string();
    assert_eq!([shown(), shown()], ["7", "1 in 1h"]);
    let shown = |user| run(settled_opaque(user)).to_string();
    assert_eq!([shown(7), shown(7), shown(0), shown(0)], ["7", "7", "0", "later"]);

    assert_eq!([run(argument(7, 1)), run(argument(7, 1))], [7, 1]);
    assert_eq!(
        [run(borrowed("a".into())), run(borrowed("a".into()))],
        [Ok("a".into()), Err("a waits".into())]
    );
    let settled = |user| run(settled_result(user));
    assert_eq!(
        [settled(7), settled(7), settled(0), settled(0)],
        [Ok(7), Ok(7), Err("wrong".into()), Err("later".into())]
    );
    assert_eq!([run(path(7)), run(path(7))], [Some(7), None]);
    assert_eq!(run(constructor(7)), Ok(7));
    assert!(run(constructor(7)).is_err_and(|rejection| rejection.is_limited()));
}
