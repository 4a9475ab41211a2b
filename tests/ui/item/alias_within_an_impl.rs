use rate_limit::limit_per_time as other;
use rate_limit::{Rejection, limit_per_time};

struct Portal;

#[limit_per_time(5, "10m", key = user)]
impl Portal {
    #[other(100, "1d", key = user)]
    async fn login(&self, user: u64) -> Result<u64, Rejection> {
        Ok(user)
    }
}

fn main() {
    let _ = Portal.login(7);
}
