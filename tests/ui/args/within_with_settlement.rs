use rate_limit::{Rejection, limit_per_time};
use sqlx::{Postgres, Transaction};

#[limit_per_time(algorithm = token_bucket, capacity = 3, refill = "50s", key = member, refund_on_error, within = tx)]
async fn count_read(tx: &mut Transaction<'_, Postgres>, member: u64) -> Result<(), Rejection> {
    let _ = (tx, member);
    Ok(())
}

fn main() {}
