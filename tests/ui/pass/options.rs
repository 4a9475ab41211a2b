#[path = "../support.rs"]
#[allow(dead_code)]
mod support;

use rate_limit::{Permit, client, limit_per_time};
use support::{Error, run};

#[limit_per_time(3, "1h", key = user, cost = items.iter().sum())]
async fn cost(user: u64, items: &[u32]) -> Result<u64, Error> {
    Ok(user + items.len() as u64)
}

#[limit_per_time(1, "1h", key = user.unwrap(), skip_if = user.is_none())]
async fn skipped(user: Option<u64>) -> Result<u64, Error> {
    Ok(user.unwrap_or(0))
}

#[limit_per_time(1, "1h", key = user, deny_if = agent.ends_with("bot"), on_limit = |rejection| rejection.is_limited().into())]
async fn denied(user: u64, agent: String) -> u64 {
    user + agent.len() as u64
}

#[limit_per_time(1, "1h", key = user, observe)]
#[limit_per_time(2, "1h", key = user)]
async fn observed(user: u64) -> Result<u64, Error> {
    Ok(user)
}

#[limit_per_time(2, "1h", key = user, permit = admitted)]
async fn permit(user: u64) -> Result<u64, Error> {
    let admitted: Permit = admitted;
    Ok(user + admitted.decision().map_or(0, |decision| u64::from(decision.remaining)))
}

#[limit_per_time(1, "1h", key = user, permit = _permit)]
async fn unused_permit(user: u64) -> Result<u64, Error> {
    Ok(user)
}

#[limit_per_time(1, "1h")]
async fn ambient() -> Result<u64, Error> {
    Ok(7)
}

#[limit_per_time]
async fn all_by_default() -> Result<u64, Error> {
    Ok(7)
}

#[limit_per_time()]
async fn empty_parentheses() -> Result<u64, Error> {
    Ok(7)
}

#[limit_per_time(1, "1h", key = user, refund_on_success)]
async fn refund_on_success(user: u64, right: bool) -> Result<u64, Error> {
    if right { Ok(user) } else { Err(Error::Wrong) }
}

#[limit_per_time(1, "1h", key = user, refund_on_error)]
async fn refund_on_error(user: u64, right: bool) -> Result<u64, Error> {
    if right { Ok(user) } else { Err(Error::Wrong) }
}

#[limit_per_time(1, "1h", refund_on_error, success = |out| *out == Ok(7))]
async fn refund_without_key(answer: u64) -> Result<u64, Error> {
    Ok(answer)
}

#[limit_per_time(1, "1h", key = user, reset_on_success, skip_if = trusted, deny_if = user == 0)]
async fn skipped_and_settled(user: u64, trusted: bool) -> Result<u64, Error> {
    if trusted { Ok(user) } else { Err(Error::Wrong) }
}

fn main() {
    assert_eq!(
        [run(cost(7, &[1, 1])), run(cost(7, &[2]))],
        [Ok(9), Err(Error::Limited)]
    );
    assert_eq!([run(skipped(None)), run(skipped(None))], [Ok(0), Ok(0)]);
    assert_eq!(
        [run(skipped(Some(7))), run(skipped(Some(7)))],
        [Ok(7), Err(Error::Limited)]
    );
    let agent = |agent: &str| run(denied(7, agent.into()));
    assert_eq!([agent("a bot"), agent(""), agent("")], [0, 7, 1]);
    assert_eq!(
        [run(observed(7)), run(observed(7)), run(observed(7))],
        [Ok(7), Ok(7), Err(Error::Limited)]
    );
    assert_eq!(
        [run(permit(7)), run(permit(7)), run(permit(7))],
        [Ok(8), Ok(7), Err(Error::Limited)]
    );
    assert_eq!(
        [run(unused_permit(7)), run(unused_permit(7))],
        [Ok(7), Err(Error::Limited)]
    );

    let alice = || run(client::scope("alice", ambient()));
    assert_eq!(
        [alice(), alice(), run(client::scope("bob", ambient()))],
        [Ok(7), Err(Error::Limited), Ok(7)]
    );
    let alice = || run(client::scope("alice", all_by_default()));
    assert_eq!([(); 5].map(|()| alice()), [const { Ok(7) }; 5]);
    assert_eq!(alice(), Err(Error::Limited));
    let alice = || run(client::scope("alice", empty_parentheses()));
    assert_eq!([(); 5].map(|()| alice()), [const { Ok(7) }; 5]);
    assert_eq!(alice(), Err(Error::Limited));

    let [right, wrong] = [true, false];
    assert_eq!(
        [run(refund_on_success(7, right)), run(refund_on_success(7, right))],
        [Ok(7), Ok(7)]
    );
    assert_eq!(
        [run(refund_on_success(7, wrong)), run(refund_on_success(7, right))],
        [Err(Error::Wrong), Err(Error::Limited)]
    );
    assert_eq!(
        [run(refund_on_error(7, wrong)), run(refund_on_error(7, right))],
        [Err(Error::Wrong), Ok(7)]
    );
    assert_eq!(run(refund_on_error(7, right)), Err(Error::Limited));
    let answers = |answer| run(client::scope("alice", refund_without_key(answer)));
    assert_eq!(
        [answers(1), answers(7), answers(7)],
        [Ok(1), Ok(7), Err(Error::Limited)]
    );
    let settled = |trusted| run(skipped_and_settled(7, trusted));
    assert_eq!(
        [settled(true), settled(false), settled(false)],
        [Ok(7), Err(Error::Wrong), Err(Error::Limited)]
    );
    assert_eq!(settled(true), Ok(7), "skipped");
}
