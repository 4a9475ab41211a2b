use std::future::Future;

use rate_limit::{Rejection, limit_per_time};

type Answer = Result<u64, Rejection>;

#[limit_per_time(5, "10m", key = user)]
fn login(user: u64) -> impl Future<Output = Answer> {
    async move {
        let user = user
        Ok(user)
    }
}

#[limit_per_time(5, "10m", key = user)]
fn logout(user: u64) -> impl Future<Output = Answer> {
    let doubled = user * 2
    let user = doubled - user;
    async move { Ok(user) }
}

fn main() {
    let _ = login(7);
    let _ = logout(7);
}
