//! Attributes of ours under `cfg_attr`.

use rate_limit::limit_per_time;

use crate::world::{Failure, World, admitted};

type Answer = Result<u64, Failure>;

struct Api;

#[limit_per_time(2, "1h", key = user)]
impl Api {
    #[cfg_attr(all(), limit_per_time(4, "1h", key = user))]
    async fn own(&self, user: u64) -> Answer {
        Ok(user)
    }

    #[cfg_attr(any(), limit_per_time(4, "1h", key = user))]
    async fn blocks(&self, user: u64) -> Answer {
        Ok(user)
    }

    #[cfg_attr(all(), limit_per_time(exempt))]
    async fn exempt(&self, user: u64) -> Answer {
        Ok(user)
    }

    #[cfg_attr(any(), limit_per_time(exempt))]
    async fn not_exempt(&self, user: u64) -> Answer {
        Ok(user)
    }

    #[cfg_attr(all(), doc = "Several", limit_per_time(3, "1h", key = user), limit_per_time(5, "2h", key = 7))]
    #[allow(dead_code)]
    async fn several(&self, user: u64) -> Answer {
        Ok(user)
    }

    #[cfg_attr(all(), limit_per_time(3, "1h", key = user))]
    #[cfg_attr(any(), limit_per_time(1, "1h", key = user))]
    #[cfg_attr(all(), cfg_attr(all(), limit_per_time(5, "1h", key = 7)))]
    async fn conditions(&self, user: u64) -> Answer {
        Ok(user)
    }

    #[cfg(any())]
    async fn conditions(&self, user: u64) -> Answer {
        Ok(user + missing)
    }

    #[cfg_attr(any(), limit_per_time(3, "1h", key = user))]
    fn sync(&self) -> u64 {
        7
    }
}

#[test]
fn f_48_a_method_has_the_limit_of_a_condition_that_holds() {
    let world = World::new();
    assert_eq!(world.run(admitted(9, || Api.own(1))), 4);
    assert_eq!(world.run(admitted(9, || Api.blocks(1))), 2);
    assert_eq!(world.run(admitted(9, || Api.exempt(1))), 9);
    assert_eq!(world.run(admitted(9, || Api.not_exempt(1))), 2);
    assert_eq!(Api.sync(), 7);
}

#[test]
fn f_48_each_attribute_of_a_condition_holds() {
    let world = World::new();
    assert_eq!(world.run(admitted(9, || Api.several(1))), 3);
    assert_eq!(world.run(admitted(9, || Api.several(2))), 2, "5 for all users");
    assert_eq!(world.run(admitted(9, || Api.conditions(1))), 3);
    assert_eq!(world.run(admitted(9, || Api.conditions(2))), 2);
}

#[limit_per_time(2, "1h", key = user)]
trait Default {
    #[cfg_attr(all(), limit_per_time(4, "1h", key = user))]
    async fn own(&self, user: u64) -> Answer {
        Ok(user)
    }

    #[cfg_attr(any(), limit_per_time(4, "1h", key = user))]
    async fn traits(&self, user: u64) -> Answer {
        Ok(user)
    }
}

impl Default for Api {}

#[test]
fn f_48_a_default_body_has_the_limit_of_a_condition_that_holds() {
    let world = World::new();
    assert_eq!(world.run(admitted(9, || Default::own(&Api, 1))), 4);
    assert_eq!(world.run(admitted(9, || Default::traits(&Api, 1))), 2);
}

#[limit_per_time(4, "1h", key = 7)]
#[cfg_attr(all(), limit_per_time(3, "1h", key = user))]
#[cfg_attr(any(), limit_per_time(1, "1h", key = user))]
async fn stacked(user: u64) -> Answer {
    Ok(user)
}

#[cfg_attr(all(), limit_per_time(3, "1h", key = user))]
#[limit_per_time(4, "1h", key = 7)]
async fn above(user: u64) -> Answer {
    Ok(user)
}

#[test]
fn f_48_a_function_has_a_second_limit_where_its_condition_holds() {
    let world = World::new();
    assert_eq!(world.run(admitted(9, || stacked(1))), 3);
    assert_eq!(world.run(admitted(9, || stacked(2))), 1, "one decision of both");
    assert_eq!(world.run(admitted(9, || above(1))), 3);
    assert_eq!(world.run(admitted(9, || above(2))), 1);
}

struct Stacked;

#[limit_per_time(2, "1h", key = user)]
#[cfg_attr(all(), limit_per_time(3, "1h", key = 7))]
impl Stacked {
    async fn get(&self, user: u64) -> Answer {
        Ok(user)
    }
}

#[test]
fn f_48_a_block_has_a_second_limit_where_its_condition_holds() {
    let world = World::new();
    assert_eq!(world.run(admitted(9, || Stacked.get(1))), 2);
    assert_eq!(world.run(admitted(9, || Stacked.get(2))), 1);
}

#[limit_per_time(2, "1h", key = user)]
#[async_trait::async_trait]
trait Boxed {
    #[cfg_attr(all(), limit_per_time(3, "1h", key = user))]
    async fn own(&self, user: u64) -> Answer {
        Ok(user)
    }
}

impl Boxed for Api {}

#[test]
fn f_48_beside_async_trait() {
    let world = World::new();
    assert_eq!(world.run(admitted(9, || Boxed::own(&Api, 1))), 3);
}
