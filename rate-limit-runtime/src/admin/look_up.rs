//! How one client stands, and his release.

use std::time::UNIX_EPOCH;

use http::StatusCode;
use serde::Serialize;

use super::limits::{self, Limit};
use super::problem::Problem;
use super::question::{Question, hash};
use super::view::millis;
use crate::key::{Client, Key};
use crate::limiter::Limiter;
use crate::policy::{Algorithm, Policy};

/// The most counters that are asked for at a time.
const MOST: usize = 4_096;
/// The most attempts that are listed of one counter, the latest.
const ATTEMPTS: usize = 20;

#[derive(Serialize)]
pub(super) struct Found {
    /// Of all readings of what was written, those of whom something is counted; the first if none is.
    clients: Vec<Standing>,
    /// Functions whose numbers are not known to this process yet.
    unknown: Vec<&'static str>,
}

#[derive(Serialize)]
struct Standing {
    client: String,
    limits: Vec<LimitStanding>,
}

#[derive(Serialize)]
struct LimitStanding {
    function: &'static str,
    /// The first of a function is 1.
    place: u8,
    policy: String,
    allowed: bool,
    limit: u32,
    remaining: u32,
    retry_after_ms: Option<u64>,
    reset_after_ms: u64,
    /// In milliseconds since 1970, the oldest first.
    attempts: Vec<u64>,
}

impl LimitStanding {
    const fn is_counted(&self) -> bool {
        !self.allowed || self.reset_after_ms > 0 || !self.attempts.is_empty()
    }
}

impl Standing {
    fn is_counted(&self) -> bool {
        self.limits.iter().any(LimitStanding::is_counted)
    }
}

/// Looks at every limit that is known, and charges nothing.
pub(super) async fn look_up(limiter: &Limiter, question: &Question) -> Result<Found, Problem> {
    let clients = question.clients(limiter)?;
    let limits = limits::of(limiter);
    let (known, unknown): (Vec<_>, Vec<_>) = limits.iter().partition(|limit| policy(limiter, limit).is_some());
    if clients.len().saturating_mul(known.len()) > MOST {
        let detail = "the id may be read in too many ways: its parts may each be text, a number, an address or a UUID";
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail));
    }
    let mut all = Vec::new();
    for client in clients {
        all.push(standing(limiter, client, &known).await?);
    }
    if all.iter().any(Standing::is_counted) {
        all.retain(Standing::is_counted);
    } else {
        all.truncate(1);
    }
    let mut unknown: Vec<_> = unknown.into_iter().map(|limit| limit.method.name()).collect();
    unknown.dedup();
    Ok(Found { clients: all, unknown })
}

/// The policy of a limit, if the store keeps it.
fn policy(limiter: &Limiter, limit: &Limit) -> Option<Policy> {
    limit.policy.filter(|policy| limiter.store().accepts(*policy).is_ok())
}

async fn standing(limiter: &Limiter, client: Client, known: &[&Limit]) -> Result<Standing, Problem> {
    let mut limits = Vec::new();
    for limit in known {
        // Without a time of an event, so that the clock of the store alone decides: it is asked how the client stands now.
        let Some(rule) = limit.rule(client) else { continue };
        let policy = rule.policy;
        let decision = limiter.peek(rule).await?;
        let keeps_times = policy.algorithm() == Algorithm::SlidingWindow && !decision.reset_after.is_zero();
        let attempts = match keeps_times {
            true => limiter.inspect(rule).await?,
            false => Vec::new(),
        };
        let since = attempts.len().saturating_sub(ATTEMPTS);
        limits.push(LimitStanding {
            function: limit.method.name(),
            place: limit.place + 1,
            policy: policy.to_string(),
            allowed: decision.allowed,
            limit: decision.limit(),
            remaining: decision.remaining,
            retry_after_ms: decision.retry_after.map(millis),
            reset_after_ms: millis(decision.reset_after),
            attempts: attempts[since..]
                .iter()
                .map(|time| millis(time.duration_since(UNIX_EPOCH).unwrap_or_default()))
                .collect(),
        });
    }
    Ok(Standing {
        client: hash(client),
        limits,
    })
}

#[derive(Serialize)]
pub(super) struct Released {
    /// How many counters were deleted; `None` at one function, where they are not counted.
    counters: Option<u64>,
}

/// Forgets all whom the question may be about, at the function that it names or at all.
pub(super) async fn release(limiter: &Limiter, question: &Question) -> Result<Released, Problem> {
    let clients = question.clients(limiter)?;
    let method = match &question.function {
        None => None,
        Some(name) => {
            let known = limits::of(limiter).into_iter().map(|limit| limit.method);
            let found = known.into_iter().find(|method| method.name() == name);
            let unknown = || Problem::new(StatusCode::NOT_FOUND, "no function of this name is limited here");
            Some(found.ok_or_else(unknown)?)
        }
    };
    let mut counters = 0;
    for client in clients {
        match method {
            Some(method) => limiter.reset(Key::new(method, client)).await?,
            None => counters += limiter.forget(client).await?,
        }
    }
    match method {
        Some(method) => tracing::info!(
            function = method.name(),
            "an operator released a client at one function"
        ),
        None => tracing::info!(counters, "an operator released a client"),
    }
    Ok(Released {
        counters: method.is_none().then_some(counters),
    })
}
