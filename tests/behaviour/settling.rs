//! What a success clears, and what it does not.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rate_limit::limit_per_time;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::task::yield_now;

use crate::support::{Failure, World, abandon, refused};

#[derive(Clone, Copy, Debug)]
enum Leave {
    Tail,
    Return,
    Question,
    ReturnErr,
    Panic,
    Never,
}

fn failing() -> Result<u8, Failure> {
    Err(Failure::Own("from below"))
}

#[limit_per_time(9, "1m", key = "alice", reset_on_success)]
async fn leaves(way: Leave) -> Result<u8, Failure> {
    yield_now().await;
    match way {
        Leave::Tail => {}
        Leave::Return => return Ok(2),
        Leave::Question => return Ok(failing()? + 1),
        Leave::ReturnErr => return Err(Failure::Own("returned")),
        Leave::Panic => panic!("the body's own"),
        Leave::Never => std::future::pending().await,
    }
    Ok(1)
}

#[tokio::test]
async fn mac_03_each_way_to_leave_resets_or_does_not() {
    let answers = [
        (Leave::Tail, Ok(1), 1),
        (Leave::Return, Ok(2), 1),
        (Leave::Question, Err(Failure::Own("from below")), 0),
        (Leave::ReturnErr, Err(Failure::Own("returned")), 0),
    ];
    for (way, answer, resets) in answers {
        let world = World::new();
        assert_eq!(world.run(leaves(way)).await, answer, "{way:?}");
        assert_eq!((world.charges(), world.resets()), (1, resets), "{way:?}");
    }
}

#[tokio::test]
async fn mac_03_a_panic_and_a_dropped_future_reset_nothing() {
    let world = World::new();
    let joined = world.spawned(leaves(Leave::Panic)).await;
    assert!(joined.is_err_and(|error| error.is_panic()));
    world.run(async { abandon(leaves(Leave::Never)) }).await;
    assert_eq!((world.charges(), world.resets()), (2, 0));
}

#[limit_per_time(3, "1m", key = account, reset_on_success)]
async fn login(account: &str, right: bool) -> Result<(), Failure> {
    yield_now().await;
    if right {
        Ok(())
    } else {
        Err(Failure::Own("wrong password"))
    }
}

#[tokio::test]
async fn a_success_makes_room_for_as_many_attempts_as_at_first() {
    let world = World::new();
    world
        .run(async {
            for _ in 0..4 {
                assert_eq!(login("alice", false).await, Err(Failure::Own("wrong password")));
                assert_eq!(login("alice", false).await, Err(Failure::Own("wrong password")));
                assert_eq!(login("alice", true).await, Ok(()));
            }
            for _ in 0..3 {
                assert!(!refused(&login("alice", false).await));
            }
            assert!(refused(&login("alice", true).await));
        })
        .await;
}

#[tokio::test]
async fn rst_01_an_attackers_own_success_clears_nothing_of_the_victims() {
    let world = World::new();
    let guesses = world
        .run(async {
            let mut guesses = 0;
            for _ in 0..50 {
                for _ in 0..4 {
                    guesses += usize::from(!refused(&login("victim", false).await));
                }
                assert_eq!(login("attacker", true).await, Ok(()));
            }
            guesses
        })
        .await;
    assert_eq!(guesses, 3);
    assert_eq!(world.resets(), 50);
}

#[limit_per_time(5, "1m", key = "alice", reset_on_success)]
async fn slow(end: oneshot::Receiver<Result<(), Failure>>) -> Result<(), Failure> {
    end.await.expect("the test says how it ends")
}

#[tokio::test]
async fn rst_02_failures_that_came_after_a_success_began_stay_counted() {
    let world = World::new();
    let fail = async || {
        let (end, ended) = oneshot::channel();
        let _ = end.send(Err(Failure::Own("wrong password")));
        world.run(slow(ended)).await
    };
    let (end, ended) = oneshot::channel();
    let slowly = world.spawned(slow(ended));
    yield_now().await;
    assert_eq!(world.charges(), 1);

    let mut bodies = 0;
    for _ in 0..20 {
        bodies += usize::from(!refused(&fail().await));
    }
    assert_eq!(bodies, 4);
    let _ = end.send(Ok(()));
    assert_eq!(slowly.await.expect("it ends"), Ok(()));
    assert_eq!(world.resets(), 1);

    assert!(!refused(&fail().await), "the success gave back its own hit");
    assert!(refused(&fail().await), "and none of the four that came after it");
}

static RUN: AtomicUsize = AtomicUsize::new(0);

#[limit_per_time(5, "1m", key = "alice", reset_on_success)]
async fn guess(gate: Arc<Semaphore>) -> Result<(), Failure> {
    RUN.fetch_add(1, Ordering::SeqCst);
    let _ = gate.acquire().await;
    Err(Failure::Own("wrong password"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn rst_03_of_a_burst_no_more_than_the_limit_runs() {
    let world = World::new();
    let gate = Arc::new(Semaphore::new(0));
    let guesses: Vec<_> = (0..200).map(|_| world.spawned(guess(Arc::clone(&gate)))).collect();
    // All are decided before the first one ends.
    while world.charges() + world.refusals() < 200 {
        yield_now().await;
    }
    gate.add_permits(200);
    let mut over = 0;
    for guess in guesses {
        over += usize::from(refused(&guess.await.expect("no body panics")));
    }
    assert_eq!((RUN.load(Ordering::SeqCst), over), (5, 195));
}

#[tokio::test]
async fn rst_08_a_dropped_future_is_charged_once_or_not_at_all() {
    let world = World::new();
    world
        .run(async {
            drop(leaves(Leave::Tail));
            assert_eq!(world.charges(), 0, "never polled");
            abandon(leaves(Leave::Tail));
            assert_eq!((world.charges(), world.resets()), (1, 0), "dropped in the body");
            for _ in 0..8 {
                abandon(leaves(Leave::Never));
            }
            assert!(refused(&leaves(Leave::Tail).await), "each one kept its charge");
        })
        .await;
    assert_eq!((world.charges(), world.resets()), (9, 0));
}

#[limit_per_time(2, "1m", key = "alice", reset_on_success, on_limit = |_| Vec::new())]
async fn plain(text: &str) -> Vec<u8> {
    text.into()
}

#[tokio::test]
async fn a_value_is_handed_back_as_it_was_returned() {
    let world = World::new();
    for _ in 0..5 {
        assert_eq!(world.run(plain("as it was")).await, b"as it was");
    }
    assert_eq!(world.resets(), 5);
}

#[limit_per_time(9, "1m", key = "k", reset_on_success, on_limit = |_| usize::MAX)]
async fn guarded(slots: Arc<Semaphore>, _guard: OwnedSemaphorePermit) -> usize {
    yield_now().await;
    slots.available_permits()
}

#[limit_per_time(9, "1m", key = "k", reset_on_success, on_limit = |_| usize::MAX)]
async fn guarded_unnamed(slots: Arc<Semaphore>, _: OwnedSemaphorePermit) -> usize {
    yield_now().await;
    slots.available_permits()
}

#[tokio::test]
async fn mac_01_a_guard_is_held_until_the_body_ends() {
    let world = World::new();
    let slots = Arc::new(Semaphore::new(3));
    let guard = || Arc::clone(&slots).try_acquire_owned().expect("a slot is free");
    assert_eq!(world.run(guarded(Arc::clone(&slots), guard())).await, 2);
    assert_eq!(slots.available_permits(), 3);
    assert_eq!(world.run(guarded_unnamed(Arc::clone(&slots), guard())).await, 2);
    assert_eq!(slots.available_permits(), 3);
    assert_eq!(world.resets(), 2);
}
