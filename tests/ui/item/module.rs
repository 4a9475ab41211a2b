use rate_limit::limit_per_time;

#[limit_per_time(5, "10m", key = user)]
mod login {
    pub(crate) const USER: u64 = 7;
}

fn main() {
    let _ = login::USER;
}
