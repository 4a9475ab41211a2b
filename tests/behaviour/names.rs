//! `name = ".."`: one counter for several functions, and one that stays when the function moves.

use rate_limit::{Client, Key, Limiter, Method, Policy, Rejection, Rule, limit_per_time};

use crate::log;
use crate::support::World;

const MINUTE: std::time::Duration = std::time::Duration::from_secs(60);

#[limit_per_time(2, "1m", key = user, name = "login")]
async fn over_http(user: &str) -> Result<(), Rejection> {
    Ok(())
}

#[limit_per_time(2, "1m", key = user, name = "login", reset_on_success, success = |_| false)]
async fn over_grpc(user: &str) -> Result<(), Rejection> {
    Ok(())
}

#[limit_per_time(2, "1m", key = user, name = "logout")]
async fn logout(user: &str) -> Result<(), Rejection> {
    Ok(())
}

struct Generic<T>(T);

impl<T> Generic<T> {
    #[limit_per_time(2, "1m", key = "k", name = "portal::generic")]
    async fn call(&self) -> Result<(), Rejection> {
        Ok(())
    }
}

#[tokio::test]
async fn functions_of_one_name_share_their_counters() {
    let world = World::new();
    world
        .run(async {
            assert_eq!(over_http("alice").await, Ok(()));
            assert_eq!(over_grpc("alice").await, Ok(()));
            assert!(over_http("alice").await.is_err());
            assert!(over_grpc("alice").await.is_err());
            assert_eq!(over_grpc("bob").await, Ok(()));
            assert_eq!(logout("alice").await, Ok(()));
        })
        .await;
    assert_eq!(world.methods(), ["login", "login", "login", "logout"]);
}

#[tokio::test]
async fn a_name_shows_in_refusals_by_its_last_segment() {
    let world = World::new();
    let rejection = world
        .run(async {
            Generic(1).call().await?;
            Generic("a").call().await?;
            Generic('c').call().await
        })
        .await
        .expect_err("one counter for all type arguments");
    assert_eq!(rejection.method(), "generic");
}

#[tokio::test]
async fn a_named_counter_is_seen_and_let_go_from_outside() {
    let world = World::new();
    let limiter: &Limiter = &world.limiter;
    let key = Key::new(Method::named("login"), Client::of("alice").expect("a name"));
    let policy = Policy::sliding_window(2, MINUTE);
    assert_eq!(
        limiter
            .peek(Rule::new(policy, key))
            .await
            .map(|seen| seen.remaining)
            .ok(),
        Some(2)
    );
    for _ in 0..2 {
        assert_eq!(world.run(over_http("alice")).await, Ok(()));
    }
    assert_eq!(
        limiter
            .peek(Rule::new(policy, key))
            .await
            .map(|seen| seen.retry_after)
            .ok(),
        Some(Some(MINUTE))
    );
    assert!(world.run(over_http("alice")).await.is_err());
    assert!(limiter.reset(key).await.is_ok());
    assert_eq!(world.run(over_http("alice")).await, Ok(()));
}

async fn one_path_for_two(world: &World) -> [bool; 4] {
    let first = async || {
        #[limit_per_time(2, "1m", key = "k")]
        async fn inner() -> Result<(), Rejection> {
            Ok(())
        }
        world.run(inner()).await.is_ok()
    };
    let second = async || {
        #[limit_per_time(2, "1m", key = "k")]
        async fn inner() -> Result<(), Rejection> {
            Ok(())
        }
        world.run(inner()).await.is_ok()
    };
    [first().await, second().await, first().await, second().await]
}

#[tokio::test]
async fn two_functions_of_one_path_share_a_counter_and_that_is_said_once() {
    let world = World::new();
    log::take();
    assert_eq!(one_path_for_two(&world).await, [true, true, false, false]);
    let said = log::take();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].contains("ERROR") && said[0].contains("behaviour::names::one_path_for_two::"),
        "{said:?}"
    );
    assert!(said[0].contains("give each a name of its own"), "{said:?}");
}
