//! Functions that return a future and are not `async`.

use std::future::Future;
use std::pin::Pin;

use rate_limit::limit_per_time;

use crate::world::{Failure, World, admitted, wait};

#[limit_per_time(2, "1m", key = user)]
fn opaque(user: u64) -> impl Future<Output = Result<u64, Failure>> + Send {
    let doubled = user * 2;
    async move { Ok(doubled + user - user) }
}

#[limit_per_time(2, "1m", key = user)]
fn boxed<'a>(user: &'a str) -> Pin<Box<dyn Future<Output = Result<usize, Failure>> + Send + 'a>> {
    Box::pin(async move {
        if user == "early" {
            return Ok(0);
        }
        Ok(user.len())
    })
}

#[limit_per_time(2, "1m", key = user.clone(), reset_on_success)]
fn settled(user: String, right: bool) -> impl Future<Output = Result<String, Failure>> + Send {
    async move { if right { Ok(user) } else { Err(Failure::Own) } }
}

#[test]
fn mac_25_a_future_that_is_returned_is_limited() {
    let world = World::new();
    assert_eq!(world.run(opaque(1)), Ok(2));
    assert_eq!(world.run(admitted(9, || opaque(1))), 1);
    assert_eq!(world.run(boxed("early")), Ok(0));
    assert_eq!(world.run(admitted(9, || boxed("early"))), 1);
    assert_eq!(world.run(boxed("late")), Ok(4));
}

#[test]
fn mac_25_a_future_that_is_made_and_dropped_is_not_charged() {
    let world = World::new();
    for _ in 0..5 {
        drop(opaque(1));
        drop(boxed("a"));
    }
    assert_eq!(world.run(admitted(9, || opaque(1))), 2);
    assert_eq!(world.run(admitted(9, || boxed("a"))), 2);
}

#[test]
fn a_future_that_is_returned_is_settled() {
    let world = World::new();
    let alice = || "alice".to_owned();
    for _ in 0..5 {
        assert_eq!(world.run(settled(alice(), false)), Err(Failure::Own));
        assert_eq!(world.run(settled(alice(), true)), Ok(alice()));
    }
    assert_eq!(world.run(settled(alice(), false)), Err(Failure::Own));
    assert_eq!(world.run(settled(alice(), false)), Err(Failure::Own));
    assert_eq!(wait(&world.run(settled(alice(), true))), Some(60));
}
