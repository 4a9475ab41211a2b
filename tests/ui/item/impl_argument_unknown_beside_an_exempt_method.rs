use rate_limit::{Rejection, limit_per_time};

struct Portal;

#[limit_per_time(5, "10m", kee = user)]
impl Portal {
    async fn login(&self, user: u64) -> Result<u64, Rejection> {
        Ok(user)
    }

    #[limit_per_time(exempt)]
    async fn health(&self) -> Result<u64, Rejection> {
        Ok(7)
    }
}

fn main() {
    let _ = (Portal.login(7), Portal.health());
}
