//! The pool's connections, and which of them are tested before a statement is sent on one.

use std::collections::VecDeque;
use std::future::{Future as _, poll_fn};
use std::ops::{Deref, DerefMut};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::{Connection as _, Database, Error, Executor, Pool, raw_sql};
use tokio::time::{Instant, timeout, timeout_at};

use super::HOUSEKEEPING;
use super::trouble::{Trouble, unconnected};
use crate::store::background::Background;

/// How long a connection may be idle and is still taken to be alive.
const FRESH: Duration = Duration::from_secs(1);

/// What a store knows of the connections of its pool, which hands out the one that has been idle for longest.
#[derive(Debug, Default)]
pub(super) struct History(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// When connections were taken, the oldest first: as many as the pool has, and one more.
    taken: VecDeque<Instant>,
    /// How many connections the pool had at the last of these times.
    connections: usize,
    /// How many idle connections, the next ones, belong to a runtime that is not the store's.
    foreign: usize,
}

impl History {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has every connection tested before it is used again, since one was lost or did not answer.
    pub(super) fn forget(&self) {
        self.known().taken.clear();
    }

    /// Has the connections closed that there are now, as soon as they are idle: they end with the runtime of the first caller.
    pub(super) fn disown(&self) {
        let known = &mut *self.known();
        known.foreign = known.connections;
    }

    /// Notes that a connection of so many is taken. Returns whether the pool's connections were all taken within the last second.
    fn take(&self, connections: u32) -> bool {
        let (now, connections) = (Instant::now(), connections as usize);
        let Known {
            taken,
            connections: known,
            ..
        } = &mut *self.known();
        *known = connections;
        taken.push_back(now);
        while taken.len() > connections + 1 {
            taken.pop_front();
        }
        taken.len() > connections && taken.front().is_some_and(|first| now - *first < FRESH)
    }

    /// Returns whether an idle connection is one to be closed.
    fn take_foreign(&self) -> bool {
        let known = &mut *self.known();
        let foreign = known.foreign > 0;
        known.foreign -= usize::from(foreign);
        foreign
    }
}

/// The connections of a pool to a server.
#[derive(Debug)]
pub(super) struct Connections<DB: Database> {
    pool: Pool<DB>,
    history: Arc<History>,
    pub(super) background: Arc<Background>,
    dialect: Dialect,
}

/// What differs between databases.
#[derive(Debug)]
pub(super) struct Dialect {
    pub(super) trouble: fn(Error) -> Trouble,
    /// A statement that takes a millisecond.
    pub(super) a_while: &'static str,
}

impl<DB: Database> Connections<DB>
where
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
{
    pub(super) const fn new(
        pool: Pool<DB>,
        history: Arc<History>,
        background: Arc<Background>,
        dialect: Dialect,
    ) -> Self {
        Self {
            pool,
            history,
            background,
            dialect,
        }
    }

    /// Takes a connection as soon as one is free. That none is counts as an outage.
    ///
    /// An idle connection may have ended without a sign, and what is sent on it would get no answer. So one that has not been used
    /// for a while is tested first, and the next is taken where it fails. What the pool tests itself may be of a runtime that has ended.
    pub(super) async fn take(&self, wait: Duration) -> Result<Lease<DB>, Trouble> {
        let end = Instant::now() + wait;
        let mut silent = false;
        loop {
            let idle = self.pool.num_idle() > 0;
            let room = idle || self.pool.size() < self.pool.options().get_max_connections();
            let mut lease = match Lease::take(&self.pool, end).await {
                Err(Error::PoolTimedOut) if room => return Err(Trouble::Unconnected(unconnected())),
                lease => lease.map_err(self.dialect.trouble)?,
            };
            lease.background = Some(Arc::clone(&self.background));
            let fresh = self.history.take(self.pool.size());
            // One that is new, or handed over by another task, was not idle.
            if !idle {
                return Ok(lease);
            }
            if !self.history.take_foreign() {
                if fresh {
                    return Ok(lease);
                }
                // What made one connection silent has made the others so: they are not waited for in turn.
                if !silent {
                    let left = end.saturating_duration_since(Instant::now());
                    match timeout(left / 4, is_alive::<DB>(&mut lease, self.dialect.a_while)).await {
                        Ok(true) => return Ok(lease),
                        Ok(false) => {}
                        Err(_) => silent = true,
                    }
                }
            }
            lease.close();
        }
    }

    /// Returns how long to wait for a second connection while the caller holds one. If the pool is the caller's, it may be that all
    /// who hold the others wait for one here too; or that one is on its way back.
    pub(super) fn patience(&self, wait: Duration) -> Duration {
        let spare = self.pool.num_idle() > 0 || self.pool.size() < self.pool.options().get_max_connections();
        if spare {
            wait / 2
        } else {
            wait.min(Duration::from_millis(10))
        }
    }
}

/// Returns whether a connection answers, and the runtime that opened it still lives.
///
/// On a connection of a runtime that has ended something can still be sent, and an answer be read that is there at once, but none be
/// waited for. So one that comes too early to prove anything is followed by a statement that takes `a_while`.
async fn is_alive<DB: Database>(connection: &mut DB::Connection, a_while: &'static str) -> bool
where
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
{
    let mut waited = false;
    let answer = {
        let mut ping = pin!(connection.ping());
        poll_fn(|context| {
            let answer = ping.as_mut().poll(context);
            waited |= answer.is_pending();
            answer
        })
        .await
    };
    answer.is_ok() && (waited || raw_sql(a_while).execute(connection).await.is_ok())
}

/// A connection that is back in the pool when it is dropped. It is closed if it was away for so long that it may never answer, or if
/// the background tasks have moved from the runtime that it was used in, and with which it may end.
#[derive(Debug)]
pub(super) struct Lease<DB: Database> {
    connection: PoolConnection<DB>,
    since: Instant,
    /// None where connections do not end with a runtime.
    background: Option<Arc<Background>>,
}

impl<DB: Database> Lease<DB> {
    /// Takes a connection as the pool hands it out.
    pub(super) async fn take(pool: &Pool<DB>, end: Instant) -> Result<Self, Error> {
        let connection = timeout_at(end, pool.acquire()).await;
        Ok(Self {
            connection: connection.unwrap_or(Err(Error::PoolTimedOut))?,
            since: Instant::now(),
            background: None,
        })
    }

    /// Closes the connection, on a task of its own.
    fn close(mut self) {
        self.connection.close_on_drop();
    }
}

impl<DB: Database> Deref for Lease<DB> {
    type Target = DB::Connection;

    fn deref(&self) -> &DB::Connection {
        &self.connection
    }
}

impl<DB: Database> DerefMut for Lease<DB> {
    fn deref_mut(&mut self) -> &mut DB::Connection {
        &mut self.connection
    }
}

impl<DB: Database> Drop for Lease<DB> {
    fn drop(&mut self) {
        let is_foreign = self.background.as_ref().is_some_and(|background| !background.is_here());
        if is_foreign || self.since.elapsed() >= HOUSEKEEPING {
            self.connection.close_on_drop();
        }
    }
}
