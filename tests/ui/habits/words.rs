//! Words, flags, quotes and closures in another form.
use rate_limit::{Rejection, limit_per_time};

#[limit_per_time(5, "1m", key = user, on_store_error = "closed")]
async fn f0(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, on_store_error = allow)]
async fn f1(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, on_store_error = deny)]
async fn f2(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, on_store_error = fail_open)]
async fn f3(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, on_store_error = fail_closed)]
async fn f4(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, on_store_error = fallback)]
async fn f5(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, on_store_error = memory)]
async fn f6(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, on_store_error = OnStoreError::Closed)]
async fn f7(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, on_store_error = |error| true)]
async fn f8(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, on_error = closed)]
async fn f9(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, algorithm = "token_bucket")]
async fn f10(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, algorithm = leaky_bucket)]
async fn f11(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, algorithm = sliding_log)]
async fn f12(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, algorithm = sliding_window_counter)]
async fn f13(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, algorithm = fixed)]
async fn f14(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, algorithm = tokens)]
async fn f15(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, algorithm = banana)]
async fn f16(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(policy = login, key = user)]
async fn f17(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, name = login)]
async fn f18(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, name = "")]
async fn f19(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, name = 7)]
async fn f20(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, permit = "permit")]
async fn f21(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, permit = self.permit)]
async fn f22(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, crate = "my_base::limits")]
async fn f23(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, crate = 7)]
async fn f24(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, reset_on_success = true)]
async fn f25(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, reset_on_success = false)]
async fn f26(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, reset_on_success())]
async fn f27(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, observe = true)]
async fn f28(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, reset_on_failure)]
async fn f29(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, refund_on_failure)]
async fn f30(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, reset_on_sucess)]
async fn f31(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, exempt)]
async fn f32(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, exempt = true)]
async fn f33(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, on_limit = None)]
async fn f34(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, on_limit = Err(Error::Busy))]
async fn f35(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, on_limit = 0)]
async fn f36(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, on_limit = "later")]
async fn f37(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, on_limit = format!("later"))]
async fn f38(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, on_limit = || 0)]
async fn f39(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, on_limit: |_, _| 0)]
async fn f40(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, success = true)]
async fn f41(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, success = "out.is_ok()")]
async fn f42(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, reset_on_success, success = || true)]
async fn f43(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, success = Ok(()))]
async fn f44(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, skip_if = || user == 0)]
async fn f45(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, skip_if = |user| user == 0)]
async fn f46(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, skip_if = "user.is_admin")]
async fn f47(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, deny_if = |user| user == 0)]
async fn f48(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, cost = |user| 3)]
async fn f49(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, cost = "3")]
async fn f50(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, limiter = || app.limiter)]
async fn f51(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, limiter = "redis://localhost")]
async fn f52(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, at = "now")]
async fn f53(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, banana = 3)]
async fn f54(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, banana)]
async fn f55(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, fallback = busy)]
async fn f56(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, when = user == 0)]
async fn f57(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, weight = 3)]
async fn f58(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, timeout = "1s")]
async fn f59(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, backend = redis)]
async fn f60(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, unless = user == 0)]
async fn f61(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, prefix = "login")]
async fn f62(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, status = 429)]
async fn f63(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(cuont = 3, key = user)]
async fn f64(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

#[limit_per_time(5, "1m", key = user, blok = "30m")]
async fn f65(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

struct Api;

#[limit_per_time(5, "1s", key = 7)] // right
impl Api {
    #[limit_per_time(exempt,)] // right
    async fn health(&self) -> Result<u64, Rejection> {
        Ok(7)
    }
    #[limit_per_time(skip)]
    async fn ready(&self) -> Result<u64, Rejection> {
        Ok(7)
    }
}

fn main() {}
