//! Connecting, in the background, until somebody answers.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use redis::{ErrorKind, RedisError, RedisResult};
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};

use super::connection::Connection;
use super::link::Link;
use super::script::Scripts;
use super::state::State;
use super::target::Target;
use crate::store::runtime::{ATTEMPT, FIRST_PAUSE, LONGEST_PAUSE, jittered};

/// The right to connect, given back when dropped: also when the runtime that connects is shut down.
struct Connecting(Weak<Link>);

impl Drop for Connecting {
    fn drop(&mut self) {
        if let Some(link) = self.0.upgrade() {
            link.connecting.store(false, Ordering::Release);
        }
    }
}

/// The connection over which the server has answered.
enum Found {
    /// The connection that was suspected, with its generation.
    Suspected(Connection, u64),
    /// A connection that was opened just now, and the address of its server.
    New(Connection, String),
}

impl Found {
    /// Returns `false` if the link has left the server meanwhile, since another one is the primary now.
    fn is_of_use(&self, link: &Link) -> bool {
        match self {
            Self::Suspected(_, generation) => {
                matches!(&*link.state.borrow(), State::Suspect(_, suspected) if suspected == generation)
            }
            Self::New(_, address) => !link.target.has_left(address),
        }
    }
}

/// Attempts a step after the other, each for itself, until one is answered: by a new connection, or by the one that is suspected.
pub(super) async fn keep_connecting(link: Weak<Link>) {
    let connecting = Connecting(link);
    let mut pause = after_useless_ones(&connecting).await;
    let mut attempts = JoinSet::new();
    let mut probed = None;
    // Ends when nobody holds the link any more.
    while let Some(link) = connecting.0.upgrade() {
        let suspect = match &*link.state.borrow() {
            State::Suspect(connection, generation) if probed != Some(*generation) => {
                Some((connection.clone(), *generation))
            }
            _ => None,
        };
        if let Some((connection, generation)) = suspect {
            probed = Some(generation);
            attempts.spawn(probe(connection, generation));
        }
        attempts.spawn(attempt(link.target.clone(), Arc::clone(&link.scripts)));
        drop(link);

        let next = Instant::now() + jittered(pause);
        // One that is not answered is followed by another one beside it; one that fails, by one after a pause.
        let mut until = Instant::now() + jittered(LONGEST_PAUSE);
        let mut failed = false;
        while let Ok(Some(answer)) = timeout_at(until, attempts.join_next()).await {
            let Some(link) = connecting.0.upgrade() else { return };
            match found(answer) {
                Ok(found) if found.is_of_use(&link) => return up(&link, connecting, found),
                Ok(_) => continue,
                Err(error) => down(&link, error),
            }
            (until, failed) = (next, true);
        }
        if failed {
            sleep_until(next).await;
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Where connecting works and no call does, each loss would be followed by an attempt at once.
async fn after_useless_ones(connecting: &Connecting) -> Duration {
    let mut pause = FIRST_PAUSE;
    let useless = connecting.0.upgrade().map_or(0, |link| {
        let useless = link.useless.load(Ordering::Relaxed);
        if useless > 1 {
            down(&link, RedisError::from((ErrorKind::Io, "connections are lost at once")));
        }
        useless
    });
    for _ in 1..useless {
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
    if useless > 1 {
        sleep(jittered(pause)).await;
    }
    pause
}

/// Answers late or never, and is not waited for any longer than another one takes.
async fn probe(mut connection: Connection, generation: u64) -> RedisResult<Found> {
    connection.send(&redis::cmd("PING")).await?;
    Ok(Found::Suspected(connection, generation))
}

async fn attempt(target: Target, scripts: Arc<Scripts>) -> RedisResult<Found> {
    let attempt = async {
        let (mut connection, address) = target.open().await?;
        scripts.load_through(&mut connection).await?;
        Ok(Found::New(connection, address))
    };
    let attempt = timeout(ATTEMPT, attempt).await;
    attempt.unwrap_or_else(|_| Err((ErrorKind::Io, "no answer to an attempt to connect").into()))
}

fn found(answer: Result<RedisResult<Found>, JoinError>) -> RedisResult<Found> {
    answer.unwrap_or_else(|_| Err((ErrorKind::Io, "an attempt to connect was given up").into()))
}

fn up(link: &Arc<Link>, connecting: Connecting, found: Found) {
    // Before the state says so: who then finds the connection lost can start anew.
    drop(connecting);
    let (connection, generation) = match found {
        Found::Suspected(connection, generation) => (connection, generation),
        Found::New(connection, address) => {
            *link.address() = address;
            // Every new connection has loaded the scripts, so no two see the same count.
            let generation = link.loads.fetch_add(1, Ordering::AcqRel) + 1;
            tokio::spawn(notice_its_end(Arc::downgrade(link), connection.driver(), generation));
            (connection, generation)
        }
    };
    link.turn(|state| {
        *state = State::Up(connection, generation);
        true
    });
    if !link.background.is_here() {
        // The background tasks moved meanwhile, and this runtime may end.
        link.connect();
    }
}

async fn notice_its_end(link: Weak<Link>, driver: watch::Receiver<()>, generation: u64) {
    Connection::closed(driver).await;
    if let Some(link) = link.upgrade() {
        link.closed(generation);
    }
}

fn down(link: &Link, error: RedisError) {
    link.turn(|state| {
        // One that is suspected is waited for.
        let waiting = matches!(state, State::Connecting | State::Down(_));
        if waiting {
            *state = State::Down(error);
        }
        waiting
    });
}
