use rate_limit::{Rejection, limit_per_time};
use sqlx::MySqlPool;

#[limit_per_time(algorithm = token_bucket, capacity = 3, refill = "50s", key = member, within = pool, permit = permit)]
async fn count_read(pool: &MySqlPool, member: u64) -> Result<(), Rejection> {
    let _ = permit;
    Ok(())
}

fn main() {}
