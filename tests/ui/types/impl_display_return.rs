use std::fmt::Display;

use rate_limit::limit_per_time;

#[limit_per_time(5, "10m", key = user)]
async fn login(user: u64) -> impl Display {
    user
}

fn main() {
    let _ = login(7);
}
