#![allow(async_fn_in_trait)]

use rate_limit::{Rejection, limit_per_time};

trait Api<T> {
    async fn login(&self, user: T) -> Result<T, Rejection>;
}

struct Portal;

#[limit_per_time(key = user)]
impl Api<u64> for Portal {
    async fn login(&self, user: u64) -> Result<u64, Rejection> {
        Ok(user)
    }
}

fn main() {
    let _ = Portal.login(7);
}
