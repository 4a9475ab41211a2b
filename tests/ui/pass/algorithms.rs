#[path = "../support.rs"]
#[allow(dead_code)]
mod support;

use std::time::{Duration, SystemTime};

use rate_limit::limit_per_time;
use support::{Error, run};

const CAPACITY: u32 = 1;
const REFILL: Duration = Duration::from_secs(3600);

#[limit_per_time(algorithm = token_bucket, capacity = 1, refill = "1h", key = user)]
async fn bucket(user: u64) -> Result<u64, Error> {
    Ok(user)
}

#[limit_per_time(key = user, refill = REFILL, capacity = CAPACITY, algorithm = token_bucket, block = REFILL)]
async fn bucket_of_constants(user: u64) -> Result<u64, Error> {
    Ok(user)
}

#[limit_per_time(algorithm = token_bucket, capacity = 1, refill = "1h", key = user, at = made)]
async fn bucket_by_time(user: u64, made: SystemTime) -> Result<u64, Error> {
    Ok(user)
}

#[limit_per_time(algorithm = token_bucket, capacity = 1, refill = "1h", key = user, refund_on_success)]
async fn refunded(user: u64, right: bool) -> Result<u64, Error> {
    if right { Ok(user) } else { Err(Error::Wrong) }
}

#[limit_per_time(1, "1000d", algorithm = fixed_window, key = user)]
async fn fixed(user: u64) -> Result<u64, Error> {
    Ok(user)
}

#[limit_per_time(count = CAPACITY, window = REFILL, algorithm = sliding_window, key = user, block = "2h")]
async fn sliding(user: u64) -> Result<u64, Error> {
    Ok(user)
}

#[limit_per_time(9, "1h", key = user)]
#[limit_per_time(algorithm = token_bucket, capacity = 1, refill = "1h", key = user)]
async fn both(user: u64) -> Result<u64, Error> {
    Ok(user)
}

fn main() {
    assert_eq!([run(bucket(7)), run(bucket(7))], [Ok(7), Err(Error::Limited)]);
    assert_eq!(
        [run(bucket_of_constants(7)), run(bucket_of_constants(7))],
        [Ok(7), Err(Error::Limited)]
    );
    let now = SystemTime::now();
    assert_eq!(
        [run(bucket_by_time(7, now)), run(bucket_by_time(7, now))],
        [Ok(7), Err(Error::Limited)]
    );
    assert_eq!(
        [run(refunded(7, true)), run(refunded(7, false))],
        [Ok(7), Err(Error::Wrong)]
    );
    assert_eq!(run(refunded(7, true)), Err(Error::Limited));
    assert_eq!([run(fixed(7)), run(fixed(7))], [Ok(7), Err(Error::Limited)]);
    assert_eq!([run(sliding(7)), run(sliding(7))], [Ok(7), Err(Error::Limited)]);
    assert_eq!([run(both(7)), run(both(7))], [Ok(7), Err(Error::Limited)]);
}
