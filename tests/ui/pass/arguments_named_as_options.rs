#![deny(unused)]

#[path = "../support.rs"]
#[allow(dead_code)]
mod support;

use rate_limit::limit_per_time;
use support::{Error, run};

struct Window {
    id: u64,
}

#[limit_per_time(1, "1h", key = count)]
async fn count(count: u64) -> Result<u64, Error> {
    Ok(count)
}

#[limit_per_time(1, "1h", key = window.id)]
async fn window(window: Window) -> Result<u64, Error> {
    Ok(window.id)
}

#[limit_per_time(1, "1h", key = (key, name, reset_on_success))]
async fn options(key: u64, name: &str, reset_on_success: bool) -> Result<String, Error> {
    Ok(format!("{key} {name} {reset_on_success}"))
}

// What the expansion calls its own values.
#[allow(non_snake_case)]
#[limit_per_time(1, "1h", key = (__key, &client, __ignored1), reset_on_success)]
async fn internals(
    key: u64,
    _: String,
    client: String,
    call: u8,
    permit: u16,
    admitted: &str,
    rejection: i8,
    out: [u8; 1],
    kept: char,
    body: bool,
    limiter: i64,
    __rate_limit: u32,
    here: (),
    types: u128,
    __key: u8,
    __ignored1: u8,
    valid: bool,
) -> Result<String, Error> {
    if !valid {
        return Err(Error::Wrong);
    }
    Ok(format!(
        "{key} {client} {call} {permit} {admitted} {rejection} {out:?} {kept} {body} {limiter} {__rate_limit} {here:?} {types} {__key}"
    ))
}

fn main() {
    assert_eq!([run(count(7)), run(count(7))], [Ok(7), Err(Error::Limited)]);
    assert_eq!(
        [run(window(Window { id: 7 })), run(window(Window { id: 7 }))],
        [Ok(7), Err(Error::Limited)]
    );
    assert_eq!(
        [run(options(7, "a", true)), run(options(7, "a", true))],
        [Ok("7 a true".into()), Err(Error::Limited)]
    );

    let internals = |valid| {
        run(internals(
            1,
            String::new(),
            "2".into(),
            3,
            4,
            "5",
            6,
            [7],
            '8',
            true,
            10,
            11,
            (),
            12,
            13,
            14,
            valid,
        ))
    };
    let answer = || Ok("1 2 3 4 5 6 [7] 8 true 10 11 () 12 13".to_owned());
    assert_eq!(
        [internals(true), internals(true), internals(false), internals(true)],
        [answer(), answer(), Err(Error::Wrong), Err(Error::Limited)]
    );
}
