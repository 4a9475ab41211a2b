//! The statements that take, put together.

use crate::store::Charge;
use crate::store::sql::row::{Columns, Numbers};

pub(super) fn hex(client: &[u8]) -> String {
    client.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The parts of a take, with its numbers in them. A time that is read twice is read in the order that is against the client.
pub(super) struct Parts {
    this: String,
    now: String,
    event: String,
    /// Whether the row goes by these numbers, and by a clock that did not step back since.
    known: String,
    /// What would be missing once the charge is taken, as far as this capacity sees it.
    missing: String,
    numbers: Numbers,
}

impl Parts {
    pub(super) fn new(charge: &Charge, now: &str) -> Self {
        let (Columns { client, method }, numbers) = (Columns::of(&charge.key), Numbers::of(charge));
        let Numbers {
            takes,
            refill,
            whole,
            at,
        } = numbers;
        let event = at.map_or_else(|| now.to_owned(), |at| format!("LEAST({at}, {now})"));
        Self {
            this: format!("x'{}', {method}", hex(&client)),
            known: format!("(refill = {refill} AND changed_at <= {now})"),
            missing: format!("(GREATEST(LEAST(full_at, changed_at + {whole}) - {event}, 0) + {takes})"),
            now: now.to_owned(),
            event,
            numbers,
        }
    }

    /// Takes, and answers when the bucket is full, doubled, and one more if the charge was taken: as the id of the insertion, which is
    /// the only number that the database sends back with a write. Each assignment sees those before it.
    pub(super) fn take(&self) -> String {
        let Self {
            this,
            now,
            event,
            known,
            missing,
            numbers: Numbers {
                takes, refill, whole, ..
            },
        } = self;
        format!(
            "INSERT INTO rate_limit (client, method, refill, changed_at, full_at) \
             VALUES ({this}, {refill}, {now}, LAST_INSERT_ID(({event} + {takes}) * 2 + 1) DIV 2) ON DUPLICATE KEY UPDATE \
             full_at = LAST_INSERT_ID(IF({known} AND {missing} <= {whole}, (GREATEST(full_at, {event}) + {takes}) * 2 + 1, full_at * 2)), \
             changed_at = IF(full_at % 2 = 1, {now}, changed_at), full_at = full_at DIV 2"
        )
    }

    /// Takes, and answers what is missing then, doubled and one more; of a charge that was not taken what would be missing, doubled, and
    /// 0 of a row that goes by other numbers. While the row is taken from `full_at` is negative, which `changed_at` sees.
    pub(super) fn take_and_tell(&self) -> String {
        let Self {
            this,
            now,
            event,
            known,
            missing,
            numbers: Numbers {
                takes, refill, whole, ..
            },
        } = self;
        let taken = format!("(GREATEST(full_at - {event}, 0) + {takes}) * 2 + 1");
        format!(
            "INSERT INTO rate_limit (client, method, refill, changed_at, full_at) \
             VALUES ({this}, {refill}, {now}, {event} + {takes} + 0 * LAST_INSERT_ID({takes} * 2 + 1)) ON DUPLICATE KEY UPDATE \
             full_at = IF(LAST_INSERT_ID(IF({known}, IF({missing} <= {whole}, {taken}, {missing} * 2), 0)) % 2 = 1, \
             -GREATEST(full_at, {event}) - {takes}, full_at), changed_at = IF(full_at < 0, {now}, changed_at), full_at = ABS(full_at)"
        )
    }

    /// Makes the row, of a full bucket.
    pub(super) fn make(&self) -> String {
        format!(
            "INSERT INTO rate_limit (client, method, refill, changed_at, full_at) VALUES ({}, {}, 0, 0) \
             ON DUPLICATE KEY UPDATE full_at = full_at",
            self.this, self.numbers.refill
        )
    }
}
