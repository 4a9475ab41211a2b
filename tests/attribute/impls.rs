//! The attribute on an `impl` block: the nearest wins.

use rate_limit::limit_per_time;

use crate::world::{Failure, World, admitted};

struct Portal {
    account: u64,
}

#[limit_per_time(3, "1s", key = self.account)]
impl Portal {
    const LIMIT: u32 = 1;

    async fn grades(&self) -> Result<u64, Failure> {
        Ok(self.account)
    }

    /// It is no handler, and is left alone.
    fn name(&self) -> String {
        format!("{} of {}", self.account, Self::LIMIT)
    }

    #[limit_per_time(Self::LIMIT, "1s", key = self.account)]
    async fn export(&self) -> Result<u64, Failure> {
        Ok(self.account)
    }

    #[limit_per_time(exempt)]
    async fn health(&self) -> Result<u64, Failure> {
        Ok(self.account)
    }

    async fn settings(&mut self, account: u64) -> Result<u64, Failure> {
        self.account = account;
        Ok(self.account)
    }
}

#[test]
fn each_async_method_has_the_limit_of_the_block_unless_it_has_its_own() {
    let world = World::new();
    let portal = Portal { account: 1 };
    assert_eq!(world.run(admitted(9, || portal.grades())), 3);
    assert_eq!(world.run(admitted(9, || portal.export())), 1);
    assert_eq!(world.run(admitted(9, || portal.health())), 9);
    assert_eq!(portal.name(), "1 of 1");
    let mut portal = Portal { account: 1 };
    for _ in 0..3 {
        assert_eq!(world.run(portal.settings(1)), Ok(1), "each method is counted apart");
    }
    assert!(world.run(portal.settings(1)).is_err());
    assert_eq!(world.run(admitted(9, || Portal { account: 2 }.into_grades())), 9);
}

impl Portal {
    async fn into_grades(self) -> Result<u64, Failure> {
        Ok(self.account)
    }
}

struct Generic<T>(T);

#[limit_per_time(2, "1s", key = user)]
impl<T: Copy> Generic<T> {
    async fn get(&self, user: u64) -> Result<T, Failure> {
        let _ = user;
        Ok(self.0)
    }
}

#[test]
fn mac_20_a_generic_block_counts_once_for_all_type_arguments() {
    let world = World::new();
    assert_eq!(world.run(admitted(1, || async { Generic(1_u8).get(1).await })), 1);
    assert_eq!(world.run(admitted(9, || async { Generic('a').get(1).await })), 1);
}
