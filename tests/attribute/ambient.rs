//! The ambient client.

use rate_limit::{RejectionKind, client, limit_per_time};

use crate::world::{Failure, World, admitted, why};

#[limit_per_time(2, "1m")]
async fn api() -> Result<(), Failure> {
    Ok(())
}

#[test]
fn without_a_key_the_ambient_client_is_counted() {
    let world = World::new();
    assert_eq!(world.run(client::scope("alice", admitted(5, api))), 2);
    assert_eq!(world.run(client::scope("bob", admitted(5, api))), 2);
    assert_eq!(
        world.run(client::scope(&7_u64, client::scope("alice", admitted(5, api)))),
        0,
        "the inner one holds"
    );
}

#[test]
fn key_06_without_an_ambient_client_the_call_is_turned_away() {
    let world = World::new();
    assert_eq!(why(&world.run(api())), Some(RejectionKind::Misconfigured));
    assert_eq!(
        why(&world.run(client::scope("  ", api()))),
        Some(RejectionKind::MissingClient)
    );
    assert_eq!(world.run(client::scope("alice", admitted(5, api))), 2);
}

#[test]
fn a_spawned_task_has_the_client_it_is_given() {
    let world = World::new();
    let limiter = world.limiter.clone();
    world.run(client::scope("alice", async {
        let plain = tokio::spawn({
            let limiter = limiter.clone();
            async move { limiter.scope(api()).await }
        });
        assert_eq!(why(&plain.await.expect("it ends")), Some(RejectionKind::Misconfigured));
        let given = tokio::spawn(async move { limiter.scope(client::scope("alice", api())).await });
        assert_eq!(given.await.expect("it ends"), Ok(()));
        assert_eq!(admitted(5, api).await, 1);
    }));
}
