use rate_limit::{Rejection, limit_per_time};

struct Portal;

impl Portal {
    #[limit_per_time(exempt)]
    async fn health(&self) -> Result<u64, Rejection> {
        Ok(7)
    }
}

fn main() {
    let _ = Portal.health();
}
