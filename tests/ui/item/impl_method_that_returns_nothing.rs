use rate_limit::{Rejection, limit_per_time};

struct Portal;

#[limit_per_time(5, "10m", key = user)]
impl Portal {
    async fn login(&self, user: u64) -> Result<u64, Rejection> {
        Ok(user)
    }

    async fn logout(&self, user: u64) {
        drop(user);
    }

    async fn delete(&self, user: u64) -> Result<u64, Rejection> {
        Ok(user)
    }
}

fn main() {
    let _ = (Portal.login(7), Portal.logout(7), Portal.delete(7));
}
