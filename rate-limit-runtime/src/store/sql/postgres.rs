//! PostgreSQL.

mod statements;

use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{AssertSqlSafe, Connection as _, Row as _, query, query_as, raw_sql};
use tokio::time::Instant;

use self::statements::Statements;
use super::builder::TestClock;
use super::pool::{Connections, Dialect, Lease};
use super::row::{Charged, Columns, Numbers, Seen, Swap, Untaken, in_order};
use super::stored::Named;
use super::trouble::{Code, Trouble};
use super::{Batch, MAX_BATCH};
use crate::key::Client;
use crate::store::{Change, Charge, Settlement};

/// Rows leave room in their page, so that a take stays in it.
pub(super) const SCHEMA: &str = "\
CREATE TABLE IF NOT EXISTS rate_limit (
    client bytea NOT NULL,
    method bigint NOT NULL,
    full_at bigint NOT NULL,
    refill bigint NOT NULL CHECK (refill > 0),
    changed_at bigint NOT NULL,
    PRIMARY KEY (client, method)
) WITH (fillfactor = 70);
CREATE TABLE IF NOT EXISTS rate_limit_methods (
    method bigint PRIMARY KEY,
    name text NOT NULL,
    policy text
)";

/// Microseconds since 1970, when it is read: not when the statement or the transaction began.
const CLOCK: &str = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint";

pub(super) const DIALECT: Dialect = Dialect {
    trouble,
    a_while: "SELECT pg_sleep(0.001)",
};

#[derive(Debug)]
pub(super) struct Postgres {
    connections: Connections<sqlx::Postgres>,
    clock: TestClock,
    statements: Arc<Statements>,
}

/// As PostgreSQL takes a length of time.
fn milliseconds(wait: Duration) -> String {
    format!("{}ms", wait.as_millis().max(1))
}

fn trouble(error: sqlx::Error) -> Trouble {
    Trouble::new(error, |error| match error.code().as_deref().unwrap_or_default() {
        // A unique key that another transaction was first to take is a lost race too.
        "40001" | "40P01" | "23505" => Code::Undone,
        "55P03" | "57014" => Code::Held,
        "42P01" => Code::NoTable,
        "42703" => Code::OldTable,
        "42501" | "25006" | "3D000" => Code::Refused,
        code if code.starts_with("28") => Code::Refused,
        code if code.starts_with("08") || code.starts_with("53") || code.starts_with("57P") => Code::Down,
        _ => Code::Other,
    })
}

impl Postgres {
    pub(super) fn new(connections: Connections<sqlx::Postgres>, clock: TestClock) -> Self {
        Self {
            connections,
            clock,
            statements: Arc::new(Statements::new(CLOCK)),
        }
    }

    fn statements(&self) -> Arc<Statements> {
        match self.clock.now() {
            Some(now) => Arc::new(Statements::new(&format!("{now}::bigint"))),
            None => Arc::clone(&self.statements),
        }
    }

    async fn free(&self, wait: Duration) -> Result<Lease<sqlx::Postgres>, Trouble> {
        self.connections.take(wait).await
    }

    /// One attempt to charge a call: one statement, or one in a transaction for each of several charges.
    pub(super) async fn acquire(&self, charges: &[Charge], wait: Duration) -> Result<Vec<Charged>, Trouble> {
        let mut connection = self.free(wait).await?;
        let charged = match charges {
            [charge] => vec![self.charge(&mut connection, charge, wait).await?],
            _ => self.charge_all(&mut connection, charges, wait).await?,
        };
        for (charge, charged) in charges.iter().zip(&charged) {
            // A refusal holds whether or not the row could be put right, and what is committed must not be asked again.
            let _ = self.put_right(&mut connection, charge, charged, wait).await;
        }
        Ok(charged)
    }

    async fn charge_all(
        &self,
        connection: &mut PgConnection,
        charges: &[Charge],
        wait: Duration,
    ) -> Result<Vec<Charged>, Trouble> {
        let mut transaction = connection.begin().await.map_err(trouble)?;
        let mut charged = vec![None; charges.len()];
        let mut refused = false;
        for place in in_order(charges) {
            let charge = &charges[place];
            let one = if refused {
                self.read(&mut transaction, charge).await?
            } else {
                self.charge(&mut transaction, charge, wait).await?
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

    /// Takes what the charge weighs, if it is there.
    pub(super) async fn charge(
        &self,
        connection: &mut PgConnection,
        charge: &Charge,
        wait: Duration,
    ) -> Result<Charged, Trouble> {
        if let Some(charged) = Charged::without_asking(charge) {
            return Ok(charged);
        }
        if charge.cost == 0 {
            return self.read(connection, charge).await;
        }
        let (columns, numbers) = (Columns::of(&charge.key), Numbers::of(charge));
        // Run to its end, since the commit comes after the row, and may fail.
        let rows = query(AssertSqlSafe(Arc::clone(&self.statements().take)))
            .bind(columns.client)
            .bind(columns.method)
            .bind(numbers.takes)
            .bind(numbers.refill)
            .bind(numbers.whole)
            .bind(numbers.at)
            .bind(milliseconds(wait))
            .fetch_all(&mut *connection)
            .await
            .map_err(trouble)?;
        let row = rows.first().ok_or_else(|| trouble(sqlx::Error::RowNotFound))?;
        match row.try_get("taken").map_err(trouble)? {
            Some(full_at) => Ok(Charged::taken(charge, full_at, row.try_get("now").map_err(trouble)?)),
            None => match Seen::read(row).map_err(trouble)?.untaken(charge) {
                Untaken::Refused(charged) => Ok(charged),
                Untaken::Take(charged, swap) if self.swap(connection, charge, &swap, wait).await? => Ok(charged),
                Untaken::Take(..) => self.take_locked(connection, charge, wait).await,
                Untaken::LostRace => Err(Trouble::LostRace),
            },
        }
    }

    /// How it stands, taking nothing.
    async fn read(&self, connection: &mut PgConnection, charge: &Charge) -> Result<Charged, Trouble> {
        Ok(self.see(connection, charge).await?.unasked(charge))
    }

    async fn see(&self, connection: &mut PgConnection, charge: &Charge) -> Result<Seen, Trouble> {
        let columns = Columns::of(&charge.key);
        let row = query(AssertSqlSafe(Arc::clone(&self.statements().read)))
            .bind(columns.client)
            .bind(columns.method)
            .fetch_one(connection)
            .await
            .map_err(trouble)?;
        Seen::read(&row).map_err(trouble)
    }

    pub(super) async fn peek(&self, charge: &Charge, wait: Duration) -> Result<Charged, Trouble> {
        let mut connection = self.free(wait).await?;
        Ok(self.see(&mut connection, charge).await?.peeked(charge))
    }

    /// Keeps what a refusal has found to be put right: a clock stepped back since the row was changed.
    async fn put_right(
        &self,
        connection: &mut PgConnection,
        charge: &Charge,
        charged: &Charged,
        wait: Duration,
    ) -> Result<(), Trouble> {
        if let Some(swap) = &charged.change {
            self.swap(connection, charge, swap, wait).await?;
        }
        Ok(())
    }

    /// Takes from a row that is changed by others all the time: it is locked first, so that all get their turn.
    async fn take_locked(
        &self,
        connection: &mut PgConnection,
        charge: &Charge,
        wait: Duration,
    ) -> Result<Charged, Trouble> {
        let mut transaction = connection.begin().await.map_err(trouble)?;
        let columns = Columns::of(&charge.key);
        let rows = query(AssertSqlSafe(Arc::clone(&self.statements().lock)))
            .bind(columns.client)
            .bind(columns.method)
            .bind(milliseconds(wait))
            .fetch_all(&mut *transaction)
            .await
            .map_err(trouble)?;
        let seen = Seen::read(rows.first().ok_or(Trouble::LostRace)?).map_err(trouble)?;
        match seen.locked(charge) {
            Untaken::Refused(charged) => Ok(charged),
            Untaken::Take(charged, change) if self.swap(&mut transaction, charge, &change, wait).await? => {
                transaction.commit().await.map_err(trouble)?;
                Ok(charged)
            }
            Untaken::Take(..) | Untaken::LostRace => Err(Trouble::LostRace),
        }
    }

    /// Puts a row in the place of another. Returns whether that was still there.
    async fn swap(
        &self,
        connection: &mut PgConnection,
        charge: &Charge,
        Swap { from, to }: &Swap,
        wait: Duration,
    ) -> Result<bool, Trouble> {
        let columns = Columns::of(&charge.key);
        let swapped = query(AssertSqlSafe(Arc::clone(&self.statements().swap)))
            .bind(columns.client)
            .bind(columns.method)
            .bind(from.full_at)
            .bind(from.refill)
            .bind(from.changed_at)
            .bind(to.full_at)
            .bind(to.refill)
            .bind(to.changed_at)
            .bind(milliseconds(wait))
            .execute(connection)
            .await
            .map_err(trouble)?;
        Ok(swapped.rows_affected() > 0)
    }

    /// Takes in the caller's transaction. Only a lost race is asked again there.
    pub(super) async fn charge_within(
        self: &Arc<Self>,
        connection: &mut PgConnection,
        charge: &Charge,
        deadline: Duration,
    ) -> Result<Charged, Trouble> {
        let end = Instant::now() + deadline;
        let mut charged = self.charge(connection, charge, deadline).await;
        while matches!(charged, Err(Trouble::LostRace)) && Instant::now() < end {
            charged = self.charge(connection, charge, deadline).await;
        }
        let charged = charged?;
        if charged.change.is_some() {
            // On a connection of its own, for the transaction may be rolled back. The refusal holds either way.
            let (database, charge) = (Arc::clone(self), *charge);
            let put_right = self.connections.background.finish(async move {
                let mut connection = database.free(database.connections.patience(deadline)).await?;
                database.put_right(&mut connection, &charge, &charged, deadline).await
            });
            let _ = put_right.await;
        }
        Ok(charged)
    }

    pub(super) async fn settle(&self, settlement: &Settlement, wait: Duration) -> Result<(), Trouble> {
        let mut connection = self.free(wait).await?;
        let columns = Columns::of(&settlement.key);
        let refill = settlement.policy.span() as i64;
        let statements = self.statements();
        let settle = |statement: &Arc<str>, hit: i64| {
            query(AssertSqlSafe(Arc::clone(statement)))
                .bind(columns.client)
                .bind(columns.method)
                .bind(hit)
                .bind(refill)
                .bind(milliseconds(wait))
        };
        let settle = match settlement.change {
            Change::Reset { upto } => settle(&statements.reset, upto.raw() as i64),
            Change::Refund { cost: 0, .. } => return Ok(()),
            Change::Refund { hit, cost } => settle(&statements.refund, hit.raw() as i64).bind(refill * i64::from(cost)),
            Change::Clear => query("DELETE FROM rate_limit WHERE client = $1 AND method = $2")
                .bind(columns.client)
                .bind(columns.method),
        };
        settle.execute(&mut *connection).await.map_err(trouble)?;
        Ok(())
    }

    /// Deletes the rows of a client.
    pub(super) async fn forget(connection: &mut PgConnection, client: Client) -> Result<u64, Trouble> {
        let forget = query("DELETE FROM rate_limit WHERE client = $1").bind(client.to_bytes());
        let forgotten = forget.execute(connection).await.map_err(trouble)?;
        Ok(forgotten.rows_affected())
    }

    pub(super) async fn forget_apart(&self, client: Client, wait: Duration) -> Result<u64, Trouble> {
        let mut connection = self.free(wait).await?;
        Self::forget(&mut connection, client).await
    }

    /// Deletes a batch of the rows behind `after` whose bucket has been full and unchanged for longer than `kept`, but for those that a take has
    /// locked.
    pub(super) async fn purge(&self, kept: i64, after: &Columns, wait: Duration) -> Result<Batch, Trouble> {
        let now = self.clock.now().unwrap_or_else(|| CLOCK.to_owned());
        let purge = format!(
            "WITH old AS (
                SELECT client, method FROM rate_limit
                WHERE (client, method) > ($2, $3) AND GREATEST(full_at, changed_at) < {now} - $1
                ORDER BY client, method LIMIT {MAX_BATCH} FOR UPDATE SKIP LOCKED
            )
            DELETE FROM rate_limit b USING old WHERE b.client = old.client AND b.method = old.method
            RETURNING b.client, b.method"
        );
        let mut connection = self.free(wait).await?;
        let purged = query(AssertSqlSafe(purge))
            .bind(kept)
            .bind(after.client)
            .bind(after.method)
            .fetch_all(&mut *connection)
            .await
            .map_err(trouble)?;
        let purged = purged.iter().map(columns).collect::<Result<Vec<_>, _>>()?;
        Ok(Batch::new(purged.len() as u64, &purged))
    }

    /// A batch of the rows behind `after`, and how they stand.
    pub(super) async fn rows(&self, after: &Columns, wait: Duration) -> Result<Vec<(Columns, Seen)>, Trouble> {
        let now = self.clock.now().unwrap_or_else(|| CLOCK.to_owned());
        let rows = format!(
            "SELECT client, method, full_at, refill, changed_at, {now} AS now FROM rate_limit
            WHERE (client, method) > ($1, $2) ORDER BY client, method LIMIT {MAX_BATCH}"
        );
        let mut connection = self.free(wait).await?;
        let rows = query(AssertSqlSafe(rows))
            .bind(after.client)
            .bind(after.method)
            .fetch_all(&mut *connection)
            .await
            .map_err(trouble)?;
        rows.iter()
            .map(|row| Ok((columns(row)?, Seen::read(row).map_err(trouble)?)))
            .collect()
    }

    /// None if there is no table of them.
    pub(super) async fn names(&self, wait: Duration) -> Result<Vec<Named>, Trouble> {
        let mut connection = self.free(wait).await?;
        let names = query_as("SELECT method, name, policy FROM rate_limit_methods").fetch_all(&mut *connection);
        match names.await.map_err(trouble) {
            Err(Trouble::NoTable(_)) => Ok(Vec::new()),
            names => names,
        }
    }

    pub(super) async fn publish(&self, names: &[Named], wait: Duration) -> Result<(), Trouble> {
        let mut connection = self.free(wait).await?;
        for (method, name, policy) in names {
            query(
                "INSERT INTO rate_limit_methods AS m (method, name, policy) VALUES ($1, $2, $3)
                ON CONFLICT (method) DO UPDATE SET name = excluded.name, policy = COALESCE(excluded.policy, m.policy)",
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

    /// Two processes that create one table at once can fail each other, so one waits for the other.
    pub(super) async fn create_table(&self, wait: Duration) -> Result<(), Trouble> {
        let mut connection = self.free(wait).await?;
        let create = format!("SELECT pg_advisory_xact_lock(7233174016512352553); {SCHEMA}");
        raw_sql(AssertSqlSafe(create))
            .execute(&mut *connection)
            .await
            .map_err(trouble)?;
        Ok(())
    }
}

fn columns(row: &PgRow) -> Result<Columns, Trouble> {
    Ok(Columns {
        client: row.try_get("client").map_err(trouble)?,
        method: row.try_get("method").map_err(trouble)?,
    })
}
