use std::time::SystemTime;

use axum::response::IntoResponse;
use rate_limit::{Limiter, Rejection, limit_per_time};
use sqlx::pool::PoolConnection;
use sqlx::{Connection, MySql, PgConnection, Postgres, Sqlite, SqliteConnection, Transaction};

struct Read {
    member: u64,
    at: SystemTime,
}

#[limit_per_time(policy = "read-count", key = read.member, at = read.at, within = tx)]
async fn transaction(tx: &mut Transaction<'_, Postgres>, read: &Read) -> Result<(), Rejection> {
    sqlx::query("SELECT 1").execute(&mut **tx).await.map(drop).expect("it runs");
    Ok(())
}

#[limit_per_time(algorithm = token_bucket, capacity = 3, refill = "50s", key = member, within = connection)]
async fn connection(connection: &mut PgConnection, member: u64) -> Result<(), Rejection> {
    Ok(())
}

#[limit_per_time(algorithm = token_bucket, capacity = 3, refill = "50s", key = member, within = connection, permit = permit)]
async fn of_a_pool(connection: &mut PoolConnection<MySql>, member: u64) -> Result<u32, Rejection> {
    Ok(permit.decision().map_or(0, |decision| decision.remaining))
}

/// Owned, and a field of something.
struct Work<'a> {
    tx: Transaction<'a, Sqlite>,
    member: u64,
}

#[limit_per_time(policy = "read-count", key = work.member, within = work.tx)]
async fn field(work: &mut Work<'_>) -> Result<(), Rejection> {
    sqlx::query("SELECT 1").execute(&mut *work.tx).await.map(drop).expect("it runs");
    Ok(())
}

#[limit_per_time(policy = "read-count", key = member, within = tx, observe, skip_if = member == 0, cost = 2)]
async fn owned(mut tx: Transaction<'_, Sqlite>, member: u64) -> Result<(), Rejection> {
    tx.commit().await.expect("it commits");
    Ok(())
}

#[limit_per_time(policy = "read-count", key = member, within = tx)]
async fn response(tx: &mut SqliteConnection, member: u64) -> impl IntoResponse {
    sqlx::query("SELECT 1").execute(tx).await.map(drop).expect("it runs");
    "counted"
}

#[limit_per_time(policy = "read-count", key = member, within = tx, on_limit = |_| false)]
fn future<'a>(tx: &'a mut SqliteConnection, member: u64) -> impl Future<Output = bool> + Send + 'a {
    async move {
        sqlx::query("SELECT 1").execute(tx).await.is_ok()
    }
}

struct Service {
    limiter: Limiter,
}

#[limit_per_time(policy = "read-count", key = member, within = tx, limiter = self.limiter)]
impl Service {
    async fn method(&self, tx: &mut Transaction<'_, Postgres>, member: u64) -> Result<(), Rejection> {
        Ok(())
    }
}

fn is_send<T: Send>(_: T) {}

#[allow(dead_code)]
async fn all_are_send(mut pg: Transaction<'_, Postgres>, read: Read, service: Service) {
    is_send(transaction(&mut pg, &read));
    is_send(service.method(&mut pg, 7));
    is_send(connection(&mut pg, 7));
}

fn main() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let mut sqlite = SqliteConnection::connect("sqlite::memory:").await.expect("it opens");
        // The limiter in memory has no database to take the token in.
        assert!(!future(&mut sqlite, 7).await);
        let mut tx = sqlite.begin().await.expect("it begins");
        let refused = response(&mut tx, 7).await.into_response();
        assert_eq!(refused.status(), 500);
        assert!(owned(tx, 0).await.is_ok(), "nobody is asked");
        let tx = sqlite.begin().await.expect("it begins");
        assert!(field(&mut Work { tx, member: 7 }).await.is_err());
    });
}
