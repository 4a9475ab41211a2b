//! rack-attack, Rails, nginx, fail2ban, and limiters of Go.
use rate_limit::{Rejection, limit_per_time};

#[limit_per_time(to: 10, window = "3m", key = user)]
async fn f0(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(count = 10, within: "3m", key = user)]
async fn f1(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(count = 10, within = "3m", key = user)]
async fn f2(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(10, 3.minutes, key = user)]
async fn f3(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", by = user)]
async fn f4(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", by: user)]
async fn f5(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, with = respond)]
async fn f6(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, only = login)]
async fn f7(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", discriminator = user)]
async fn f8(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(maxretry = 5, window = "10m", key = user)]
async fn f9(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(count = 5, findtime = "10m", key = user)]
async fn f10(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "10m", key = user, bantime = "1h")]
async fn f11(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "10m", key = user, safelist = user == 1)]
async fn f12(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "10m", key = user, blocklist = user == 1)]
async fn f13(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, every = "1m", key = user)]
async fn f14(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(10r/s, key = user)]
async fn f15(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, zone = "login")]
async fn f16(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, nodelay)]
async fn f17(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, dry_run)]
async fn f18(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(rate: "10r/s", key = user)]
async fn f19(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, redis = pool)]
async fn f20(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

fn main() {}
