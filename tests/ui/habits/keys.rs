//! Keys in another form.
use std::net::IpAddr;

use rate_limit::{Rejection, limit_per_time};

struct Form {
    user: u64,
}

#[limit_per_time(key = user, ip)]
async fn f0(form: Form, ip: IpAddr) -> Result<u64, Rejection> {
    Ok(form.user + u64::from(ip.is_ipv4()))
}

#[limit_per_time(key = form.user, ip)]
async fn f1(form: Form, ip: IpAddr) -> Result<u64, Rejection> {
    Ok(form.user + u64::from(ip.is_ipv4()))
}

#[limit_per_time(key = form.user, form.user)]
async fn f2(form: Form, ip: IpAddr) -> Result<u64, Rejection> {
    Ok(form.user + u64::from(ip.is_ipv4()))
}

#[limit_per_time(key = (form.user, ip), form.user)]
async fn f3(form: Form, ip: IpAddr) -> Result<u64, Rejection> {
    Ok(form.user + u64::from(ip.is_ipv4()))
}

#[limit_per_time(5, "1m", user)]
async fn f4(form: Form, ip: IpAddr) -> Result<u64, Rejection> {
    Ok(form.user + u64::from(ip.is_ipv4()))
}

#[limit_per_time(5, "1m", form.user)]
async fn f5(form: Form, ip: IpAddr) -> Result<u64, Rejection> {
    Ok(form.user + u64::from(ip.is_ipv4()))
}

#[limit_per_time(key: form.user)]
async fn f6(form: Form, ip: IpAddr) -> Result<u64, Rejection> {
    Ok(form.user + u64::from(ip.is_ipv4()))
}

#[limit_per_time(key(form.user))]
async fn f7(form: Form, ip: IpAddr) -> Result<u64, Rejection> {
    Ok(form.user + u64::from(ip.is_ipv4()))
}

#[limit_per_time(key == form.user)]
async fn f8(form: Form, ip: IpAddr) -> Result<u64, Rejection> {
    Ok(form.user + u64::from(ip.is_ipv4()))
}

#[limit_per_time(key = |form| form.user)]
async fn f9(form: Form, ip: IpAddr) -> Result<u64, Rejection> {
    Ok(form.user + u64::from(ip.is_ipv4()))
}

#[limit_per_time(key = |req: &Request| req.ip())]
async fn f10(form: Form, ip: IpAddr) -> Result<u64, Rejection> {
    Ok(form.user + u64::from(ip.is_ipv4()))
}

#[limit_per_time(key = || { form.user })]
async fn f11(form: Form, ip: IpAddr) -> Result<u64, Rejection> {
    Ok(form.user + u64::from(ip.is_ipv4()))
}

#[limit_per_time(key_by = form.user)]
async fn f12(form: Form, ip: IpAddr) -> Result<u64, Rejection> {
    Ok(form.user + u64::from(ip.is_ipv4()))
}

#[limit_per_time(client = form.user)]
async fn f13(form: Form, ip: IpAddr) -> Result<u64, Rejection> {
    Ok(form.user + u64::from(ip.is_ipv4()))
}

#[limit_per_time(key = "form.user")]
async fn f14(form: Form, ip: IpAddr) -> Result<u64, Rejection> {
    Ok(form.user + u64::from(ip.is_ipv4()))
}

#[limit_per_time(key = "form.user", reset_on_success)]
async fn f15(form: Form, ip: IpAddr) -> Result<u64, Rejection> {
    Ok(form.user + u64::from(ip.is_ipv4()))
}

#[limit_per_time(key = "{ip}")]
async fn f16(form: Form, ip: IpAddr) -> Result<u64, Rejection> {
    Ok(form.user + u64::from(ip.is_ipv4()))
}

#[limit_per_time(key = "{form.user}")]
async fn f17(form: Form, ip: IpAddr) -> Result<u64, Rejection> {
    Ok(form.user + u64::from(ip.is_ipv4()))
}

#[limit_per_time(key = "login:{ip}")]
async fn f18(form: Form, ip: IpAddr) -> Result<u64, Rejection> {
    Ok(form.user + u64::from(ip.is_ipv4()))
}

#[limit_per_time(key = (ip, "form.user"))]
async fn f19(form: Form, ip: IpAddr) -> Result<u64, Rejection> {
    Ok(form.user + u64::from(ip.is_ipv4()))
}

#[limit_per_time(key = "${form.user}")]
async fn f20(form: Form, ip: IpAddr) -> Result<u64, Rejection> {
    Ok(form.user + u64::from(ip.is_ipv4()))
}

#[limit_per_time(key = String::from("form.user"))]
async fn f21(form: Form, ip: IpAddr) -> Result<u64, Rejection> {
    Ok(form.user + u64::from(ip.is_ipv4()))
}

#[limit_per_time(key = "ip".to_string())]
async fn f22(form: Form, ip: IpAddr) -> Result<u64, Rejection> {
    Ok(form.user + u64::from(ip.is_ipv4()))
}

#[limit_per_time(key = format!("ip"))]
async fn f23(form: Form, ip: IpAddr) -> Result<u64, Rejection> {
    Ok(form.user + u64::from(ip.is_ipv4()))
}

#[limit_per_time(key = stringify!(form.user))]
async fn f24(form: Form, ip: IpAddr) -> Result<u64, Rejection> {
    Ok(form.user + u64::from(ip.is_ipv4()))
}

#[limit_per_time(key = concat!("ip"))]
async fn f25(form: Form, ip: IpAddr) -> Result<u64, Rejection> {
    Ok(form.user + u64::from(ip.is_ipv4()))
}

#[limit_per_time(key = b"ip")]
async fn f26(form: Form, ip: IpAddr) -> Result<u64, Rejection> {
    Ok(form.user + u64::from(ip.is_ipv4()))
}

#[limit_per_time(key = ())]
async fn f27(form: Form, ip: IpAddr) -> Result<u64, Rejection> {
    Ok(form.user + u64::from(ip.is_ipv4()))
}

#[limit_per_time(key)]
async fn f28(form: Form, ip: IpAddr) -> Result<u64, Rejection> {
    Ok(form.user + u64::from(ip.is_ipv4()))
}

#[limit_per_time(key =)]
async fn f29(form: Form, ip: IpAddr) -> Result<u64, Rejection> {
    Ok(form.user + u64::from(ip.is_ipv4()))
}

#[limit_per_time(key = ip reset_on_success)]
async fn f30(form: Form, ip: IpAddr) -> Result<u64, Rejection> {
    Ok(form.user + u64::from(ip.is_ipv4()))
}

#[limit_per_time(reset_on_success)]
async fn f31(form: Form, ip: IpAddr) -> Result<u64, Rejection> {
    Ok(form.user + u64::from(ip.is_ipv4()))
}

#[limit_per_time(5, "1m", key = ip, key = form.user)]
async fn f32(form: Form, ip: IpAddr) -> Result<u64, Rejection> {
    Ok(form.user + u64::from(ip.is_ipv4()))
}

#[limit_per_time(5, "1m", key = form.user, token)]
async fn key_and_a_word(form: Form, token: u64) -> Result<u64, Rejection> {
    Ok(form.user + token)
}

#[limit_per_time(5, "1m", token)]
async fn word_for_the_key(token: u64) -> Result<u64, Rejection> {
    Ok(token)
}

struct Api {
    account: u64,
}

#[limit_per_time(5, "1m", key = "self.account")]
impl Api {
    async fn grades(&self) -> Result<u64, Rejection> {
        Ok(self.account)
    }
    async fn courses(&self) -> Result<u64, Rejection> {
        Ok(self.account)
    }
}

#[limit_per_time(5, "1m", key = "user")]
trait Library {
    async fn search(&self, user: u64) -> Result<u64, Rejection> {
        Ok(user)
    }
    async fn state(&self) -> Result<u64, Rejection> {
        Ok(7)
    }
}

fn main() {}
