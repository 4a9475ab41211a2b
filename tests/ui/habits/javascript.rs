//! express-rate-limit, the throttler of Nest, and rate-limiter-flexible.
use rate_limit::{Rejection, limit_per_time};

#[limit_per_time(windowMs = 60_000, count = 5, key = user)]
async fn f0(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(window_ms = 15 * 60 * 1000, count = 5, key = user)]
async fn f1(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, 15 * 60 * 1000, key = user)]
async fn f2(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(max: 5, window = "1m", key = user)]
async fn f3(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(limit: 5, key = user)]
async fn f4(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(count = 5, ttl: 60, key = user)]
async fn f5(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(points = 5, window = "1m", key = user)]
async fn f6(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(count = 5, duration = 60, key = user)]
async fn f7(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(count = 5, window = "1m", key = user, blockDuration = 1800)]
async fn f8(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time({ limit: 5, ttl: 60 })]
async fn f9(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", keyGenerator = |req| req.ip)]
async fn f10(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key_prefix = "login", key = user)]
async fn f11(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, skip = |req| req.is_admin)]
async fn f12(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, skip_successful_requests = true)]
async fn f13(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, skipFailedRequests = true)]
async fn f14(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, message = "too many")]
async fn f15(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, status_code = 429)]
async fn f16(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, handler = respond)]
async fn f17(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, store = RedisStore::new())]
async fn f18(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, standard_headers = true)]
async fn f19(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = "${user}")]
async fn f20(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", get_tracker = user)]
async fn f21(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, insurance_limiter = memory)]
async fn f22(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

fn main() {}
