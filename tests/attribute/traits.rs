//! The attribute on a trait and on its `impl`s.

use rate_limit::limit_per_time;

use crate::world::{Failure, World, admitted};

#[limit_per_time(2, "1s", key = user)]
trait Api {
    async fn list(&self, user: u64) -> Result<u64, Failure> {
        Ok(user)
    }

    async fn get(&self, user: u64) -> Result<u64, Failure>;

    fn name(&self) -> &'static str;
}

struct First;
struct Second;
struct Third;

/// The numbers of the trait, with a key of its own.
#[limit_per_time(key = user)]
impl Api for First {
    async fn get(&self, user: u64) -> Result<u64, Failure> {
        Ok(user)
    }

    fn name(&self) -> &'static str {
        "first"
    }
}

/// Its own numbers; a method with its own is nearer still.
#[limit_per_time(3, "1s", key = user)]
impl Api for Second {
    async fn get(&self, user: u64) -> Result<u64, Failure> {
        Ok(user)
    }

    #[limit_per_time(4, "1s", key = user)]
    async fn list(&self, user: u64) -> Result<u64, Failure> {
        Ok(user)
    }

    fn name(&self) -> &'static str {
        "second"
    }
}

/// Without an attribute an `impl` limits nothing but what it takes over from the trait.
impl Api for Third {
    async fn get(&self, user: u64) -> Result<u64, Failure> {
        Ok(user)
    }

    fn name(&self) -> &'static str {
        "third"
    }
}

#[test]
fn the_nearest_wins_method_then_impl_then_trait() {
    let world = World::new();
    assert_eq!(world.run(admitted(9, || First.get(1))), 2, "the trait's numbers");
    assert_eq!(world.run(admitted(9, || Second.get(1))), 3, "the impl's");
    assert_eq!(world.run(admitted(9, || Second.list(1))), 4, "the method's");
    assert_eq!(world.run(admitted(9, || Third.get(1))), 9);
    assert_eq!(
        [First.name(), Second.name(), Third.name()],
        ["first", "second", "third"]
    );
}

#[test]
fn a_default_body_is_one_method_the_traits() {
    let world = World::new();
    assert_eq!(world.run(admitted(1, || First.list(1))), 1);
    assert_eq!(
        world.run(admitted(9, || Third.list(1))),
        1,
        "counted with the other type's"
    );
}

#[limit_per_time(1, "1s", key = 7)]
trait Dynamic {
    fn shape(&self) -> &'static str;
}

#[limit_per_time]
impl Dynamic for First {
    fn shape(&self) -> &'static str {
        "dynamic"
    }
}

#[test]
fn a_limited_trait_can_still_be_dyn() {
    let object: &dyn Dynamic = &First;
    assert_eq!(object.shape(), "dynamic");
}
