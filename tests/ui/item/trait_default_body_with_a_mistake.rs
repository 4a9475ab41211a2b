#![allow(async_fn_in_trait)]

use rate_limit::{Rejection, limit_per_time};

#[limit_per_time(2, "1s", key = usr)]
trait Api {
    async fn login(&self, user: u64) -> Result<u64, Rejection> {
        Ok(user)
    }

    async fn logout(&self, user: u64) -> Result<u64, Rejection> {
        Ok(user)
    }
}

struct Portal;

impl Api for Portal {}

fn main() {
    let _ = (Portal.login(7), Portal.logout(7));
}
