//! What counts a read.

use std::future::Future;
use std::time::SystemTime;

use rate_limit::{Client, Rejection, SqlStore, limit_per_time};
use serde::Serialize;
use sqlx::{Pool, Transaction};
use time::OffsetDateTime;

use crate::database::Database;
use crate::error::ReadError;
use crate::member::MemberId;

/// A member opened an article.
pub struct ArticleRead {
    pub member: MemberId,
    pub article: u64,
    /// When that was, however late the event is worked off.
    pub read_at: SystemTime,
}

/// The token is taken in the transaction that raises the count, so both are kept or neither is.
#[limit_per_time(policy = "read-count", key = read.member, at = read.read_at, within = tx, on_limit = not_counted)]
async fn count_read<DB: Database>(tx: &mut Transaction<'_, DB>, read: &ArticleRead) -> Result<bool, ReadError> {
    DB::execute(tx, DB::SQL.raise_count, &[read.member.as_str(), &month(read.read_at)]).await?;
    Ok(true)
}

/// A read too many is an answer like any other. That the token could not be asked for is an error.
fn not_counted(rejection: Rejection) -> Result<bool, ReadError> {
    match rejection.is_limited() {
        true => Ok(false),
        false => Err(ReadError::Rejected(rejection)),
    }
}

/// Members, what they have read, and their pets.
pub struct Members<DB: Database> {
    pool: Pool<DB>,
    store: SqlStore,
}

#[derive(Serialize)]
pub struct Standing {
    /// Of this month.
    reading_count: i64,
    pet_points: i64,
}

impl<DB: Database> Members<DB> {
    /// Makes the tables, unless they are there.
    pub async fn open(pool: Pool<DB>, store: SqlStore) -> Result<Self, ReadError> {
        store.create_table().await?;
        let members = Self { pool, store };
        let mut tx = members.begin().await?;
        for statement in DB::SQL.create_tables {
            DB::execute(&mut tx, statement, &[]).await?;
        }
        tx.commit().await?;
        Ok(members)
    }

    /// Whether the read counts. Then the pet gets points too, in a transaction of its own: without them the read counts all the same.
    pub async fn on_read(&self, read: ArticleRead) -> Result<bool, ReadError> {
        let counted = again(|| self.count(&read)).await?;
        if counted && let Err(error) = self.give_points(&read.member).await {
            tracing::error!(
                ?error,
                article = read.article,
                "a read was counted, but the pet did not get its points"
            );
        }
        Ok(counted)
    }

    async fn count(&self, read: &ArticleRead) -> Result<bool, ReadError> {
        let mut tx = self.begin().await?;
        let counted = count_read(&mut tx, read).await?;
        tx.commit().await?;
        Ok(counted)
    }

    async fn give_points(&self, member: &MemberId) -> Result<(), ReadError> {
        let mut tx = self.begin().await?;
        DB::execute(&mut tx, DB::SQL.give_points, &[member.as_str()]).await?;
        Ok(tx.commit().await?)
    }

    pub async fn standing(&self, member: &MemberId) -> Result<Standing, ReadError> {
        let (member, month) = (member.as_str(), month(SystemTime::now()));
        let mut connection = self.pool.acquire().await?;
        let count = DB::number(&mut connection, DB::SQL.reading_count, &[member, &month]).await?;
        let points = DB::number(&mut connection, DB::SQL.pet_points, &[member]).await?;
        Ok(Standing {
            reading_count: count.unwrap_or(0),
            pet_points: points.unwrap_or(0),
        })
    }

    pub async fn delete(&self, member: &MemberId) -> Result<(), ReadError> {
        again(|| self.delete_all_of(member)).await
    }

    /// In the order in which a read takes the rows, so that neither waits for the other.
    async fn delete_all_of(&self, member: &MemberId) -> Result<(), ReadError> {
        let mut tx = self.begin().await?;
        let client = Client::of(member).map_err(|error| ReadError::Failed(error.into()))?;
        self.store.forget_within(&mut tx, client).await?;
        for statement in DB::SQL.delete {
            DB::execute(&mut tx, statement, &[member.as_str()]).await?;
        }
        Ok(tx.commit().await?)
    }

    async fn begin(&self) -> sqlx::Result<Transaction<'static, DB>> {
        self.pool.begin_with(DB::SQL.begin).await
    }
}

/// Runs a transaction again, from its start, that another one was in the way of.
async fn again<T, F>(transaction: impl Fn() -> F) -> Result<T, ReadError>
where
    F: Future<Output = Result<T, ReadError>>,
{
    let mut more = 4;
    loop {
        match transaction().await {
            Err(error) if error.is_aborted() && more > 0 => more -= 1,
            ended => return ended,
        }
    }
}

/// Such as `2026-01`, in UTC.
fn month(time: SystemTime) -> String {
    let date = OffsetDateTime::from(time);
    format!("{}-{:02}", date.year(), u8::from(date.month()))
}
