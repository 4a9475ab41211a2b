//! MySQL and MariaDB.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sqlx::mysql::{MySqlConnection, MySqlDatabaseError, MySqlPool, MySqlRow};
use sqlx::pool::PoolConnection;
use sqlx::{AssertSqlSafe, Connection as _, Row as _, query, query_as, raw_sql};
use tokio::sync::OnceCell;

use super::row::{Charged, Columns, Numbers, Row, Seen, in_order};
use super::stored::Named;
use super::trouble::{Code, Trouble, free, patience};
use super::{Batch, MAX_BATCH, TestClock};
use crate::key::Client;
use crate::store::{Change, Charge, Settlement};

pub(super) const SCHEMA: &str = "\
CREATE TABLE IF NOT EXISTS rate_limit (
    client BINARY(16) NOT NULL,
    method BIGINT NOT NULL,
    full_at BIGINT NOT NULL,
    refill BIGINT NOT NULL CHECK (refill > 0),
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

/// How many rows a process remembers to have made, so as not to make them again.
const MAX_MADE: usize = 10_000;

#[derive(Debug)]
pub(super) struct MySql {
    pool: MySqlPool,
    clock: TestClock,
    deadline: Duration,
    made: Mutex<HashMap<Made, Arc<OnceCell<()>>>>,
}

/// A row that is known to be there, and the numbers that it is kept by: refill and a whole bucket.
type Made = (Columns, i64, i64);

/// A statement that ends at the deadline: on MariaDB, which takes what is in this comment as SQL. MySQL has no limit for a write that
/// is below a second, and skips it.
fn limited(deadline: Duration, statement: &str) -> String {
    format!(
        "/*M! SET STATEMENT max_statement_time={:.3} FOR */ {statement}",
        deadline.as_secs_f64().max(0.001)
    )
}

fn hex(client: &[u8]) -> String {
    client.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The parts of a take, with its numbers in them. A time that is read twice is read in the order that is against the client.
struct Parts {
    insert: String,
    event: String,
    /// When the bucket is full, by the numbers of the charge.
    full_at: String,
    /// The same once the charge is taken.
    taken: String,
    /// What is missing then.
    missing: String,
    numbers: Numbers,
}

impl Parts {
    fn new(charge: &Charge, now: &str) -> Self {
        let (Columns { client, method }, numbers) = (Columns::of(&charge.key), Numbers::of(charge));
        let Numbers {
            takes,
            refill,
            whole,
            at,
        } = numbers;
        let client = hex(&client);
        let event = at.map_or_else(|| now.to_owned(), |at| format!("LEAST({at}, {now})"));
        let converted = format!(
            "(CAST(LEAST(FLOOR((CAST(GREATEST(full_at - {now}, 0) AS DECIMAL(65)) * {refill} + refill - 1) / refill), {whole}) AS SIGNED) \
             + LEAST(full_at, {now}))"
        );
        let full_at = format!("IF(refill = {refill} AND full_at - {now} <= {whole}, full_at, {converted})");
        let taken = format!("(GREATEST({full_at}, {event}) + {takes})");
        Self {
            insert: format!(
                "INSERT INTO rate_limit (client, method, refill, full_at) VALUES (x'{client}', {method}, {refill}, "
            ),
            missing: format!("({taken} - {event})"),
            event,
            full_at,
            taken,
            numbers,
        }
    }

    /// Takes, and answers when the bucket is full, doubled, and one more if the charge was taken: as the id of the insertion, which is
    /// the only number that the database sends back with a write.
    fn take(&self) -> String {
        let Self {
            insert,
            event,
            full_at,
            taken,
            missing,
            numbers,
        } = self;
        let Numbers {
            takes, refill, whole, ..
        } = numbers;
        format!(
            "{insert} LAST_INSERT_ID(({event} + {takes}) * 2 + 1) DIV 2) ON DUPLICATE KEY UPDATE \
             full_at = LAST_INSERT_ID(IF({missing} <= {whole}, {taken} * 2 + 1, {full_at} * 2)) DIV 2, refill = {refill}"
        )
    }

    /// Takes, and answers what is missing then, doubled and one more; or if the charge was not taken, the wait, doubled.
    fn take_and_tell(&self) -> String {
        let Self {
            insert,
            event,
            full_at,
            taken,
            missing,
            numbers,
        } = self;
        let Numbers {
            takes, refill, whole, ..
        } = numbers;
        format!(
            "{insert} {event} + {takes} + 0 * LAST_INSERT_ID({takes} * 2 + 1)) ON DUPLICATE KEY UPDATE \
             full_at = IF(LAST_INSERT_ID(IF({missing} <= {whole}, {missing} * 2 + 1, GREATEST({missing} - {whole}, 1) * 2)) % 2 = 1, \
             {taken}, {full_at}), refill = {refill}"
        )
    }

    /// Makes the row, of a full bucket, or has the one there is kept by the numbers of the charge.
    fn make(&self) -> String {
        let Self {
            insert,
            full_at,
            numbers,
            ..
        } = self;
        format!(
            "{insert} 0) ON DUPLICATE KEY UPDATE full_at = {full_at}, refill = {refill}",
            refill = numbers.refill
        )
    }
}

fn trouble(error: sqlx::Error) -> Trouble {
    Trouble::new(error, |error| {
        let error = error.try_downcast_ref::<MySqlDatabaseError>();
        match error.map(MySqlDatabaseError::number) {
            Some(1213 | 1020 | 1062) => Code::Undone,
            Some(1205 | 1969 | 3024) => Code::Held,
            Some(1040 | 1053 | 1203) => Code::Down,
            Some(1146) => Code::NoTable,
            Some(1044 | 1045 | 1049 | 1142 | 1143 | 1290 | 1792 | 1836) => Code::Refused,
            _ => Code::Other,
        }
    })
}

impl MySql {
    pub(super) fn new(pool: MySqlPool, clock: TestClock, deadline: Duration) -> Self {
        Self {
            pool,
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

    async fn free(&self, wait: Duration) -> Result<PoolConnection<sqlx::MySql>, Trouble> {
        free(&self.pool, wait, trouble).await
    }

    /// One attempt to charge a call: one statement, or one in a transaction for each of several charges.
    pub(super) async fn acquire(&self, charges: &[Charge], wait: Duration) -> Result<Vec<Charged>, Trouble> {
        let mut connection = self.free(wait).await?;
        let [charge] = charges else {
            return self.charge_all(&mut connection, charges).await;
        };
        Ok(vec![self.charge(&mut connection, charge).await?])
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

    /// Takes what the charge weighs, if it is there, and asks for the time in the same round trip.
    async fn charge(&self, connection: &mut MySqlConnection, charge: &Charge) -> Result<Charged, Trouble> {
        if let Some(charged) = Charged::without_asking(charge) {
            return Ok(charged);
        }
        if charge.cost == 0 {
            return self.read(connection, charge).await;
        }
        let now = self.now();
        let take = format!(
            "{}; SELECT CAST(LAST_INSERT_ID() AS SIGNED) AS answer, {now} AS now",
            Parts::new(charge, &now).take()
        );
        let row = raw_sql(self.limited(&take))
            .fetch_one(connection)
            .await
            .map_err(trouble)?;
        let answer: i64 = row.try_get("answer").map_err(trouble)?;
        let (full_at, taken) = (answer / 2, answer % 2 == 1);
        let now = row.try_get("now").map_err(trouble)?;
        if taken {
            return Ok(Charged::taken(charge, full_at, now));
        }
        let refill = Numbers::of(charge).refill;
        let seen = Seen {
            row: Some(Row { full_at, refill }),
            now,
        };
        seen.refused(charge).ok_or(Trouble::LostRace)
    }

    /// Takes in the caller's transaction, in one statement.
    pub(super) async fn charge_within(
        &self,
        connection: &mut MySqlConnection,
        charge: &Charge,
    ) -> Result<Charged, Trouble> {
        if let Some(charged) = Charged::without_asking(charge) {
            return Ok(charged);
        }
        if charge.cost == 0 {
            return self.read(connection, charge).await;
        }
        // Without it the take is right all the same, if it meets no deadlock.
        let _ = self.make(charge).await;
        let take = Parts::new(charge, &self.now()).take_and_tell();
        let answer = raw_sql(self.limited(&take)).execute(connection).await;
        let answer = answer.map_err(trouble)?.last_insert_id() as i64;
        Ok(if answer % 2 == 1 {
            Charged::taken_missing(charge, answer / 2)
        } else {
            Charged::waiting(charge, answer / 2)
        })
    }

    async fn execute(&self, statement: &str, wait: Duration) -> Result<(), Trouble> {
        let mut connection = self.free(wait).await?;
        let statement = raw_sql(self.limited(statement));
        statement.execute(&mut *connection).await.map_err(trouble)?;
        Ok(())
    }

    /// Makes the row of a charge in the caller's transaction beforehand, once a process, in a transaction of its own: the first takes of
    /// one row by several transactions that roll back deadlock. A refusal then holds also by numbers that have changed.
    async fn make(&self, charge: &Charge) -> Result<(), Trouble> {
        let Numbers { refill, whole, .. } = Numbers::of(charge);
        let made = {
            let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
            if made.len() >= MAX_MADE {
                made.clear();
            }
            Arc::clone(made.entry((Columns::of(&charge.key), refill, whole)).or_default())
        };
        // One makes it, and those that come meanwhile wait for him, so that one connection is enough.
        let wait = patience(&self.pool, self.deadline);
        let make = || async { self.execute(&Parts::new(charge, &self.now()).make(), wait).await };
        made.get_or_try_init(make).await.copied()
    }

    /// How it stands, taking nothing.
    async fn read(&self, connection: &mut MySqlConnection, charge: &Charge) -> Result<Charged, Trouble> {
        Ok(self.see(connection, charge).await?.unasked(charge))
    }

    async fn see(&self, connection: &mut MySqlConnection, charge: &Charge) -> Result<Seen, Trouble> {
        let columns = Columns::of(&charge.key);
        let read = format!(
            "SELECT b.full_at, b.refill, {} AS now
            FROM (SELECT 1) AS one LEFT JOIN rate_limit b ON b.client = ? AND b.method = ?",
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
        let missing = format!("GREATEST(full_at - {now}, 0)");
        // What later hits took is what `full_at` moved on since, or more.
        let (full_at, hit) = match settlement.change {
            Change::Reset { upto } => (format!("full_at - {}", upto.raw()), upto.raw()),
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
            "UPDATE rate_limit SET full_at = LEAST(full_at, {now} + {full_at}) \
             WHERE {this} AND refill = {refill} AND full_at >= {hit}"
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

    /// Deletes a batch of the rows behind `after` whose bucket has been full for longer than `kept`, each by itself: a statement for all
    /// would lock every row that it looks at.
    pub(super) async fn purge(&self, kept: i64, after: &Columns, wait: Duration) -> Result<Batch, Trouble> {
        let now = self.now();
        let old = format!(
            "SELECT client, method FROM rate_limit
            WHERE (client > ? OR client = ? AND method > ?) AND full_at < {now} - ?
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
        let purge = format!("DELETE FROM rate_limit WHERE client = ? AND method = ? AND full_at < {now} - ?");
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
            "SELECT client, method, full_at, refill, {} AS now FROM rate_limit
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
