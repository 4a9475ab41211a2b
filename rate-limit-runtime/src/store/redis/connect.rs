//! Connecting, in the background, until somebody answers.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{ErrorKind, RedisError, RedisResult};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};

use super::link::{Link, State};
use super::script::Scripts;
use super::target::{ATTEMPT, Target};
pub(super) use crate::store::runtime::jittered;
use crate::store::runtime::{FIRST_PAUSE, LONGEST_PAUSE};

/// The right to connect, given back when dropped: also when the runtime that connects is shut down.
struct Connecting(Weak<Link>);

impl Drop for Connecting {
    fn drop(&mut self) {
        if let Some(link) = self.0.upgrade() {
            link.connecting.store(false, Ordering::Release);
        }
    }
}

/// Somebody who answers: a connection, and its generation if it is the one that was suspected.
type Found = (MultiplexedConnection, Option<u64>);

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
                Ok(found) => return up(&link, connecting, found),
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
async fn probe(mut connection: MultiplexedConnection, generation: u64) -> RedisResult<Found> {
    let ping = redis::cmd("PING");
    connection.send_packed_command(&ping).await?;
    Ok((connection, Some(generation)))
}

async fn attempt(target: Target, scripts: Arc<Scripts>) -> RedisResult<Found> {
    let attempt = async {
        let mut connection = target.open().await?;
        scripts.load_through(&mut connection).await?;
        Ok((connection, None))
    };
    let attempt = timeout(ATTEMPT, attempt).await;
    attempt.unwrap_or_else(|_| Err((ErrorKind::Io, "no answer to an attempt to connect").into()))
}

fn found(answer: Result<RedisResult<Found>, JoinError>) -> RedisResult<Found> {
    answer.unwrap_or_else(|_| Err((ErrorKind::Io, "an attempt to connect was given up").into()))
}

fn up(link: &Link, connecting: Connecting, (connection, generation): Found) {
    // Before the state says so: who then finds the connection lost can start anew.
    drop(connecting);
    // Every new connection has loaded the scripts, so no two see the same count.
    let generation = generation.unwrap_or_else(|| link.loads.fetch_add(1, Ordering::AcqRel) + 1);
    link.turn(|state| {
        *state = State::Up(connection, generation);
        true
    });
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
