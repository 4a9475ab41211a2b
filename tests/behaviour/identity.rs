//! Which functions have a counter of their own.

use rate_limit::{Rejection, limit_per_time};

use crate::support::World;

type Answer = Result<(), Rejection>;

mod first {
    #[rate_limit::limit_per_time(5, "1m", key = "k")]
    pub(super) async fn login() -> super::Answer {
        Ok(())
    }
}

mod second {
    #[rate_limit::limit_per_time(5, "1m", key = "k")]
    pub(super) async fn login() -> super::Answer {
        Ok(())
    }
}

struct A;
struct B;

impl A {
    #[limit_per_time(5, "1m", key = "k")]
    async fn login(&self) -> Answer {
        Ok(())
    }
}

impl B {
    #[limit_per_time(5, "1m", key = "k", reset_on_success, success = |_| false)]
    async fn login(&self) -> Answer {
        Ok(())
    }
}

trait Login {
    async fn enter(&self) -> Answer;

    #[limit_per_time(5, "1m", key = "k")]
    async fn leave(&self) -> Answer {
        Ok(())
    }
}

impl Login for A {
    #[limit_per_time(5, "1m", key = "k")]
    async fn enter(&self) -> Answer {
        Ok(())
    }
}

impl Login for B {
    #[limit_per_time(5, "1m", key = "k")]
    async fn enter(&self) -> Answer {
        Ok(())
    }
}

async fn one(world: &World) -> Answer {
    #[limit_per_time(5, "1m", key = "k")]
    async fn nested() -> Answer {
        Ok(())
    }
    world.run(nested()).await
}

async fn two(world: &World) -> Answer {
    #[limit_per_time(5, "1m", key = "k")]
    async fn nested() -> Answer {
        Ok(())
    }
    world.run(nested()).await
}

/// Calls each in turn, six times, and is how often each was admitted.
macro_rules! admitted {
    ($world:ident: $($call:expr),*) => {{
        let mut admitted = Vec::new();
        for _ in 0..6 {
            admitted.push([$($world.run($call).await.is_ok()),*]);
        }
        let mut sums = admitted[0].map(|_| 0);
        for round in admitted {
            for (sum, one) in sums.iter_mut().zip(round) {
                *sum += u32::from(one);
            }
        }
        sums
    }};
}

#[tokio::test]
async fn mac_19_functions_of_one_name_have_counters_of_their_own() {
    let world = World::new();
    assert_eq!(admitted!(world: first::login(), second::login()), [5, 5], "in two modules");
    assert_eq!(admitted!(world: A.login(), B.login()), [5, 5], "of two types");
    assert_eq!(admitted!(world: A.enter(), B.enter()), [5, 5], "of two types, by a trait");
    assert_eq!(admitted!(world: one(&world), two(&world)), [5, 5], "in two functions");
    assert_eq!(admitted!(world: A.leave(), B.leave()), [3, 2], "the trait's own body is one method");
}

mod shapes {
    use super::{Answer, limit_per_time};

    #[limit_per_time(key = "k")]
    pub(super) async fn free() -> Answer {
        Ok(())
    }

    #[limit_per_time(key = "k", reset_on_success)]
    pub(super) async fn settled() -> Answer {
        Ok(())
    }

    #[limit_per_time(key = "k", reset_on_success)]
    pub(super) async fn response() -> impl axum::response::IntoResponse {}

    #[limit_per_time(key = "k")]
    pub(super) async fn generic<T, const N: usize>(_: [T; N]) -> Answer {
        Ok(())
    }

    pub(super) struct Plain;
    pub(super) struct Generic<T>(pub(super) T);
    pub(super) struct Borrowed<'a, T>(pub(super) &'a T);

    impl Plain {
        #[limit_per_time(key = "k")]
        pub(super) async fn method(&self) -> Answer {
            Ok(())
        }

        #[limit_per_time(key = "k")]
        pub(super) async fn r#match() -> Answer {
            Ok(())
        }
    }

    impl<T> Generic<T> {
        #[limit_per_time(key = "k", reset_on_success)]
        pub(super) async fn method(&self) -> Answer {
            Ok(())
        }
    }

    impl<T> Borrowed<'_, T> {
        #[limit_per_time(key = "k")]
        pub(super) async fn method(&self) -> Answer {
            Ok(())
        }
    }

    pub(super) trait Api<T> {
        async fn required(&self) -> Answer;

        #[limit_per_time(key = "k", reset_on_success)]
        async fn provided(&self) -> Answer {
            Ok(())
        }
    }

    impl Api<u8> for Plain {
        #[limit_per_time(key = "k", reset_on_success)]
        async fn required(&self) -> Answer {
            Ok(())
        }
    }

    impl<'a, T> Api<&'a str> for Borrowed<'a, T> {
        #[limit_per_time(key = "k")]
        async fn required(&self) -> Answer {
            Ok(())
        }
    }

    impl Api<()> for (&Plain, [u8; 2]) {
        #[limit_per_time(key = "k")]
        async fn required(&self) -> Answer {
            Ok(())
        }
    }

    pub(super) async fn outer() -> Answer {
        #[limit_per_time(key = "k")]
        async fn inner() -> Answer {
            Ok(())
        }
        let called = async {
            #[limit_per_time(key = "k")]
            async fn inner() -> Answer {
                Ok(())
            }
            inner().await
        };
        called.await.and(inner().await)
    }
}

#[tokio::test]
async fn mac_21_names_are_these_whatever_moves() {
    use shapes::{Api as _, Borrowed, Generic, Plain};
    let world = World::new();
    world
        .run(async {
            let _ = shapes::free().await;
            let _ = shapes::settled().await;
            let _ = shapes::response().await;
            let _ = shapes::generic([0_u8]).await;
            let _ = Plain.method().await;
            let _ = Plain::r#match().await;
            let _ = Generic(1).method().await;
            let _ = Borrowed(&1).method().await;
            let _ = Plain.required().await;
            let _ = Plain.provided().await;
            let _ = Borrowed(&1).required().await;
            let _ = (&Plain, [0, 0]).required().await;
            let _ = shapes::outer().await;
        })
        .await;
    assert_eq!(
        world.methods(),
        [
            "behaviour::identity::shapes::free",
            "behaviour::identity::shapes::settled",
            "behaviour::identity::shapes::response",
            "behaviour::identity::shapes::generic",
            "behaviour::identity::shapes::Plain::method",
            "behaviour::identity::shapes::Plain::match",
            "behaviour::identity::shapes::Generic<_>::method",
            "behaviour::identity::shapes::Borrowed<_>::method",
            "<behaviour::identity::shapes::Plain as behaviour::identity::shapes::Api<u8>>::required",
            "behaviour::identity::shapes::Api::provided",
            "<behaviour::identity::shapes::Borrowed<_> as behaviour::identity::shapes::Api<&str>>::required",
            "<(&behaviour::identity::shapes::Plain, [u8; 2]) as behaviour::identity::shapes::Api<()>>::required",
            "behaviour::identity::shapes::outer::{{closure}}::{{closure}}::inner",
            "behaviour::identity::shapes::outer::{{closure}}::inner",
        ]
    );
}

#[test]
fn mac_21_the_hash_of_a_name_is_this_on_every_machine() {
    let hash = |name| format!("{:016x}", rate_limit::Method::named(name).hash());
    assert_eq!(hash("login"), "?");
    assert_eq!(hash("behaviour::identity::shapes::free"), "?");
}
