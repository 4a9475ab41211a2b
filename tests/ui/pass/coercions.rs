#[path = "../support.rs"]
#[allow(dead_code)]
mod support;

use std::error::Error as StdError;
use std::fmt::Display;

use rate_limit::{Rejection, limit_per_time};
use support::run;

type Boxed = Box<dyn StdError + Send + Sync>;

#[limit_per_time(1, "1h", key = user)]
async fn plain(user: u64) -> Result<Box<dyn Display>, Box<dyn StdError>> {
    if user == 0 {
        return Err(Box::new(std::fmt::Error));
    }
    "7".parse::<u64>()?;
    Ok(Box::new(user))
}

#[limit_per_time(1, "1h", key = user, reset_on_success)]
async fn settled(user: u64) -> Result<Box<dyn Display>, Boxed> {
    if user == 0 {
        return Err(Box::new(std::fmt::Error));
    }
    if user == 1 {
        Err("wrong")?;
    }
    "7".parse::<u64>()?;
    Ok(Box::new(user))
}

#[limit_per_time(1, "1h", key = user, reset_on_success, on_limit = |_| Box::new("later"))]
async fn whole(user: u64) -> Box<dyn Display> {
    Box::new(user)
}

#[limit_per_time(1, "1h", key = user, reset_on_success)]
async fn slices(user: u64) -> Result<&'static [u8], Boxed> {
    if user == 0 { Ok(&[1]) } else { Ok(&[1, 2]) }
}

#[limit_per_time(1, "1h", key = user, reset_on_success)]
async fn functions(user: u64) -> Result<fn(u64) -> u64, Boxed> {
    if user == 0 {
        return Ok(|user| user + 1);
    }
    Ok(u64::reverse_bits)
}

fn is_limited<E: AsRef<dyn StdError>>(error: Option<E>) -> bool {
    error.is_some_and(|error| {
        error
            .as_ref()
            .downcast_ref::<Rejection>()
            .is_some_and(Rejection::is_limited)
    })
}

fn main() {
    assert_eq!(
        run(plain(7)).ok().map(|answer| answer.to_string()).as_deref(),
        Some("7")
    );
    assert!(is_limited(run(plain(7)).err()));

    for _ in 0..2 {
        assert_eq!(
            run(settled(7)).ok().map(|answer| answer.to_string()).as_deref(),
            Some("7")
        );
    }
    for user in [0, 1] {
        assert!(!run(settled(user)).err().is_some_and(|error| error.is::<Rejection>()));
        assert!(run(settled(user)).err().is_some_and(|error| error.is::<Rejection>()));
    }
    assert_eq!([run(whole(7)).to_string(), run(whole(7)).to_string()], ["7", "7"]);
    assert_eq!(run(slices(0)).ok(), Some(&[1_u8][..]));
    assert_eq!(run(functions(0)).ok().map(|function| function(1)), Some(2));
}
