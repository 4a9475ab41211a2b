//! governor, tower_governor, actix-governor, leaky-bucket, ratelimit and others of Rust.
use rate_limit::{Rejection, limit_per_time};

#[limit_per_time(per_second = 10, key = user)]
async fn f0(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(requests_per_second = 10, key = user)]
async fn f1(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(burst_size = 3, key = user)]
async fn f2(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", burst = 10, key = user)]
async fn f3(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(period = Duration::from_secs(60), count = 5, key = user)]
async fn f4(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(quota = Quota::per_second(5), key = user)]
async fn f5(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(key_extractor = PeerIpKeyExtractor)]
async fn f6(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(replenish_interval = 50, key = user)]
async fn f7(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(refill_amount = 1, key = user)]
async fn f8(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(initial_tokens = 5, key = user)]
async fn f9(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(methods = [Method::POST], key = user)]
async fn f10(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(error_handler = too_many, key = user)]
async fn f11(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, permits = 2)]
async fn f12(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, algorithm = gcra)]
async fn f13(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, algorithm = Algorithm::TokenBucket)]
async fn f14(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, jitter = 10)]
async fn f15(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, state = limiter)]
async fn f16(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

fn main() {}
