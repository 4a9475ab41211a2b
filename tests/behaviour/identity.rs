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
    assert_eq!(
        admitted!(world: first::login(), second::login()),
        [5, 5],
        "in two modules"
    );
    assert_eq!(admitted!(world: A.login(), B.login()), [5, 5], "of two types");
    assert_eq!(
        admitted!(world: A.enter(), B.enter()),
        [5, 5],
        "of two types, by a trait"
    );
    assert_eq!(admitted!(world: one(&world), two(&world)), [5, 5], "in two functions");
    assert_eq!(
        admitted!(world: A.leave(), B.leave()),
        [3, 2],
        "the trait's own body is one method"
    );
}
