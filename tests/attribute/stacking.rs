//! Several attributes on one function: one decision.

use rate_limit::{RejectionKind, limit_per_time};

use crate::world::{Failure, World, admitted, wait, why};

#[limit_per_time(1, "10s", key = user)]
#[limit_per_time(10, "1h", key = "everybody")]
async fn user_first(user: u64) -> Result<(), Failure> {
    Ok(())
}

#[limit_per_time(10, "1h", key = "everybody")]
/// With a comment in between.
#[limit_per_time(1, "10s", key = user)]
async fn everybody_first(user: u64) -> Result<(), Failure> {
    Ok(())
}

#[limit_per_time(1, "10s", key = user)]
#[tracing::instrument]
#[limit_per_time(10, "1h", key = "everybody")]
async fn with_another_between(user: u64) -> Result<(), Failure> {
    Ok(())
}

macro_rules! charges_one_or_all {
    ($($name:ident: $function:ident;)*) => {$(
        #[test]
        fn $name() {
            let world = World::new();
            assert_eq!(world.run(admitted(20, || $function(1))), 1);
            assert_eq!(
                world.run(async {
                    let mut others = 0;
                    for user in 2..30 {
                        others += admitted(1, || $function(user)).await;
                    }
                    others
                }),
                9,
                "19 refused calls of one user used up nothing of the limit of all"
            );
        }
    )*};
}
charges_one_or_all! {
    ops_01_a_refused_call_charges_no_other_rule: user_first;
    ops_01_a_refused_call_charges_no_other_rule_in_the_other_order: everybody_first;
    ops_01_a_refused_call_charges_no_other_rule_across_another_attribute: with_another_between;
}

#[limit_per_time(1, "10s", key = user)]
#[limit_per_time(1, "50s", key = user)]
#[limit_per_time(1, "20s", key = user)]
async fn three_windows(user: u64) -> Result<(), Failure> {
    Ok(())
}

#[test]
fn rules_of_one_client_count_apart_and_the_longest_wait_is_told() {
    let world = World::new();
    assert_eq!(world.run(admitted(1, || three_windows(1))), 1);
    assert_eq!(wait(&world.run(three_windows(1))), Some(50));
    world.advance(15);
    assert_eq!(wait(&world.run(three_windows(1))), Some(35));
    world.advance(35);
    assert_eq!(world.run(admitted(1, || three_windows(1))), 1);
}

#[limit_per_time(5, "1m", key = user, permit = permit)]
#[limit_per_time(3, "1h", key = user)]
async fn tightest(user: u64) -> Result<(u32, u32), Failure> {
    Ok(permit
        .decision()
        .map(|decision| (decision.limit(), decision.remaining))
        .unwrap_or_default())
}

#[test]
fn the_tightest_rule_tells_what_remains() {
    let world = World::new();
    assert_eq!(world.run(tightest(1)), Ok((3, 2)));
    assert_eq!(world.run(tightest(1)), Ok((3, 1)));
}

#[limit_per_time(2, "1m", key = user, skip_if = admin)]
#[limit_per_time(4, "1m", key = user)]
async fn one_skipped(user: u64, admin: bool) -> Result<(), Failure> {
    Ok(())
}

#[test]
fn each_rule_is_skipped_for_itself_and_keeps_its_counter() {
    let world = World::new();
    assert_eq!(world.run(admitted(2, || one_skipped(1, true))), 2);
    assert_eq!(
        world.run(admitted(9, || one_skipped(1, false))),
        2,
        "2 of the 4 are used up"
    );
    assert_eq!(world.run(admitted(9, || one_skipped(2, true))), 4);
}

#[limit_per_time(1, "1m", key = user, observe)]
#[limit_per_time(3, "1m", key = user)]
async fn one_observes(user: u64) -> Result<(), Failure> {
    Ok(())
}

#[test]
fn each_rule_observes_for_itself() {
    let world = World::new();
    assert_eq!(world.run(admitted(9, || one_observes(1))), 3);
}

#[limit_per_time(2, "1m", key = first)]
#[limit_per_time(2, "1m", key = second)]
async fn two_names(first: &str, second: &str) -> Result<(), Failure> {
    Ok(())
}

#[test]
fn a_part_that_names_nobody_refuses_the_call() {
    let world = World::new();
    assert_eq!(why(&world.run(two_names("a", " "))), Some(RejectionKind::MissingClient));
    assert_eq!(world.run(admitted(9, || two_names("a", "b"))), 2, "and charges nothing");
}
