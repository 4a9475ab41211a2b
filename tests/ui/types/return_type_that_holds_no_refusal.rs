use rate_limit::limit_per_time;

#[limit_per_time(5, "10m", key = user)]
async fn login(user: u64) -> String {
    user.to_string()
}

fn main() {
    let _ = login(7);
}
