//! `cost`, `skip_if`, `deny_if`, `permit`.

use rate_limit::{Permit, RejectionKind, limit_per_time};
use tokio::task::JoinHandle;

use crate::world::{Failure, World, admitted, wait, why};

#[limit_per_time(10, "1m", key = user, cost = items.len() as u32)]
async fn import(user: u64, items: Vec<u8>) -> Result<usize, Failure> {
    Ok(items.len())
}

#[test]
fn alg_08_a_call_weighs_its_cost() {
    let world = World::new();
    let of = |items| world.run(import(1, vec![0; items]));
    assert!(of(8).is_ok());
    assert_eq!(wait(&of(3)), Some(60));
    assert!(of(2).is_ok());
    assert_eq!(wait(&of(1)), Some(60));
    assert!(of(0).is_ok(), "what weighs nothing is admitted");
    assert_eq!(why(&of(11)), Some(RejectionKind::Impossible));
    assert_eq!(wait(&of(11)), None, "waiting is no use");
}

struct User {
    id: u64,
    admin: bool,
}

#[limit_per_time(1, "1m", key = user.expect("it is somebody").id, skip_if = user.is_none_or(|user| user.admin))]
async fn post(user: Option<&User>) -> Result<(), Failure> {
    let _ = user;
    Ok(())
}

#[test]
fn a_skipped_call_is_not_charged_and_its_key_not_evaluated() {
    let world = World::new();
    let (admin, alice) = (User { id: 1, admin: true }, User { id: 1, admin: false });
    assert_eq!(world.run(admitted(3, || post(None))), 3);
    assert_eq!(world.run(admitted(3, || post(Some(&admin)))), 3);
    assert_eq!(world.run(admitted(3, || post(Some(&alice)))), 1);
}

#[limit_per_time(1, "1m", key = visitor, deny_if = agent.contains("bot"), on_limit = |rejection| {
    kinds.lock().expect("nobody panics").push(rejection.kind());
    false
})]
async fn visit(visitor: u64, agent: &str, kinds: &std::sync::Mutex<Vec<RejectionKind>>) -> bool {
    true
}

#[test]
fn a_denied_call_is_turned_away_before_anything_is_charged() {
    let world = World::new();
    let kinds = std::sync::Mutex::default();
    assert!(!world.run(visit(1, "a bot", &kinds)));
    assert!(world.run(visit(1, "", &kinds)), "the bot used up nobody's minute");
    assert!(!world.run(visit(1, "", &kinds)));
    assert!(!world.run(visit(1, "another bot", &kinds)));
    let kinds = kinds.into_inner().expect("nobody panics");
    assert_eq!(
        kinds,
        [RejectionKind::Denied, RejectionKind::Limited, RejectionKind::Denied]
    );
}

#[limit_per_time(3, "1m", key = user, permit = permit)]
async fn remaining(user: u64) -> Result<u32, Failure> {
    Ok(permit.decision().map_or(0, |decision| decision.remaining))
}

#[test]
fn a_body_sees_its_permit() {
    let world = World::new();
    assert_eq!(world.run(remaining(1)), Ok(2));
    assert_eq!(world.run(remaining(1)), Ok(1));
    assert_eq!(world.run(remaining(1)), Ok(0));
    assert_eq!(wait(&world.run(remaining(1))), Some(60));
}

fn parse(code: &str) -> Result<u64, Failure> {
    code.parse().map_err(|_| Failure::Own)
}

/// Settles by hand: a code that is no number costs nothing, a right one clears the record, and a wrong one stays charged.
#[limit_per_time(2, "1m", key = user, permit = permit)]
async fn redeem(user: u64, code: &str) -> Result<&str, Failure> {
    if code.is_empty() {
        permit.refund().await.expect("it is in memory");
        return Ok("nothing to redeem");
    }
    let code = parse(code)?;
    if code != 42 {
        return Ok("wrong");
    }
    permit.reset().await.expect("it is in memory");
    Ok("right")
}

#[test]
fn f_19_a_body_settles_its_permit() {
    let world = World::new();
    let redeem = |code| world.run(redeem(1, code));
    for _ in 0..3 {
        assert_eq!(redeem(""), Ok("nothing to redeem"), "an early return that refunds");
    }
    assert_eq!(redeem("x"), Err(Failure::Own), "an early `?`");
    assert_eq!(redeem("42"), Ok("right"));
    assert_eq!(redeem("41"), Ok("wrong"));
    assert_eq!(redeem(""), Ok("nothing to redeem"), "a place is left");
    assert_eq!(redeem("41"), Ok("wrong"));
    assert_eq!(wait(&redeem("42")), Some(60), "the wrong ones stay charged");
}

#[limit_per_time(1, "1m", key = user, permit = permit)]
async fn in_the_background(user: u64) -> Result<JoinHandle<()>, Failure> {
    Ok(tokio::spawn(async move {
        permit.refund().await.expect("it is in memory");
    }))
}

#[limit_per_time(1, "1m", key = user, permit = permit)]
fn in_a_future(user: u64) -> impl Future<Output = Result<(), Failure>> {
    async move { permit.refund().await.map_err(|_| Failure::Own) }
}

/// What is given back later is given back once: a permit that was settled is gone.
struct Outbox(Option<Permit>);

impl Outbox {
    #[limit_per_time(1, "1m", key = user, permit = permit)]
    async fn take(&mut self, user: u64) -> Result<(), Failure> {
        self.0 = Some(permit);
        Ok(())
    }
}

#[test]
fn f_19_a_permit_outlives_the_body() {
    let world = World::new();
    world.run(async {
        let task = in_the_background(1).await.expect("it is the first");
        task.await.expect("it settles");
        assert!(in_the_background(1).await.is_ok(), "it was given back");

        assert_eq!(admitted(3, || in_a_future(1)).await, 3);

        let mut outbox = Outbox(None);
        assert_eq!(outbox.take(1).await, Ok(()));
        assert_eq!(why(&outbox.take(1).await), Some(RejectionKind::Limited));
        let permit = outbox.0.take().expect("it was put there");
        permit.refund().await.expect("it is in memory");
        assert_eq!(outbox.take(1).await, Ok(()));
    });
}

#[derive(PartialEq)]
struct Role {
    admin: bool,
}

/// A struct literal where an `if` would take it for its block.
#[limit_per_time(1, "1m", key = "k", skip_if = Role { admin: true } == role, deny_if = Role { admin: false }.admin)]
async fn by_role(role: Role) -> Result<(), Failure> {
    Ok(())
}

#[test]
fn a_condition_is_any_expression() {
    let world = World::new();
    assert_eq!(world.run(admitted(3, || by_role(Role { admin: true }))), 3);
    assert_eq!(world.run(admitted(3, || by_role(Role { admin: false }))), 1);
}
