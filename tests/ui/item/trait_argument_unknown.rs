#![allow(async_fn_in_trait)]

use rate_limit::{Rejection, limit_per_time};

#[limit_per_time(2, "1s", kee = user)]
trait Api {
    async fn login(&self, user: u64) -> Result<u64, Rejection>;

    async fn logout(&self, user: u64) -> Result<u64, Rejection>;
}

struct Portal;

#[limit_per_time(key = user)]
impl Api for Portal {
    async fn login(&self, user: u64) -> Result<u64, Rejection> {
        Ok(user)
    }

    async fn logout(&self, user: u64) -> Result<u64, Rejection> {
        Ok(user)
    }
}

fn main() {
    let _ = (Portal.login(7), Portal.logout(7));
}
