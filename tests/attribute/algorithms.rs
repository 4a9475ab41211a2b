//! `algorithm`, `capacity`, `refill`, `block` and `at`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rate_limit::limit_per_time;

use crate::world::{Failure, World, admitted, wait};

#[limit_per_time(algorithm = token_bucket, capacity = 3, refill = "50s", key = member)]
async fn read(member: u64) -> Result<(), Failure> {
    Ok(())
}

const CAPACITY: u32 = 2;
const REFILL: Duration = Duration::from_secs(10);

#[limit_per_time(algorithm = token_bucket, capacity = CAPACITY, refill = REFILL, key = member)]
async fn read_by_constants(member: u64) -> Result<(), Failure> {
    Ok(())
}

#[test]
fn a_bucket_admits_its_capacity_and_one_more_each_refill() {
    let world = World::new();
    assert_eq!(world.run(admitted(5, || read(1))), 3);
    assert_eq!(wait(&world.run(read(1))), Some(50));
    world.advance(75);
    assert_eq!(world.run(admitted(5, || read(1))), 1);
    assert_eq!(wait(&world.run(read(1))), Some(25), "half a token is there");
    assert_eq!(world.run(admitted(5, || read_by_constants(1))), 2);
}

#[limit_per_time(5, "10m", key = user)]
async fn by_window(user: u64) -> Result<(), Failure> {
    Ok(())
}

#[limit_per_time(algorithm = token_bucket, capacity = 5, refill = "2m", key = user)]
async fn by_bucket(user: u64) -> Result<(), Failure> {
    Ok(())
}

/// Both read "five in ten minutes", and they are not the same promise.
#[test]
fn alg_06_a_window_bounds_what_a_bucket_does_not() {
    let world = World::new();
    let (mut in_window, mut in_bucket) = (0, 0);
    // From the start to just before ten minutes are over, taking whatever is given.
    for _ in 0..599 {
        in_window += world.run(admitted(1, || by_window(1)));
        in_bucket += world.run(admitted(1, || by_bucket(1)));
        world.advance(1);
    }
    assert_eq!(in_window, 5);
    assert_eq!(
        in_bucket,
        5 + 4,
        "the capacity, and one for each two minutes that have passed"
    );
}

#[limit_per_time(algorithm = fixed_window, count = 5, window = "10s", key = user)]
async fn in_fixed_window(user: u64) -> Result<(), Failure> {
    Ok(())
}

#[test]
fn a_fixed_window_starts_anew_at_its_multiple() {
    let world = World::new();
    world.advance(9);
    assert_eq!(world.run(admitted(9, || in_fixed_window(1))), 5);
    assert_eq!(wait(&world.run(in_fixed_window(1))), Some(1));
    world.advance(1);
    assert_eq!(
        world.run(admitted(9, || in_fixed_window(1))),
        5,
        "twice the count around the boundary, as documented"
    );
    assert_eq!(wait(&world.run(in_fixed_window(1))), Some(10));
}

#[limit_per_time(2, "10s", key = user, block = "30m")]
async fn blocking(user: u64) -> Result<(), Failure> {
    Ok(())
}

#[test]
fn a_block_begins_at_the_first_refusal_and_is_not_put_off() {
    let world = World::new();
    assert_eq!(world.run(admitted(2, || blocking(1))), 2);
    assert_eq!(wait(&world.run(blocking(1))), Some(1800));
    world.advance(60);
    assert_eq!(wait(&world.run(blocking(1))), Some(1740));
    assert_eq!(world.run(admitted(1, || blocking(2))), 1, "it is one client's");
    world.advance(1740);
    assert_eq!(world.run(admitted(3, || blocking(1))), 2);
}

#[limit_per_time(algorithm = token_bucket, capacity = 3, refill = "50s", key = member, at = read_at)]
async fn read_at(member: u64, read_at: SystemTime) -> Result<(), Failure> {
    Ok(())
}

#[test]
fn events_are_counted_by_their_own_time() {
    let world = World::new();
    world.advance(86_400);
    let now = UNIX_EPOCH + Duration::from_micros(world.clock.now());
    let ago = |seconds| now - Duration::from_secs(seconds);
    assert_eq!(
        world.run(admitted(5, || read_at(1, ago(3600)))),
        3,
        "a backlog is limited as it was made"
    );
    assert_eq!(world.run(admitted(5, || read_at(1, ago(3550)))), 1);
    assert_eq!(
        world.run(admitted(9, || read_at(1, now + Duration::from_secs(3600)))),
        3,
        "no later than now"
    );
    assert_eq!(wait(&world.run(read_at(1, now))), Some(50));
}
