use rate_limit::{Rejection, limit_per_time};

struct Portal;

#[limit_per_time(exempt)]
impl Portal {
    async fn health(&self) -> Result<u64, Rejection> {
        Ok(7)
    }
}

fn main() {
    let _ = Portal.health();
}
