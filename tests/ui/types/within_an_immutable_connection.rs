use rate_limit::{Rejection, limit_per_time};
use sqlx::Sqlite;
use sqlx::pool::PoolConnection;

#[limit_per_time(algorithm = token_bucket, capacity = 3, refill = "50s", key = member, within = connection)]
async fn count_read(connection: PoolConnection<Sqlite>, member: u64) -> Result<(), Rejection> {
    Ok(())
}

fn main() {}
