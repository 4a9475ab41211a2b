use std::future::Future;

use rate_limit::limit_per_time;

#[limit_per_time(5, "10m", key = user)]
fn login(user: u64) -> impl Future<Output = ()> {
    async move { drop(user) }
}

fn main() {
    let _ = login(7);
}
