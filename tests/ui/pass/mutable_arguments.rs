#![deny(warnings)]

#[path = "../support.rs"]
#[allow(dead_code)]
mod support;

use rate_limit::limit_per_time;
use support::{Error, run};

#[derive(Clone)]
struct Session {
    user: u64,
    calls: u8,
}

impl Session {
    #[limit_per_time(1, "1h", key = self.user)]
    async fn plain(mut self, mut step: u8, (mut a, b): (u8, u8)) -> Result<u8, Error> {
        self.calls += 1;
        step += self.calls;
        a += b;
        Ok(step + a)
    }

    #[limit_per_time(1, "1h", key = self.user, reset_on_success)]
    async fn settled(mut self, mut step: u8, (mut a, b): (u8, u8)) -> Result<u8, Error> {
        self.calls += 1;
        step += self.calls;
        a += b;
        if b == 0 { Err(Error::Wrong) } else { Ok(step + a) }
    }
}

fn main() {
    let session = Session { user: 7, calls: 0 };
    let plain = |b| run(session.clone().plain(1, (2, b)));
    assert_eq!([plain(3), plain(3)], [Ok(7), Err(Error::Limited)]);

    let settled = |b| run(session.clone().settled(1, (2, b)));
    assert_eq!(
        [settled(3), settled(3), settled(0), settled(3)],
        [Ok(7), Ok(7), Err(Error::Wrong), Err(Error::Limited)]
    );
}
