use rate_limit::{Rejection, limit_per_time};

trait Api {
    #[limit_per_time(5, "10m", key = user)]
    async fn login(&self, user: u64) -> Result<u64, Rejection>;
}

struct Portal;

impl Api for Portal {
    async fn login(&self, user: u64) -> Result<u64, Rejection> {
        Ok(user)
    }
}

fn main() {
    let _ = Portal.login(7);
}
