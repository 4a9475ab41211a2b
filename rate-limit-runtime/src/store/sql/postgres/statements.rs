//! The statements, put together.

use std::sync::Arc;

/// The statements, by one clock.
#[derive(Debug)]
pub(super) struct Statements {
    pub(super) take: Arc<str>,
    pub(super) read: Arc<str>,
    pub(super) swap: Arc<str>,
    pub(super) lock: Arc<str>,
    pub(super) reset: Arc<str>,
    pub(super) refund: Arc<str>,
}

/// Lets the statement wait for a lock no longer than parameter `place`, and tells what held before.
macro_rules! limits {
    ($place:literal) => {
        concat!(
            "limits AS MATERIALIZED (SELECT current_setting('lock_timeout') AS before, set_config('lock_timeout', ",
            $place,
            ", true))"
        )
    };
}

impl Statements {
    /// Parameters of all: `$1` client, `$2` method; then what each needs. A time that is read twice is read in the order that is
    /// against the client.
    pub(super) fn new(now: &str) -> Self {
        // $3 what is taken, $4 refill, $5 a whole bucket, $6 the time of the event, $7 the longest wait for a lock.
        let (takes, refill, whole) = ("$3::bigint", "$4::bigint", "$5::bigint");
        let event = format!("LEAST($6::bigint, {now})");
        // The decision is in the guard of the UPDATE, which is evaluated anew once the row is locked. What `seen` says is as old as the
        // statement: a row that was not taken, and would fit, was changed meanwhile. A refusal locks and writes nothing. A row that goes
        // by other numbers, or by a clock that stepped back since, is left to `swap`.
        let take = format!(
            "WITH {limits},
            taken AS (
                UPDATE rate_limit b SET full_at = GREATEST(b.full_at, {event}) + {takes}, changed_at = {now} FROM limits
                WHERE b.client = $1 AND b.method = $2 AND b.refill = {refill} AND b.changed_at <= {now}
                    AND GREATEST(LEAST(b.full_at, b.changed_at + {whole}) - {event}, 0) + {takes} <= {whole}
                RETURNING b.full_at
            ),
            seen AS (
                SELECT b.full_at, b.refill, b.changed_at FROM rate_limit b WHERE b.client = $1 AND b.method = $2
            ),
            made AS (
                INSERT INTO rate_limit AS b (client, method, full_at, refill, changed_at)
                SELECT $1, $2, {event} + {takes}, {refill}, {now} FROM limits WHERE NOT EXISTS (SELECT FROM seen)
                ON CONFLICT DO NOTHING
                RETURNING b.full_at
            )
            SELECT COALESCE(taken.full_at, made.full_at) AS taken, seen.full_at, seen.refill, seen.changed_at, {now} AS now,
                set_config('lock_timeout', limits.before, true)
            FROM limits LEFT JOIN taken ON true LEFT JOIN made ON true LEFT JOIN seen ON true",
            limits = limits!("$7"),
        );
        let read = format!(
            "SELECT b.full_at, b.refill, b.changed_at, {now} AS now
            FROM (SELECT) one LEFT JOIN rate_limit b ON b.client = $1 AND b.method = $2"
        );
        let swap = format!(
            "WITH {limits} UPDATE rate_limit b SET full_at = $6, refill = $7, changed_at = $8 FROM limits
            WHERE b.client = $1 AND b.method = $2 AND b.full_at = $3 AND b.refill = $4 AND b.changed_at = $5",
            limits = limits!("$9"),
        );
        let lock = format!(
            "WITH {limits} UPDATE rate_limit b SET full_at = b.full_at FROM limits WHERE b.client = $1 AND b.method = $2
            RETURNING b.full_at, b.refill, b.changed_at, {now} AS now",
            limits = limits!("$3"),
        );
        // $3 the hit, $4 the refill that it was taken by. What later hits took is what `full_at` moved on since, or more.
        let settle = |left: &str, limits: &str| {
            format!(
                "WITH {limits} UPDATE rate_limit b SET full_at = {left} + {now}, changed_at = {now} FROM limits
                WHERE b.client = $1 AND b.method = $2 AND b.refill = $4 AND b.full_at >= $3
                    AND b.full_at > GREATEST(b.changed_at, {now})"
            )
        };
        let missing = format!("GREATEST(b.full_at - GREATEST(b.changed_at, {now}), 0)");
        let reset = format!("LEAST({missing}, b.full_at - $3)");
        let refunded = format!("GREATEST({missing} - $6, {reset})");
        Self {
            take: take.into(),
            read: read.into(),
            swap: swap.into(),
            lock: lock.into(),
            reset: settle(&reset, limits!("$5")).into(),
            refund: settle(&refunded, limits!("$5")).into(),
        }
    }
}
