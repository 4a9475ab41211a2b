//! Makes decisions of the embedded store and nothing else, so that their instructions can be counted.
//!
//! ```text
//! rate-limit-instructions TRAFFIC LIMIT CALLS
//! ```

use std::future::Future;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use rate_limit::{Rejection, limit_per_time};

/// So few that each can call as often as he is measured under a limit of 5.
const MANY: u64 = 1_000;

#[limit_per_time(count = LIMIT, window = "1h", key = client, name = "call")]
async fn call<const LIMIT: u32>(client: u64) -> Result<(), Rejection> {
    Ok(())
}

#[limit_per_time(count = LIMIT, window = "1h", key = client, name = "call", cost = calls)]
async fn several_calls<const LIMIT: u32>(client: u64, calls: u32) -> Result<(), Rejection> {
    Ok(())
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [traffic, limit, calls] = &arguments[..] else {
        panic!("usage: rate-limit-instructions TRAFFIC LIMIT CALLS");
    };
    let calls = calls.parse().expect("CALLS is a number");
    match &limit[..] {
        "5" => run::<5>(traffic, calls),
        "100" => run::<100>(traffic, calls),
        "10000" => run::<10_000>(traffic, calls),
        _ => panic!("LIMIT is 5, 100 or 10000"),
    }
}

fn run<const LIMIT: u32>(traffic: &str, calls: u64) {
    // What is found once is found before anything is counted: the clock for one measures the counter of the processor in the first two
    // periods of 100 ms, and goes by the kernel's clock until then.
    for first in 0..4 {
        now(call::<LIMIT>(u64::MAX - first)).expect("it is the first");
        thread::sleep(Duration::from_millis(110));
    }
    let (admitted, meant) = match traffic {
        // The next comes when he has made as many calls as are admitted.
        "one-admitted" => (counted::<LIMIT>(calls, |call| call / u64::from(LIMIT)), calls),
        "one-refused" => {
            now(several_calls::<LIMIT>(0, LIMIT)).expect("it fits");
            (counted::<LIMIT>(calls, |_| 0), 0)
        }
        "many-admitted" => {
            admitted::<LIMIT>(MANY, |client| client);
            (counted::<LIMIT>(calls, |call| call % MANY), calls)
        }
        _ => panic!("TRAFFIC is one-admitted, one-refused or many-admitted"),
    };
    assert_eq!(admitted, meant, "other decisions were counted than are meant to be");
}

/// As [`admitted`], by a name under which the instructions are counted.
#[inline(never)]
fn counted<const LIMIT: u32>(calls: u64, client: impl Fn(u64) -> u64) -> u64 {
    admitted::<LIMIT>(calls, client)
}

/// Makes calls, each of a client, and tells how many were admitted.
fn admitted<const LIMIT: u32>(calls: u64, client: impl Fn(u64) -> u64) -> u64 {
    (0..calls)
        .map(|each| u64::from(now(call::<LIMIT>(client(each))).is_ok()))
        .sum()
}

/// Runs a future that never waits, with no runtime.
fn now<T>(future: impl Future<Output = T>) -> T {
    match std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a decision of the embedded store does not wait"),
    }
}
