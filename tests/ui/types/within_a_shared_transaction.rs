use rate_limit::{Rejection, limit_per_time};
use sqlx::{Postgres, Transaction};

#[limit_per_time(algorithm = token_bucket, capacity = 3, refill = "50s", key = member, within = tx)]
async fn count_read(tx: &Transaction<'_, Postgres>, member: u64) -> Result<(), Rejection> {
    Ok(())
}

fn main() {}
