//! The names under which functions are counted: the same whatever moves around them.

use std::marker::PhantomData;

use rate_limit::{Rejection, limit_per_time};

use crate::support::World;

type Answer = Result<(), Rejection>;

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
    pub(super) struct Borrowed<'a, T>(pub(super) std::marker::PhantomData<&'a T>);

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
            let _ = Borrowed::<u8>(PhantomData).method().await;
            let _ = Plain.required().await;
            let _ = Plain.provided().await;
            let _ = Borrowed::<u8>(PhantomData).required().await;
            let _ = (&Plain, [0, 0]).required().await;
            let _ = shapes::outer().await;
        })
        .await;
    assert_eq!(
        world.methods(),
        [
            "behaviour::golden::shapes::free",
            "behaviour::golden::shapes::settled",
            "behaviour::golden::shapes::response",
            "behaviour::golden::shapes::generic",
            "behaviour::golden::shapes::Plain::method",
            "behaviour::golden::shapes::Plain::match",
            "behaviour::golden::shapes::Generic<_>::method",
            "behaviour::golden::shapes::Borrowed<_>::method",
            "<behaviour::golden::shapes::Plain as behaviour::golden::shapes::Api<u8>>::required",
            "behaviour::golden::shapes::Api::provided",
            "<behaviour::golden::shapes::Borrowed<_> as behaviour::golden::shapes::Api<&str>>::required",
            "<(&behaviour::golden::shapes::Plain, [u8; 2]) as behaviour::golden::shapes::Api<()>>::required",
            "behaviour::golden::shapes::outer::{{closure}}::{{closure}}::inner",
            "behaviour::golden::shapes::outer::{{closure}}::inner",
        ]
    );
}

#[test]
fn mac_21_the_hash_of_a_name_is_this_on_every_machine() {
    let hash = |name| format!("{:016x}", rate_limit::Method::named(name).hash());
    assert_eq!(hash("login"), "9887f76a18b1f86f");
    assert_eq!(
        hash("<my_service::Portal as my_service::Api>::login"),
        "f832382aea67b6b0"
    );
}
