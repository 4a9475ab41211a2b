//! `cost`, `skip_if`, `deny_if`, `permit`.

use rate_limit::{Permit, RejectionKind, limit_per_time};

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
    let permit: Permit = permit;
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
