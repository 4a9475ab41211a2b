//! The `@RateLimiter` of Spring and resilience4j, and bucket4j.
use rate_limit::{Rejection, limit_per_time};

#[limit_per_time(limit_for_period = 5, window = "1m", key = user)]
async fn f0(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(limitForPeriod = 5, window = "1m", key = user)]
async fn f1(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(count = 5, limit_refresh_period = "1s", key = user)]
async fn f2(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(count = 5, limitRefreshPeriod = "PT10M", key = user)]
async fn f3(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "PT10M", key = user)]
async fn f4(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, timeout_duration = "500ms")]
async fn f5(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, fallback_method = busy)]
async fn f6(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, fallbackMethod = "busy")]
async fn f7(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time("backend")]
async fn f8(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(name = backend, key = user)]
async fn f9(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = "#user")]
async fn f10(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = "#{#user}")]
async fn f11(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, condition = user > 0)]
async fn f12(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, unless = user == 0)]
async fn f13(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, skip_if = "#user == 0")]
async fn f14(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, cost = "user")]
async fn f15(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(capacity: 3, refill = "50s", algorithm = token_bucket, key = user)]
async fn f16(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(algorithm = token_bucket, capacity = 3, refill_tokens = 1, refill = "50s", key = user)]
async fn f17(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(algorithm = token_bucket, capacity = 3, refill_period = "1s", refill = "50s", key = user)]
async fn f18(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(bandwidth = Bandwidth::simple(5, ONE_MINUTE), key = user)]
async fn f19(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, tokens = 2)]
async fn f20(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key_resolver = user)]
async fn f21(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(permits_per_second = 2, key = user)]
async fn f22(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

fn main() {}
