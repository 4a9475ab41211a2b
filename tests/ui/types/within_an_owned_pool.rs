use rate_limit::{Rejection, limit_per_time};
use sqlx::PgPool;

#[limit_per_time(algorithm = token_bucket, capacity = 3, refill = "50s", key = member, within = pool)]
async fn count_read(pool: PgPool, member: u64) -> Result<(), Rejection> {
    Ok(())
}

fn main() {}
