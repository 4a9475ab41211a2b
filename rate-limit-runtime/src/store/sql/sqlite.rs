//! SQLite.

use std::sync::Arc;
use std::time::Duration;

use sqlx::sqlite::{SqliteConnection, SqlitePool, SqliteRow};
use sqlx::{AssertSqlSafe, Connection as _, Row as _, query, query_as, query_scalar, raw_sql};
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::{Instant, timeout_at};

use super::builder::TestClock;
use super::pool::Lease;
use super::row::{Charged, Columns, Numbers, Seen, Swap, Untaken, in_order};
use super::stored::Named;
use super::trouble::{Code, Trouble};
use super::{Batch, MAX_BATCH};
use crate::key::Client;
use crate::store::{Change, Charge, Settlement};

/// Strict, so that no sum that is too large becomes a float.
pub(super) const SCHEMA: &str = "\
CREATE TABLE IF NOT EXISTS rate_limit (
    client BLOB NOT NULL,
    method INTEGER NOT NULL,
    full_at INTEGER NOT NULL,
    refill INTEGER NOT NULL CHECK (refill > 0),
    changed_at INTEGER NOT NULL,
    PRIMARY KEY (client, method)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS rate_limit_methods (
    method INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    policy TEXT
) STRICT";

/// Microseconds since 1970, in steps of a millisecond, which is all that SQLite tells. It is the same throughout a statement, and
/// read once the file is locked.
const CLOCK: &str = "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000";

#[derive(Debug)]
pub(super) struct Sqlite {
    pool: SqlitePool,
    clock: TestClock,
    statements: Arc<Statements>,
    /// One writes at a time: who waits for the file in turn does not starve, as who polls for it may.
    writer: Mutex<()>,
}

/// The statements, by one clock.
#[derive(Debug)]
struct Statements {
    take: Arc<str>,
    read: Arc<str>,
    reset: Arc<str>,
    refund: Arc<str>,
}

impl Statements {
    /// Parameters of all: `?1` client, `?2` method; then what each needs.
    fn new(now: &str) -> Self {
        // ?3 what is taken, ?4 refill, ?5 a whole bucket, ?6 the time of the event. A row that goes by other numbers, or by a clock
        // that stepped back since, is left to `swap`.
        let event = format!("min(ifnull(?6, {now}), {now})");
        let take = format!(
            "INSERT INTO rate_limit (client, method, full_at, refill, changed_at) VALUES (?1, ?2, {event} + ?3, ?4, {now})
            ON CONFLICT (client, method) DO UPDATE SET full_at = max(full_at, {event}) + ?3, changed_at = {now}
            WHERE refill = ?4 AND changed_at <= {now} AND max(min(full_at, changed_at + ?5) - {event}, 0) + ?3 <= ?5
            RETURNING full_at, {now} AS now"
        );
        let read = format!(
            "SELECT b.full_at, b.refill, b.changed_at, {now} AS now
            FROM (SELECT 1) LEFT JOIN rate_limit b ON b.client = ?1 AND b.method = ?2"
        );
        // ?3 the hit, ?4 the refill that it was taken by. What later hits took is what `full_at` moved on since, or more.
        let settle = |left: &str| {
            format!(
                "UPDATE rate_limit SET full_at = {left} + {now}, changed_at = {now}
                WHERE client = ?1 AND method = ?2 AND refill = ?4 AND full_at >= ?3 AND full_at > max(changed_at, {now})"
            )
        };
        let missing = format!("max(full_at - max(changed_at, {now}), 0)");
        let reset = format!("min({missing}, full_at - ?3)");
        let refunded = format!("max({missing} - ?5, {reset})");
        Self {
            take: take.into(),
            read: read.into(),
            reset: settle(&reset).into(),
            refund: settle(&refunded).into(),
        }
    }
}

fn trouble(error: sqlx::Error) -> Trouble {
    Trouble::new(error, |error| {
        let code = error
            .code()
            .and_then(|code| code.parse::<u32>().ok())
            .unwrap_or_default();
        match (code, code & 0xff) {
            // The file changed since the transaction began to read: no waiting helps.
            (517, _) => Code::Undone,
            (_, 5 | 6) => Code::Held,
            (_, 1) if error.message().contains("no such table") => Code::NoTable,
            (_, 1) if error.message().contains("column") => Code::OldTable,
            // No file, no room for it, or none that can be read.
            (_, 10 | 13 | 14) => Code::Down,
            (_, 3 | 8 | 23 | 26) => Code::Refused,
            _ => Code::Other,
        }
    })
}

/// A connection of the pool that waits no longer than it may for the file.
struct Own<'a> {
    connection: Lease<sqlx::Sqlite>,
    patience: Patience,
    _turn: MutexGuard<'a, ()>,
}

/// What the busy timeout of a connection was before it was lowered.
struct Patience(Option<i64>);

impl Patience {
    async fn lower(connection: &mut SqliteConnection, wait: Duration) -> Result<Self, Trouble> {
        let before = query_scalar("PRAGMA busy_timeout").fetch_one(&mut *connection).await;
        let (before, wait): (i64, _) = (before.map_err(trouble)?, wait.as_millis().max(1) as i64);
        if before <= wait {
            return Ok(Self(None));
        }
        set_busy_timeout(connection, wait).await?;
        Ok(Self(Some(before)))
    }

    async fn restore(self, connection: &mut SqliteConnection) -> Result<(), Trouble> {
        match self.0 {
            Some(before) => set_busy_timeout(connection, before).await,
            None => Ok(()),
        }
    }
}

async fn set_busy_timeout(connection: &mut SqliteConnection, milliseconds: i64) -> Result<(), Trouble> {
    let set = format!("PRAGMA busy_timeout = {milliseconds}");
    let set = query(AssertSqlSafe(set)).persistent(false);
    set.execute(connection).await.map_err(trouble)?;
    Ok(())
}

impl Own<'_> {
    /// What was done on it is a transaction of its own: a file that was busy kept nothing.
    async fn done<T>(mut self, result: Result<T, Trouble>) -> Result<T, Trouble> {
        self.patience.restore(&mut self.connection).await?;
        result.map_err(|trouble| match trouble {
            Trouble::Held(error) => Trouble::Undone(error),
            trouble => trouble,
        })
    }
}

impl Sqlite {
    pub(super) fn new(pool: SqlitePool, clock: TestClock) -> Self {
        Self {
            pool,
            clock,
            statements: Arc::new(Statements::new(CLOCK)),
            writer: Mutex::new(()),
        }
    }

    fn statements(&self) -> Arc<Statements> {
        match self.clock.now() {
            Some(now) => Arc::new(Statements::new(&now)),
            None => Arc::clone(&self.statements),
        }
    }

    /// What takes it has to give it back by [`Own::done`], so it must not be dropped in between.
    async fn own(&self, wait: Duration) -> Result<Own<'_>, Trouble> {
        let end = Instant::now() + wait;
        let turn = timeout_at(end, self.writer.lock()).await;
        let turn = turn.map_err(|_| trouble(sqlx::Error::PoolTimedOut))?;
        let left = || end.saturating_duration_since(Instant::now());
        let mut connection = Lease::take(&self.pool, end).await.map_err(trouble)?;
        Ok(Own {
            patience: Patience::lower(&mut connection, left()).await?,
            connection,
            _turn: turn,
        })
    }

    /// One attempt to charge a call: one statement, or one in a transaction for each of several charges.
    pub(super) async fn acquire(&self, charges: &[Charge], wait: Duration) -> Result<Vec<Charged>, Trouble> {
        let mut own = self.own(wait).await?;
        let charged = match charges {
            [charge] => self
                .charge(&mut own.connection, charge)
                .await
                .map(|charged| vec![charged]),
            _ => self.charge_all(&mut own.connection, charges).await,
        };
        for (charge, charged) in charges.iter().zip(charged.iter().flatten()) {
            // A refusal holds whether or not the row could be put right.
            let _ = put_right(&mut own.connection, charge, charged.change).await;
        }
        own.done(charged).await
    }

    async fn charge_all(&self, connection: &mut SqliteConnection, charges: &[Charge]) -> Result<Vec<Charged>, Trouble> {
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await.map_err(trouble)?;
        let mut charged = vec![None; charges.len()];
        let mut refused = false;
        for place in in_order(charges) {
            let charge = &charges[place];
            let one = if refused {
                self.read(&mut transaction, charge).await?
            } else {
                self.charge(&mut transaction, charge).await?
            };
            refused |= one.refuses(charge);
            charged[place] = Some(one);
        }
        if refused {
            transaction.rollback().await
        } else {
            transaction.commit().await
        }
        .map_err(trouble)?;
        Ok(charged.into_iter().flatten().collect())
    }

    /// Takes what the charge weighs, if it is there; a refusal tells nothing, so it is read how it stands.
    async fn charge(&self, connection: &mut SqliteConnection, charge: &Charge) -> Result<Charged, Trouble> {
        if let Some(charged) = Charged::without_asking(charge) {
            return Ok(charged);
        }
        if charge.cost == 0 {
            return self.read(connection, charge).await;
        }
        let (columns, numbers) = (Columns::of(&charge.key), Numbers::of(charge));
        // Run to its end, since the write is committed only then, and a commit may fail.
        let rows = query(AssertSqlSafe(Arc::clone(&self.statements().take)))
            .bind(&columns.client[..])
            .bind(columns.method)
            .bind(numbers.takes)
            .bind(numbers.refill)
            .bind(numbers.whole)
            .bind(numbers.at)
            .fetch_all(&mut *connection)
            .await
            .map_err(trouble)?;
        let get = |row: &SqliteRow, column| row.try_get(column).map_err(trouble);
        match rows.first() {
            Some(row) => Ok(Charged::taken(charge, get(row, "full_at")?, get(row, "now")?)),
            None => match self.see(connection, charge).await?.untaken(charge) {
                Untaken::Refused(charged) => Ok(charged),
                Untaken::Take(charged, change) if swap(connection, charge, &change).await? => Ok(charged),
                Untaken::Take(..) | Untaken::LostRace => Err(Trouble::LostRace),
            },
        }
    }

    /// Takes in the caller's transaction. Only a lost race is asked again there.
    pub(super) async fn charge_within(
        &self,
        connection: &mut SqliteConnection,
        charge: &Charge,
        deadline: Duration,
    ) -> Result<Charged, Trouble> {
        let end = Instant::now() + deadline;
        let patience = Patience::lower(connection, deadline).await?;
        let mut charged = self.charge(connection, charge).await;
        while matches!(charged, Err(Trouble::LostRace)) && Instant::now() < end {
            charged = self.charge(connection, charge).await;
        }
        let put_right = match &charged {
            Ok(charged) => put_right(connection, charge, charged.change).await,
            Err(_) => Ok(()),
        };
        patience.restore(connection).await?;
        put_right.and(charged)
    }

    async fn read(&self, connection: &mut SqliteConnection, charge: &Charge) -> Result<Charged, Trouble> {
        Ok(self.see(connection, charge).await?.unasked(charge))
    }

    async fn see(&self, connection: &mut SqliteConnection, charge: &Charge) -> Result<Seen, Trouble> {
        let columns = Columns::of(&charge.key);
        let row = query(AssertSqlSafe(Arc::clone(&self.statements().read)))
            .bind(&columns.client[..])
            .bind(columns.method)
            .fetch_one(connection)
            .await
            .map_err(trouble)?;
        Seen::read(&row).map_err(trouble)
    }

    pub(super) async fn peek(&self, charge: &Charge, wait: Duration) -> Result<Charged, Trouble> {
        let mut own = self.own(wait).await?;
        let seen = self.see(&mut own.connection, charge).await;
        Ok(own.done(seen).await?.peeked(charge))
    }

    pub(super) async fn settle(&self, settlement: &Settlement, wait: Duration) -> Result<(), Trouble> {
        let columns = Columns::of(&settlement.key);
        let refill = settlement.policy.span() as i64;
        let statements = self.statements();
        let settle = |statement: &Arc<str>, hit: i64| {
            query(AssertSqlSafe(Arc::clone(statement)))
                .bind(columns.client.to_vec())
                .bind(columns.method)
                .bind(hit)
                .bind(refill)
        };
        let settle = match settlement.change {
            Change::Reset { upto } => settle(&statements.reset, upto.raw() as i64),
            Change::Refund { cost: 0, .. } => return Ok(()),
            Change::Refund { hit, cost } => settle(&statements.refund, hit.raw() as i64).bind(refill * i64::from(cost)),
            Change::Clear => query("DELETE FROM rate_limit WHERE client = ? AND method = ?")
                .bind(columns.client.to_vec())
                .bind(columns.method),
        };
        let mut own = self.own(wait).await?;
        let settled = settle.execute(&mut *own.connection).await;
        own.done(settled.map(drop).map_err(trouble)).await
    }

    /// Deletes the rows of a client.
    pub(super) async fn forget(connection: &mut SqliteConnection, client: Client) -> Result<u64, Trouble> {
        let client = client.to_bytes();
        let forget = query("DELETE FROM rate_limit WHERE client = ?").bind(&client[..]);
        Ok(forget.execute(connection).await.map_err(trouble)?.rows_affected())
    }

    pub(super) async fn forget_apart(&self, client: Client, wait: Duration) -> Result<u64, Trouble> {
        let mut own = self.own(wait).await?;
        let forgotten = Self::forget(&mut own.connection, client).await;
        own.done(forgotten).await
    }

    /// Deletes a batch of the rows behind `after` whose bucket has been full and unchanged for longer than `kept`.
    pub(super) async fn purge(&self, kept: i64, after: &Columns, wait: Duration) -> Result<Batch, Trouble> {
        let now = self.clock.now().unwrap_or_else(|| CLOCK.to_owned());
        let purge = format!(
            "DELETE FROM rate_limit WHERE (client, method) IN (
                SELECT client, method FROM rate_limit WHERE (client, method) > (?2, ?3) AND max(full_at, changed_at) < {now} - ?1
                ORDER BY client, method LIMIT {MAX_BATCH}
            )
            RETURNING client, method"
        );
        let mut own = self.own(wait).await?;
        let purged = query(AssertSqlSafe(purge))
            .bind(kept)
            .bind(&after.client[..])
            .bind(after.method)
            .fetch_all(&mut *own.connection)
            .await;
        let purged = own.done(purged.map_err(trouble)).await?;
        let purged = purged.iter().map(columns).collect::<Result<Vec<_>, _>>()?;
        Ok(Batch::new(purged.len() as u64, &purged))
    }

    /// A batch of the rows behind `after`, and how they stand.
    pub(super) async fn rows(&self, after: &Columns, wait: Duration) -> Result<Vec<(Columns, Seen)>, Trouble> {
        let now = self.clock.now().unwrap_or_else(|| CLOCK.to_owned());
        let rows = format!(
            "SELECT client, method, full_at, refill, changed_at, {now} AS now FROM rate_limit
            WHERE (client, method) > (?, ?) ORDER BY client, method LIMIT {MAX_BATCH}"
        );
        let mut own = self.own(wait).await?;
        let rows = query(AssertSqlSafe(rows))
            .bind(&after.client[..])
            .bind(after.method)
            .fetch_all(&mut *own.connection)
            .await;
        let rows = own.done(rows.map_err(trouble)).await?;
        rows.iter()
            .map(|row| Ok((columns(row)?, Seen::read(row).map_err(trouble)?)))
            .collect()
    }

    /// None if there is no table of them.
    pub(super) async fn names(&self, wait: Duration) -> Result<Vec<Named>, Trouble> {
        let mut own = self.own(wait).await?;
        let names = query_as("SELECT method, name, policy FROM rate_limit_methods");
        let names = names.fetch_all(&mut *own.connection).await;
        match own.done(names.map_err(trouble)).await {
            Err(Trouble::NoTable(_)) => Ok(Vec::new()),
            names => names,
        }
    }

    pub(super) async fn publish(&self, names: &[Named], wait: Duration) -> Result<(), Trouble> {
        let mut own = self.own(wait).await?;
        let published = publish(&mut own.connection, names).await;
        own.done(published).await
    }

    pub(super) async fn create_table(&self, wait: Duration) -> Result<(), Trouble> {
        let mut own = self.own(wait).await?;
        let created = raw_sql(SCHEMA).execute(&mut *own.connection).await;
        own.done(created.map(drop).map_err(trouble)).await
    }
}

async fn publish(connection: &mut SqliteConnection, names: &[Named]) -> Result<(), Trouble> {
    for (method, name, policy) in names {
        query(
            "INSERT INTO rate_limit_methods (method, name, policy) VALUES (?, ?, ?)
            ON CONFLICT (method) DO UPDATE SET name = excluded.name, policy = coalesce(excluded.policy, policy)",
        )
        .bind(method)
        .bind(name)
        .bind(policy)
        .execute(&mut *connection)
        .await
        .map_err(trouble)?;
    }
    Ok(())
}

fn columns(row: &SqliteRow) -> Result<Columns, Trouble> {
    let client: &[u8] = row.try_get("client").map_err(trouble)?;
    Ok(Columns {
        client: client.try_into().unwrap_or_default(),
        method: row.try_get("method").map_err(trouble)?,
    })
}

/// Keeps what a refusal has found to be put right: a clock stepped back since the row was changed.
async fn put_right(connection: &mut SqliteConnection, charge: &Charge, change: Option<Swap>) -> Result<(), Trouble> {
    if let Some(change) = change {
        swap(connection, charge, &change).await?;
    }
    Ok(())
}

/// Puts a row in the place of another. Returns whether that was still there.
async fn swap(connection: &mut SqliteConnection, charge: &Charge, Swap { from, to }: &Swap) -> Result<bool, Trouble> {
    let columns = Columns::of(&charge.key);
    let swapped = query(
        "UPDATE rate_limit SET full_at = ?6, refill = ?7, changed_at = ?8
        WHERE client = ?1 AND method = ?2 AND full_at = ?3 AND refill = ?4 AND changed_at = ?5",
    )
    .bind(&columns.client[..])
    .bind(columns.method)
    .bind(from.full_at)
    .bind(from.refill)
    .bind(from.changed_at)
    .bind(to.full_at)
    .bind(to.refill)
    .bind(to.changed_at)
    .execute(connection)
    .await
    .map_err(trouble)?;
    Ok(swapped.rows_affected() > 0)
}
