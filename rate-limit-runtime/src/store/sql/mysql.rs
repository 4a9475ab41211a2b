//! MySQL and MariaDB.

mod parts;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sqlx::mysql::{MySqlConnection, MySqlDatabaseError, MySqlRow};
use sqlx::{AssertSqlSafe, Connection as _, Row as _, query, query_as, raw_sql};
use tokio::sync::OnceCell;

use self::parts::{Parts, hex};
use super::builder::TestClock;
use super::pool::{Connections, Dialect, Lease};
use super::row::{Charged, Columns, Seen, Swap, Untaken, in_order};
use super::stored::Named;
use super::trouble::{Code, Trouble};
use super::{Batch, MAX_BATCH};
use crate::key::Client;
use crate::store::{Change, Charge, Settlement};

pub(super) const SCHEMA: &str = "\
CREATE TABLE IF NOT EXISTS rate_limit (
    client BINARY(16) NOT NULL,
    method BIGINT NOT NULL,
    full_at BIGINT NOT NULL,
    refill BIGINT NOT NULL CHECK (refill > 0),
    changed_at BIGINT NOT NULL,
    PRIMARY KEY (client, method)
) ENGINE = InnoDB;
CREATE TABLE IF NOT EXISTS rate_limit_methods (
    method BIGINT NOT NULL PRIMARY KEY,
    name TEXT CHARACTER SET utf8mb4 NOT NULL,
    policy TEXT CHARACTER SET utf8mb4 NULL
) ENGINE = InnoDB";

/// Microseconds since 1970. `SYSDATE` is when it is read, once the row is locked, in the time zone of the session; `NOW` is when the
/// statement began in the same, `UTC_TIMESTAMP` in none.
const CLOCK: &str =
    "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) + TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)))";

pub(super) const DIALECT: Dialect = Dialect {
    trouble,
    a_while: "DO SLEEP(0.001)",
};

/// How many rows a process remembers to have made, so as not to make them again.
const MAX_MADE: usize = 10_000;

#[derive(Debug)]
pub(super) struct MySql {
    connections: Connections<sqlx::MySql>,
    clock: TestClock,
    deadline: Duration,
    /// Rows that are known to be there.
    made: Mutex<HashMap<Columns, Arc<OnceCell<()>>>>,
}

/// A statement that ends at the deadline: on MariaDB, which takes what is in this comment as SQL. MySQL has no limit for a write that
/// is below a second, and skips it.
fn limited(deadline: Duration, statement: &str) -> String {
    format!(
        "/*M! SET STATEMENT max_statement_time={:.3} FOR */ {statement}",
        deadline.as_secs_f64().max(0.001)
    )
}

fn trouble(error: sqlx::Error) -> Trouble {
    Trouble::new(error, |error| {
        let error = error.try_downcast_ref::<MySqlDatabaseError>();
        match error.map(MySqlDatabaseError::number) {
            Some(1213 | 1020 | 1062) => Code::Undone,
            Some(1205 | 1969 | 3024) => Code::Held,
            Some(1040 | 1053 | 1203) => Code::Down,
            Some(1146) => Code::NoTable,
            Some(1054) => Code::OldTable,
            Some(1044 | 1045 | 1049 | 1142 | 1143 | 1290 | 1792 | 1836) => Code::Refused,
            _ => Code::Other,
        }
    })
}

impl MySql {
    pub(super) fn new(connections: Connections<sqlx::MySql>, clock: TestClock, deadline: Duration) -> Self {
        Self {
            connections,
            clock,
            deadline,
            made: Mutex::default(),
        }
    }

    fn now(&self) -> String {
        self.clock.now().unwrap_or_else(|| CLOCK.to_owned())
    }

    fn limited(&self, statement: &str) -> AssertSqlSafe<String> {
        AssertSqlSafe(limited(self.deadline, statement))
    }

    async fn free(&self, wait: Duration) -> Result<Lease<sqlx::MySql>, Trouble> {
        self.connections.take(wait).await
    }

    /// One attempt to charge a call: one statement, or one in a transaction for each of several charges.
    pub(super) async fn acquire(&self, charges: &[Charge], wait: Duration) -> Result<Vec<Charged>, Trouble> {
        if charges.len() > 1 {
            for charge in charges {
                // If this fails the call is still decided: the insert only keeps the takes below from a deadlock.
                let _ = self.make(charge).await;
            }
        }
        let mut connection = self.free(wait).await?;
        let charged = match charges {
            [charge] => vec![self.charge(&mut connection, charge, "").await?],
            _ => self.charge_all(&mut connection, charges).await?,
        };
        for (charge, charged) in charges.iter().zip(&charged) {
            // A refusal holds whether or not the row could be put right, and what is committed must not be asked again.
            if let Some(change) = &charged.change {
                let _ = self.swap(&mut connection, charge, change).await;
            }
        }
        Ok(charged)
    }

    async fn charge_all(&self, connection: &mut MySqlConnection, charges: &[Charge]) -> Result<Vec<Charged>, Trouble> {
        let mut transaction = connection.begin().await.map_err(trouble)?;
        let mut charged = vec![None; charges.len()];
        let mut refused = false;
        for place in in_order(charges) {
            let charge = &charges[place];
            let one = if refused {
                self.read(&mut transaction, charge).await?
            } else {
                self.charge(&mut transaction, charge, "FOR UPDATE").await?
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

    /// Takes what the charge weighs, if it is there, and asks how the row stands in the same round trip: as it is now in a transaction
    /// too, if `lock` says so.
    async fn charge(&self, connection: &mut MySqlConnection, charge: &Charge, lock: &str) -> Result<Charged, Trouble> {
        if let Some(charged) = Charged::without_asking(charge) {
            return Ok(charged);
        }
        if charge.cost == 0 {
            return self.read(connection, charge).await;
        }
        let (now, Columns { client, method }) = (self.now(), Columns::of(&charge.key));
        let take = format!(
            "{}; SELECT CAST(LAST_INSERT_ID() AS SIGNED) AS answer, full_at, refill, changed_at, {now} AS now FROM rate_limit \
             WHERE client = x'{}' AND method = {method} {lock}",
            Parts::new(charge, &now).take(),
            hex(&client)
        );
        let rows = raw_sql(self.limited(&take))
            .fetch_all(&mut *connection)
            .await
            .map_err(trouble)?;
        // Forgotten in between.
        let row = rows.first().ok_or(Trouble::LostRace)?;
        let answer: i64 = row.try_get("answer").map_err(trouble)?;
        let seen = Seen::read(row).map_err(trouble)?;
        if answer % 2 == 1 {
            return Ok(Charged::taken(charge, answer / 2, seen.now));
        }
        self.untaken(connection, charge, &seen).await
    }

    /// Refuses a charge that the statement did not take, or takes it from a row that goes by other numbers.
    async fn untaken(
        &self,
        connection: &mut MySqlConnection,
        charge: &Charge,
        seen: &Seen,
    ) -> Result<Charged, Trouble> {
        match seen.untaken(charge) {
            Untaken::Refused(charged) => Ok(charged),
            Untaken::Take(charged, change) if self.swap(connection, charge, &change).await? => Ok(charged),
            Untaken::Take(..) => self.take_locked(connection, charge).await,
            Untaken::LostRace => Err(Trouble::LostRace),
        }
    }

    /// Takes from a row that is changed by others all the time: it is locked first, so that all get their turn.
    async fn take_locked(&self, connection: &mut MySqlConnection, charge: &Charge) -> Result<Charged, Trouble> {
        let mut transaction = connection.begin().await.map_err(trouble)?;
        let seen = self.see_locked(&mut transaction, charge).await?;
        match seen.locked(charge) {
            Untaken::Refused(charged) => Ok(charged),
            Untaken::Take(charged, change) if self.swap(&mut transaction, charge, &change).await? => {
                transaction.commit().await.map_err(trouble)?;
                Ok(charged)
            }
            Untaken::Take(..) | Untaken::LostRace => Err(Trouble::LostRace),
        }
    }

    /// Puts a row in the place of another. Returns whether that was still there.
    async fn swap(
        &self,
        connection: &mut MySqlConnection,
        charge: &Charge,
        Swap { from, to }: &Swap,
    ) -> Result<bool, Trouble> {
        let Columns { client, method } = Columns::of(&charge.key);
        let swap = format!(
            "UPDATE rate_limit SET full_at = {}, refill = {}, changed_at = {} \
             WHERE client = x'{}' AND method = {method} AND full_at = {} AND refill = {} AND changed_at = {}",
            to.full_at,
            to.refill,
            to.changed_at,
            hex(&client),
            from.full_at,
            from.refill,
            from.changed_at
        );
        let swapped = raw_sql(self.limited(&swap))
            .execute(connection)
            .await
            .map_err(trouble)?;
        Ok(swapped.rows_affected() > 0)
    }

    /// Takes in the caller's transaction, in one statement.
    pub(super) async fn charge_within(
        self: &Arc<Self>,
        connection: &mut MySqlConnection,
        charge: &Charge,
    ) -> Result<Charged, Trouble> {
        if let Some(charged) = Charged::without_asking(charge) {
            return Ok(charged);
        }
        if charge.cost == 0 {
            return self.read(connection, charge).await;
        }
        if !self.made(charge).initialized() {
            let (database, charge) = (Arc::clone(self), *charge);
            let make = self
                .connections
                .background
                .finish(async move { database.make(&charge).await });
            // If this fails the charge is still decided: the insert only keeps the take below from a deadlock.
            let _ = make.await;
        }
        let take = Parts::new(charge, &self.now()).take_and_tell();
        let answer = raw_sql(self.limited(&take)).execute(&mut *connection).await;
        let answer = answer.map_err(trouble)?.last_insert_id() as i64;
        if answer % 2 == 1 {
            return Ok(Charged::taken_missing(charge, answer / 2));
        }
        if answer > 0 {
            return Ok(Charged::refused_missing(charge, answer / 2));
        }
        // The statement has locked the row: what is read now is what it has left.
        let seen = self.see_locked(connection, charge).await?;
        let charged = self.untaken(connection, charge, &seen).await?;
        if let Some(change) = &charged.change {
            self.swap(connection, charge, change).await?;
        }
        Ok(charged)
    }

    async fn execute(&self, statement: &str, wait: Duration) -> Result<(), Trouble> {
        let mut connection = self.free(wait).await?;
        let statement = raw_sql(self.limited(statement));
        statement.execute(&mut *connection).await.map_err(trouble)?;
        Ok(())
    }

    /// Makes the row of a charge that is one of several statements of a transaction beforehand, once a process, in a transaction of its
    /// own: new rows lock the gaps between others, and transactions that wait for each other's gaps deadlock.
    async fn make(&self, charge: &Charge) -> Result<(), Trouble> {
        // One makes it, and those that come meanwhile wait for that, so that one connection is enough.
        let wait = self.connections.patience(self.deadline);
        let make = || async { self.execute(&Parts::new(charge, &self.now()).make(), wait).await };
        self.made(charge).get_or_try_init(make).await.copied()
    }

    /// Returns whether the row of a charge is known to be there, to be waited for and to be set.
    fn made(&self, charge: &Charge) -> Arc<OnceCell<()>> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if made.len() >= MAX_MADE {
            made.clear();
        }
        Arc::clone(made.entry(Columns::of(&charge.key)).or_default())
    }

    /// How it stands, taking nothing.
    async fn read(&self, connection: &mut MySqlConnection, charge: &Charge) -> Result<Charged, Trouble> {
        Ok(self.see(connection, charge).await?.unasked(charge))
    }

    async fn see(&self, connection: &mut MySqlConnection, charge: &Charge) -> Result<Seen, Trouble> {
        self.see_by(connection, charge, "").await
    }

    /// As it stands now, and not when the transaction began.
    async fn see_locked(&self, connection: &mut MySqlConnection, charge: &Charge) -> Result<Seen, Trouble> {
        self.see_by(connection, charge, "FOR UPDATE").await
    }

    async fn see_by(&self, connection: &mut MySqlConnection, charge: &Charge, lock: &str) -> Result<Seen, Trouble> {
        let columns = Columns::of(&charge.key);
        let read = format!(
            "SELECT b.full_at, b.refill, b.changed_at, {} AS now
            FROM (SELECT 1) AS one LEFT JOIN rate_limit b ON b.client = ? AND b.method = ? {lock}",
            self.now()
        );
        let row = query(AssertSqlSafe(read))
            .bind(&columns.client[..])
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

    pub(super) async fn settle(&self, settlement: &Settlement, wait: Duration) -> Result<(), Trouble> {
        let Columns { client, method } = Columns::of(&settlement.key);
        let this = format!("client = x'{}' AND method = {method}", hex(&client));
        let refill = settlement.policy.span() as i64;
        let now = self.now();
        let missing = format!("GREATEST(full_at - GREATEST(changed_at, {now}), 0)");
        // What later hits took is what `full_at` moved on since, or more.
        let (left, hit) = match settlement.change {
            Change::Reset { upto } => (format!("LEAST({missing}, full_at - {})", upto.raw()), upto.raw()),
            Change::Refund { cost: 0, .. } => return Ok(()),
            Change::Refund { hit, cost } => {
                let (takes, hit) = (refill * i64::from(cost), hit.raw());
                (
                    format!("GREATEST({missing} - {takes}, LEAST({missing}, full_at - {hit}))"),
                    hit,
                )
            }
            Change::Clear => {
                let clear = format!("DELETE FROM rate_limit WHERE {this}");
                return self.execute(&clear, wait).await;
            }
        };
        let settle = format!(
            "UPDATE rate_limit SET full_at = {left} + {now}, changed_at = {now} \
             WHERE {this} AND refill = {refill} AND full_at >= {hit} AND full_at > GREATEST(changed_at, {now})"
        );
        self.execute(&settle, wait).await
    }

    /// Deletes the rows of a client.
    pub(super) async fn forget(connection: &mut MySqlConnection, client: Client) -> Result<u64, Trouble> {
        let client = client.to_bytes();
        let forget = query("DELETE FROM rate_limit WHERE client = ?").bind(&client[..]);
        Ok(forget.execute(connection).await.map_err(trouble)?.rows_affected())
    }

    pub(super) async fn forget_apart(&self, client: Client, wait: Duration) -> Result<u64, Trouble> {
        let mut connection = self.free(wait).await?;
        Self::forget(&mut connection, client).await
    }

    /// Deletes a batch of the rows behind `after` whose bucket has been full and unchanged for longer than `kept`, each by itself: a statement for all
    /// would lock every row that it looks at.
    pub(super) async fn purge(&self, kept: i64, after: &Columns, wait: Duration) -> Result<Batch, Trouble> {
        let now = self.now();
        let old = format!(
            "SELECT client, method FROM rate_limit
            WHERE (client > ? OR client = ? AND method > ?) AND GREATEST(full_at, changed_at) < {now} - ?
            ORDER BY client, method LIMIT {MAX_BATCH}"
        );
        let mut connection = self.free(wait).await?;
        let old = query(AssertSqlSafe(old))
            .bind(&after.client[..])
            .bind(&after.client[..])
            .bind(after.method)
            .bind(kept)
            .fetch_all(&mut *connection)
            .await
            .map_err(trouble)?;
        let purge = format!(
            "DELETE FROM rate_limit WHERE client = ? AND method = ? AND GREATEST(full_at, changed_at) < {now} - ?"
        );
        // One that is locked is about to be taken.
        let purge: Arc<str> = limited(Duration::from_millis(10), &purge).into();
        let old = old.iter().map(columns).collect::<Result<Vec<_>, _>>()?;
        let mut deleted = 0;
        for columns in &old {
            let purge = query(AssertSqlSafe(Arc::clone(&purge)))
                .bind(&columns.client[..])
                .bind(columns.method)
                .bind(kept);
            match purge.execute(&mut *connection).await.map_err(trouble) {
                Ok(purged) => deleted += purged.rows_affected(),
                Err(Trouble::Held(_) | Trouble::Undone(_)) => {}
                Err(trouble) => return Err(trouble),
            }
        }
        Ok(Batch::new(deleted, &old))
    }

    /// A batch of the rows behind `after`, and how they stand.
    pub(super) async fn rows(&self, after: &Columns, wait: Duration) -> Result<Vec<(Columns, Seen)>, Trouble> {
        let rows = format!(
            "SELECT client, method, full_at, refill, changed_at, {} AS now FROM rate_limit
            WHERE client > ? OR client = ? AND method > ? ORDER BY client, method LIMIT {MAX_BATCH}",
            self.now()
        );
        let mut connection = self.free(wait).await?;
        let rows = query(AssertSqlSafe(rows))
            .bind(&after.client[..])
            .bind(&after.client[..])
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
                "INSERT INTO rate_limit_methods (method, name, policy) VALUES (?, ?, ?)
                ON DUPLICATE KEY UPDATE name = VALUES(name), policy = COALESCE(VALUES(policy), policy)",
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

    pub(super) async fn create_table(&self, wait: Duration) -> Result<(), Trouble> {
        let mut connection = self.free(wait).await?;
        raw_sql(SCHEMA).execute(&mut *connection).await.map_err(trouble)?;
        Ok(())
    }
}

fn columns(row: &MySqlRow) -> Result<Columns, Trouble> {
    let client: &[u8] = row.try_get("client").map_err(trouble)?;
    Ok(Columns {
        client: client.try_into().unwrap_or_default(),
        method: row.try_get("method").map_err(trouble)?,
    })
}
