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

/// A limited function.
trait Limited {
    const LIMIT: u32;

    async fn call(client: u64, calls: u32) -> Result<(), Rejection>;
}

macro_rules! limited {
    ($($name:ident: $limit:literal,)*) => {$(
        struct $name;

        impl Limited for $name {
            const LIMIT: u32 = $limit;

            #[limit_per_time($limit, "1h", key = client, cost = calls)]
            async fn call(client: u64, calls: u32) -> Result<(), Rejection> {
                Ok(())
            }
        }
    )*};
}

limited! {
    Five: 5,
    Hundred: 100,
    TenThousand: 10_000,
}

/// Numbers that have counters of their own.
struct Generic<const LIMIT: u32>;

impl<const LIMIT: u32> Limited for Generic<LIMIT> {
    const LIMIT: u32 = LIMIT;

    #[limit_per_time(count = LIMIT, window = "1h", key = client, cost = calls)]
    async fn call(client: u64, calls: u32) -> Result<(), Rejection> {
        Ok(())
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [traffic, limit, calls] = &arguments[..] else {
        panic!("usage: rate-limit-instructions TRAFFIC LIMIT CALLS");
    };
    let calls = calls.parse().expect("CALLS is a number");
    match &limit[..] {
        "5" => run::<Five>(traffic, calls),
        "100" => run::<Hundred>(traffic, calls),
        "10000" => run::<TenThousand>(traffic, calls),
        "generic" => run::<Generic<100>>(traffic, calls),
        _ => panic!("LIMIT is 5, 100, 10000 or generic"),
    }
}

fn run<L: Limited>(traffic: &str, calls: u64) {
    // What is found once is found before anything is counted: the clock for one measures the counter of the processor in the first two
    // periods of 100 ms, and goes by the kernel's clock until then.
    for first in 0..4 {
        now(L::call(u64::MAX - first, 1)).expect("it is the first");
        thread::sleep(Duration::from_millis(110));
    }
    let (admitted, meant) = match traffic {
        // The next comes when he has made as many calls as are admitted.
        "one-admitted" => (counted::<L>(calls, |call| call / u64::from(L::LIMIT)), calls),
        "one-refused" => {
            now(L::call(0, L::LIMIT)).expect("it fits");
            (counted::<L>(calls, |_| 0), 0)
        }
        "many-admitted" => {
            admitted::<L>(MANY, |client| client);
            (counted::<L>(calls, |call| call % MANY), calls)
        }
        _ => panic!("TRAFFIC is one-admitted, one-refused or many-admitted"),
    };
    assert_eq!(admitted, meant, "other decisions were counted than are meant to be");
}

/// As [`admitted`], by a name under which the instructions are counted.
#[inline(never)]
fn counted<L: Limited>(calls: u64, client: impl Fn(u64) -> u64) -> u64 {
    admitted::<L>(calls, client)
}

/// Makes calls, each of a client, and tells how many were admitted.
fn admitted<L: Limited>(calls: u64, client: impl Fn(u64) -> u64) -> u64 {
    (0..calls)
        .map(|each| u64::from(now(L::call(client(each), 1)).is_ok()))
        .sum()
}

/// Runs a future that never waits, with no runtime.
fn now<T>(future: impl Future<Output = T>) -> T {
    match std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a decision of the embedded store does not wait"),
    }
}
