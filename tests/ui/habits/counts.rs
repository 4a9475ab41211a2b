//! The count and the window in another form.
use std::time::Duration;

use rate_limit::{Rejection, limit_per_time};

#[allow(non_upper_case_globals)]
const max_logins: u32 = 5;
#[allow(non_upper_case_globals)]
const login_window: Duration = Duration::from_secs(60);

#[limit_per_time("5/1m", key = user)]
async fn f0(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "5/1m", key = user)]
async fn f1(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5/minute, key = user)]
async fn f2(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5/1m, key = user)]
async fn f3(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(10 per minute, key = user)]
async fn f4(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, 10 minutes, key = user)]
async fn f5(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(window = 10 minutes, key = user)]
async fn f6(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time("10m", 5, key = user)]
async fn f7(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time("10m", count = 5, key = user)]
async fn f8(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(count = 5, "1m", key = user)]
async fn f9(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(count = "5", window = "1m", key = user)]
async fn f10(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time("5", "1m", key = user)]
async fn f11(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5.0, "1m", key = user)]
async fn f12(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(1e3, "1m", key = user)]
async fn f13(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5m, "1m", key = user)]
async fn f14(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time('5', "1m", key = user)]
async fn f15(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(count: 5, window = "1m", key = user)]
async fn f16(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(count(5), window = "1m", key = user)]
async fn f17(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(count == 5, window = "1m", key = user)]
async fn f18(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(count => 5, window = "1m", key = user)]
async fn f19(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(count := 5, window = "1m", key = user)]
async fn f20(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5; "1m"; key = user)]
async fn f21(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5 "1m", key = user)]
async fn f22(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m" key = user)]
async fn f23(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, 60, key = user)]
async fn f24(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, 10m, key = user)]
async fn f25(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(window = 10m, key = user)]
async fn f26(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, 1h30m, key = user)]
async fn f27(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, 10min, key = user)]
async fn f28(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, 500ms, key = user)]
async fn f29(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, 1.5h, key = user)]
async fn f30(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, 60 * 60, key = user)]
async fn f31(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, Duration::from_secs(0), key = user)]
async fn f32(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, Duration::ZERO, key = user)]
async fn f33(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(max_logins, "1m", key = user)]
async fn f34(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, login_window, key = user)]
async fn f35(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(limit, "1m", key = user)]
async fn f36(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(|| 5, "1m", key = user)]
async fn f37(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(limit = 5, window = "1m", key = user)]
async fn f38(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(count = 5, per = "1m", key = user)]
async fn f39(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(count = 5, seconds = 60, key = user)]
async fn f40(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(count = 5, minutes = 10, key = user)]
async fn f41(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

fn main() {}
