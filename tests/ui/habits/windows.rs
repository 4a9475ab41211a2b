//! Lengths of time in another form.
use rate_limit::{Rejection, limit_per_time};

#[limit_per_time(5, "1w", key = user)]
async fn f0(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1.5h", key = user)]
async fn f1(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "PT10M", key = user)]
async fn f2(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1 month", key = user)]
async fn f3(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1y", key = user)]
async fn f4(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "minute", key = user)]
async fn f5(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "60", key = user)]
async fn f6(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "00:10:00", key = user)]
async fn f7(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "10min", key = user)]
async fn f8(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "10 sec", key = user)]
async fn f9(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "10M", key = user)]
async fn f10(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "30m1h", key = user)]
async fn f11(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "per minute", key = user)]
async fn f12(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "10 parsecs", key = user)]
async fn f13(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "-1m", key = user)]
async fn f14(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "10us", key = user)]
async fn f15(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "", key = user)]
async fn f16(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "0s", key = user)]
async fn f17(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "36501d", key = user)]
async fn f18(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "99999999999999999999s", key = user)]
async fn f19(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

fn main() {}
