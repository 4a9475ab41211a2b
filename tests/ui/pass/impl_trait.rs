#[path = "../support.rs"]
#[allow(dead_code)]
mod support;

use std::fmt::Display;

use rate_limit::{ToKey, limit_per_time};
use support::{Error, run};

#[limit_per_time(1, "1h", key = user)]
async fn argument(user: impl ToKey + Display) -> Result<String, Error> {
    Ok(user.to_string())
}

#[limit_per_time(1, "1h", key = user, reset_on_success)]
async fn settled_argument(user: impl ToKey + Display, valid: bool) -> Result<String, Error> {
    if valid { Ok(user.to_string()) } else { Err(Error::Wrong) }
}

#[limit_per_time(1, "1h", key = user)]
async fn nested(user: u64) -> Result<impl Display + use<>, Error> {
    Ok(user)
}

#[limit_per_time(1, "1h", key = user, reset_on_success)]
async fn settled_nested(user: u64, valid: bool) -> Result<impl Display, Error> {
    if !valid {
        return Err(Error::Wrong);
    }
    Ok(user)
}

fn main() {
    assert_eq!(
        [run(argument("7")), run(argument("7".to_owned()))],
        [Ok("7".into()), Err(Error::Limited)]
    );

    let settled = |valid| run(settled_argument(7_u8, valid));
    assert_eq!(
        [settled(true), settled(true), settled(false), settled(true)],
        [Ok("7".into()), Ok("7".into()), Err(Error::Wrong), Err(Error::Limited)]
    );

    let nested = || run(nested(7)).map(|answer| answer.to_string());
    assert_eq!([nested(), nested()], [Ok("7".into()), Err(Error::Limited)]);

    let settled = |valid| run(settled_nested(7, valid)).map(|answer| answer.to_string());
    assert_eq!(
        [settled(true), settled(true), settled(false), settled(true)],
        [Ok("7".into()), Ok("7".into()), Err(Error::Wrong), Err(Error::Limited)]
    );
}
