//! `refund_on_success` and `refund_on_error`.

use rate_limit::limit_per_time;

use crate::world::{Failure, World, admitted, wait};

#[limit_per_time(2, "1m", key = user, refund_on_success)]
async fn failures_only(user: u64, right: bool) -> Result<(), Failure> {
    if right { Ok(()) } else { Err(Failure::Own) }
}

#[test]
fn only_failures_stay_charged() {
    let world = World::new();
    assert_eq!(world.run(admitted(9, || failures_only(1, true))), 9);
    assert_eq!(world.run(failures_only(1, false)), Err(Failure::Own));
    assert_eq!(
        world.run(admitted(9, || failures_only(1, true))),
        9,
        "and a success clears no failure"
    );
    assert_eq!(world.run(failures_only(1, false)), Err(Failure::Own));
    assert_eq!(wait(&world.run(failures_only(1, true))), Some(60));
}

#[limit_per_time(2, "1m", key = user, refund_on_error)]
async fn successes_only(user: u64, right: bool) -> Result<(), Failure> {
    if right { Ok(()) } else { Err(Failure::Own) }
}

#[test]
fn only_successes_stay_charged() {
    let world = World::new();
    for _ in 0..9 {
        assert_eq!(world.run(successes_only(1, false)), Err(Failure::Own));
    }
    assert_eq!(world.run(admitted(9, || successes_only(1, true))), 2);
}

#[limit_per_time(
    algorithm = token_bucket, capacity = 2, refill = "1m", key = user, refund_on_success, success = |out| matches!(out, Err(Failure::Own))
)]
async fn judged_by_itself(user: u64, right: bool) -> Result<(), Failure> {
    if right { Ok(()) } else { Err(Failure::Own) }
}

#[test]
fn the_function_says_what_a_success_is() {
    let world = World::new();
    for _ in 0..9 {
        assert_eq!(world.run(judged_by_itself(1, false)), Err(Failure::Own));
    }
    assert_eq!(world.run(admitted(9, || judged_by_itself(1, true))), 2);
}
