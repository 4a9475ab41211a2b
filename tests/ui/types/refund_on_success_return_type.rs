use rate_limit::limit_per_time;

#[limit_per_time(5, "10m", key = user, refund_on_success)]
async fn login(user: u64) -> u64 {
    user
}

fn main() {
    let _ = login(7);
}
