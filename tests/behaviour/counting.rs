//! What is counted, for how long, and what a refusal says of it.

use std::time::Duration;

use rate_limit::{Decision, Rejection, RejectionKind, limit_per_time};

use crate::support::World;

const TICK: Duration = Duration::from_micros(1);

#[limit_per_time(count = 5, window = "10s", key = client)]
async fn call(client: &str) -> Result<(), Rejection> {
    Ok(())
}

fn wait(answer: Result<(), Rejection>) -> Option<Duration> {
    answer.err().and_then(|rejection| rejection.retry_after())
}

#[tokio::test]
async fn the_window_is_half_open() {
    let world = World::new();
    world
        .run(async {
            for _ in 0..5 {
                assert_eq!(call("alice").await, Ok(()));
                world.clock.advance(Duration::from_secs(1));
            }
            world.clock.advance(Duration::from_millis(4_999));
            assert_eq!(wait(call("alice").await), Some(Duration::from_millis(1)), "at 9.999 s");
            world.clock.advance(Duration::from_millis(1));
            assert_eq!(call("alice").await, Ok(()), "at 10.000 s");
            assert_eq!(
                wait(call("alice").await),
                Some(Duration::from_secs(1)),
                "the hit at 1 s still counts"
            );
        })
        .await;
}

#[tokio::test]
async fn what_is_refused_is_not_recorded() {
    let world = World::new();
    world
        .run(async {
            for _ in 0..5 {
                assert_eq!(call("alice").await, Ok(()));
            }
            for second in 0..10 {
                assert_eq!(wait(call("alice").await), Some(Duration::from_secs(10 - second)));
                world.clock.advance(Duration::from_secs(1));
            }
            for _ in 0..5 {
                assert_eq!(call("alice").await, Ok(()), "the refusals extended nothing");
            }
        })
        .await;
    assert_eq!(world.store.memory.len(), 1);
}

#[tokio::test]
async fn the_wait_that_is_told_is_exact() {
    let world = World::new();
    world
        .run(async {
            for gap in [0, 700, 1_300, 5, 999] {
                world.clock.advance(Duration::from_micros(gap));
                assert_eq!(call("alice").await, Ok(()));
            }
            let told = wait(call("alice").await).expect("the sixth is refused");
            assert_eq!(told, Duration::from_micros(10_000_000 - 700 - 1_300 - 5 - 999));
            world.clock.advance(told - TICK);
            assert_eq!(wait(call("alice").await), Some(TICK));
            world.clock.advance(TICK);
            assert_eq!(call("alice").await, Ok(()));
        })
        .await;
}

#[tokio::test]
async fn a_clock_that_steps_back_holds_nobody_up_for_longer_than_a_window() {
    let world = World::new();
    world
        .run(async {
            for _ in 0..5 {
                assert_eq!(call("alice").await, Ok(()));
            }
            world.clock.step_back(Duration::from_secs(3600));
            let told = wait(call("alice").await).expect("the five still count");
            assert_eq!(told, Duration::from_secs(10));
            world.clock.advance(told);
            assert_eq!(call("alice").await, Ok(()));
        })
        .await;
}

#[limit_per_time(2, "1m", key = "k", reset_on_success)]
async fn settled(right: bool) -> Result<Option<Rejection>, Rejection> {
    if right {
        return Ok(None);
    }
    // A refusal of something inside is an error as any other.
    inner().await?;
    inner().await?;
    Ok(None)
}

#[limit_per_time(1, "30s", key = "k")]
async fn inner() -> Result<(), Rejection> {
    Ok(())
}

#[tokio::test]
async fn a_limited_function_in_another_is_charged_for_itself() {
    let world = World::new();
    let rejection = world
        .run(settled(false))
        .await
        .expect_err("the second inner call is refused");
    assert_eq!(rejection.method(), "inner");
    assert_eq!((world.charges(), world.refusals(), world.resets()), (2, 1, 0));
    assert_eq!(world.run(settled(true)).await, Ok(None));
    assert_eq!(world.resets(), 1);
}

#[tokio::test]
async fn a_refusal_tells_its_limit() {
    let world = World::new();
    let rejection = world
        .run(async {
            for _ in 0..5 {
                call("alice").await?;
                world.clock.advance(Duration::from_millis(100));
            }
            call("alice").await
        })
        .await
        .expect_err("the sixth is refused");
    assert_eq!(rejection.kind(), RejectionKind::Limited);
    assert_eq!(rejection.method(), "call");
    assert_eq!(rejection.policy().count(), 5);
    assert_eq!(rejection.policy().window(), Duration::from_secs(10));
    assert_eq!(
        rejection.to_string(),
        "too many calls of `call` (5 in 10s): try again in 10s"
    );
    let Some(Decision {
        allowed: false,
        remaining: 0,
        reset_after,
        ..
    }) = rejection.decision()
    else {
        panic!("no decision in {rejection:?}");
    };
    assert_eq!(*reset_after, Duration::from_millis(9_900));
}

#[limit_per_time(key = "k")]
async fn by_default() -> Result<(), Rejection> {
    Ok(())
}

const TWICE: u32 = 2;
const HALF_A_DAY: Duration = Duration::from_secs(43_200);

#[limit_per_time(TWICE, HALF_A_DAY, key = "k")]
async fn by_constants() -> Result<(), Rejection> {
    Ok(())
}

#[limit_per_time(window = Duration::from_millis(1500), key = "k", count = TWICE * 2 - 1)]
async fn by_expressions() -> Result<(), Rejection> {
    Ok(())
}

#[limit_per_time(1, "1h30m", key = "k")]
async fn by_literals() -> Result<(), Rejection> {
    Ok(())
}

#[tokio::test]
async fn numbers_are_given_in_each_form() {
    let world = World::new();
    macro_rules! policy {
        ($function:ident, $count:literal) => {
            world
                .run(async {
                    for _ in 0..$count {
                        assert_eq!($function().await, Ok(()));
                    }
                    $function()
                        .await
                        .expect_err("one over the limit")
                        .policy()
                        .to_string()
                })
                .await
        };
    }
    assert_eq!(policy!(by_default, 5), "5 in 1m");
    assert_eq!(policy!(by_constants, 2), "2 in 12h");
    assert_eq!(policy!(by_expressions, 3), "3 in 1s500ms");
    assert_eq!(policy!(by_literals, 1), "1 in 1h30m");
}
