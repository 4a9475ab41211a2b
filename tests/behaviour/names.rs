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

/// As macros of server functions do: the attribute goes onto the function and onto what calls it.
macro_rules! copied {
    ($(#[$attribute:meta])+ async fn $name:ident($user:ident), $inner:ident) => {
        $(#[$attribute])+
        async fn $inner($user: &str) -> Result<(), Rejection> {
            Ok(())
        }

        $(#[$attribute])+
        async fn $name($user: &str) -> Result<(), Rejection> {
            $inner($user).await
        }
    };
}

copied! {
    #[limit_per_time(4, "1m", key = user, name = "copied")]
    async fn copied(user), copied_inner
}

copied! {
    #[limit_per_time(4, "1m", key = user, name = "copied, settled", refund_on_error)]
    async fn settled(user), settled_inner
}

#[limit_per_time(4, "1m", key = user, name = "wrapped")]
async fn wrapping(user: &str) -> Result<(), Rejection> {
    wrapped(user).await
}

#[limit_per_time(4, "1m", key = user, name = "wrapped")]
async fn wrapped(user: &str) -> Result<(), Rejection> {
    tokio::task::yield_now().await;
    Ok(())
}

struct Service;

#[limit_per_time(4, "1m", key = user, name = "service")]
impl Service {
    async fn all(&self, user: &str) -> Result<(), Rejection> {
        self.one(user).await
    }

    async fn one(&self, user: &str) -> Result<(), Rejection> {
        Ok(())
    }
}

/// The lines of the log that tell of this name.
fn warned(name: &str) -> Vec<String> {
    let of = |line: &String| line.contains("charged twice") && line.contains(&format!("method={name:?}"));
    log::take().into_iter().filter(of).collect()
}

#[tokio::test]
async fn f_38_an_attribute_that_a_macro_copied_is_told_once() {
    let world = World::new();
    let four = async |name| {
        let mut admitted = 0;
        for _ in 0..4 {
            let answer = match name {
                "copied" => world.run(copied("alice")).await,
                _ => world.run(settled("alice")).await,
            };
            admitted += u32::from(answer.is_ok());
        }
        (admitted, warned(name))
    };
    for name in ["copied", "copied, settled"] {
        let (admitted, warned) = four(name).await;
        assert_eq!(admitted, 2, "each is charged twice");
        assert_eq!(warned.len(), 1, "{warned:?}");
        assert!(warned[0].contains("`behaviour::names` (line"), "{warned:?}");
        assert!(
            warned[0].contains("put `limit_per_time` on a function of its own"),
            "{warned:?}"
        );
    }
}

#[tokio::test]
async fn f_38_a_function_that_calls_one_of_its_name_is_told_once() {
    let world = World::new();
    let task = world.spawned(async {
        for _ in 0..2 {
            wrapping("alice").await.expect("four a minute");
        }
        warned("wrapped")
    });
    let warned_of = task.await.expect("nothing panics");
    assert_eq!(warned_of.len(), 1, "{warned_of:?}");
    let lines = warned_of[0].matches("`behaviour::names` (line").count();
    assert_eq!(lines, 2, "{warned_of:?}");
    assert!(warned_of[0].contains("a function without a limit"), "{warned_of:?}");

    world.run(Service.all("alice")).await.expect("it is the first");
    assert_eq!(warned("service").len(), 1, "in a block of one name, too");
}

#[limit_per_time(4, "1m", key = user, name = "apart")]
async fn apart(user: &str) -> Result<(), Rejection> {
    Ok(())
}

#[limit_per_time(4, "1m", key = user, name = "apart")]
async fn apart_of_another(user: &str) -> Result<(), Rejection> {
    apart("another").await
}

#[limit_per_time(4, "1m", key = user, name = "apart")]
async fn apart_in_a_task(user: &str) -> Result<(), Rejection> {
    Ok(())
}

#[tokio::test]
async fn f_38_calls_of_one_name_that_are_not_within_each_other_are_not_told() {
    let world = World::new();
    world
        .run(async {
            apart("alice").await.expect("it is the first");
            apart_in_a_task("alice").await.expect("it is the second");
            apart_of_another("alice")
                .await
                .expect("the inner one is of another client");
            drop(apart("alice"));
            apart_of_another("alice").await.expect("it is the fourth");
            apart_of_another("alice").await.expect_err("it is the fifth");
            apart("alice").await.expect_err("it is the sixth");
        })
        .await;
    assert_eq!(warned("apart"), [""; 0]);
}
