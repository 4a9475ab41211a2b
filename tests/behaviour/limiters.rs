//! Which limiter decides: the scoped one before a given one. The others are in `tests/installed.rs`.

use std::sync::LazyLock;

use rate_limit::{Limiter, Rejection, limit_per_time};

use crate::support::World;

struct App {
    limiter: Limiter,
}

impl App {
    fn limiter(&self) -> Limiter {
        self.limiter.clone()
    }
}

#[limit_per_time(1, "1m", key = "k", limiter = app.limiter)]
async fn by_a_field(app: &App) -> Result<(), Rejection> {
    Ok(())
}

#[limit_per_time(1, "1m", key = "k", limiter = app.limiter(), reset_on_success, success = |_| false)]
async fn by_a_call(app: App) -> Result<App, Rejection> {
    Ok(app)
}

#[limit_per_time(1, "1m", key = "k", limiter = limiter)]
async fn by_a_reference(limiter: &Limiter) -> Result<(), Rejection> {
    Ok(())
}

#[limit_per_time(1, "1m", key = "k", limiter = found::<App>(app))]
async fn by_a_function(app: &App) -> Result<(), Rejection> {
    Ok(())
}

static SHARED: LazyLock<Limiter> = LazyLock::new(Limiter::embedded);

#[limit_per_time(1, "1m", key = "k", limiter = SHARED)]
async fn by_a_static() -> Result<(), Rejection> {
    Ok(())
}

fn found<T: AsRef<Limiter>>(app: &T) -> &Limiter {
    app.as_ref()
}

impl AsRef<Limiter> for App {
    fn as_ref(&self) -> &Limiter {
        &self.limiter
    }
}

#[tokio::test]
async fn a_given_limiter_decides() {
    let (one, other) = (World::new(), World::new());
    let app = |world: &World| App {
        limiter: world.limiter.clone(),
    };
    for world in [&one, &other] {
        assert!(by_a_field(&app(world)).await.is_ok());
        assert!(by_a_field(&app(world)).await.is_err());
        assert!(by_a_call(app(world)).await.is_ok());
        assert!(by_a_call(app(world)).await.is_err());
        assert!(by_a_reference(&world.limiter).await.is_ok());
        assert!(by_a_reference(&world.limiter).await.is_err());
        assert!(by_a_function(&app(world)).await.is_ok());
        assert!(by_a_function(&app(world)).await.is_err());
        assert_eq!((world.charges(), world.refusals()), (4, 4));
    }
}

#[tokio::test]
async fn a_given_limiter_may_be_a_static() {
    assert!(by_a_static().await.is_ok());
    assert!(by_a_static().await.is_err());
}

#[tokio::test]
async fn a_scoped_limiter_comes_before_a_given_one() {
    let (given, scoped) = (World::new(), World::new());
    let app = App {
        limiter: given.limiter.clone(),
    };
    assert!(scoped.run(by_a_field(&app)).await.is_ok());
    assert!(scoped.run(by_a_field(&app)).await.is_err());
    assert_eq!((given.charges(), scoped.charges()), (0, 1));
    assert!(by_a_field(&app).await.is_ok(), "and only within its scope");
    assert_eq!((given.charges(), scoped.charges()), (1, 1));
}

#[tokio::test]
async fn the_innermost_scope_decides() {
    let (outer, inner) = (World::new(), World::new());
    let app = App {
        limiter: Limiter::embedded(),
    };
    outer
        .run(async {
            assert!(inner.run(by_a_field(&app)).await.is_ok());
            assert!(by_a_field(&app).await.is_ok());
        })
        .await;
    assert_eq!((outer.charges(), inner.charges()), (1, 1));
}

#[tokio::test]
async fn clones_are_one_limiter() {
    let world = World::new();
    let clone = world.limiter.clone();
    assert!(by_a_reference(&world.limiter).await.is_ok());
    assert!(by_a_reference(&clone).await.is_err());
}
