//! Beside other attributes, in every order: the call over the limit is refused.

use async_trait::async_trait;
use rate_limit::limit_per_time;
use rstest::rstest;

use crate::world::{Failure, World, admitted};

#[async_trait]
trait Service {
    async fn above(&self, user: u64) -> Result<u64, Failure>;
    async fn settled(&self, (user, _): (u64, u8), right: bool) -> Result<u64, Failure>;
    async fn nothing(&self, user: u64);
}

struct Plain {
    id: u64,
}

/// `#[async_trait]` runs first, and the methods arrive as functions that return a boxed future.
#[async_trait]
impl Service for Plain {
    #[limit_per_time(2, "1m", key = (self.id, user))]
    async fn above(&self, user: u64) -> Result<u64, Failure> {
        Ok(self.id + user)
    }

    #[limit_per_time(2, "1m", key = (user, self.id), reset_on_success)]
    async fn settled(&self, (user, _): (u64, u8), right: bool) -> Result<u64, Failure> {
        if right { Ok(user) } else { Err(Failure::Own)? }
    }

    #[limit_per_time(2, "1m", key = user, on_limit = |_| panic!("refused {}", self.id))]
    async fn nothing(&self, user: u64) {
        let _ = user;
    }
}

#[test]
fn mac_24_below_async_trait_on_its_methods() {
    let world = World::new();
    let (first, second) = (Plain { id: 1 }, Plain { id: 2 });
    assert_eq!(world.run(first.above(1)), Ok(2));
    assert_eq!(world.run(admitted(9, || first.above(1))), 1);
    assert_eq!(
        world.run(admitted(9, || second.above(1))),
        2,
        "`self` in the key is the method's own"
    );
    for _ in 0..5 {
        assert_eq!(world.run(first.settled((1, 0), false)), Err(Failure::Own));
        assert_eq!(world.run(first.settled((1, 0), true)), Ok(1));
    }
    drop(first.above(7));
    drop(first.above(7));
    assert_eq!(
        world.run(admitted(9, || first.above(7))),
        2,
        "the check is part of the future"
    );
    world.run(first.nothing(1));
    world.run(first.nothing(1));
    let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world.run(first.nothing(1))));
    assert!(refused.is_err());
}

#[async_trait]
trait Named {
    async fn shown(&self) -> Result<u64, Failure>;
    async fn doubled(&self) -> Result<u64, Failure>;
    async fn nested(&self) -> Result<u64, Failure>;
    async fn with_count(&self, count: u64) -> Result<u64, Failure>;
}

impl std::fmt::Display for Plain {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}", self.id)
    }
}

#[async_trait]
impl Named for Plain {
    #[limit_per_time(2, "1m", key = format!("{{}} {self:>3} {}", 7), deny_if = format!("{self}").is_empty())]
    async fn shown(&self) -> Result<u64, Failure> {
        Ok(self.id)
    }

    #[limit_per_time(2, "1m", key = format!("{{self}}"))]
    async fn doubled(&self) -> Result<u64, Failure> {
        Ok(self.id)
    }

    #[limit_per_time(2, "1m", key = {
        struct Half(u64);
        impl Half {
            fn of(&self) -> u64 {
                self.0 / 2
            }
        }
        Half(self.id).of()
    })]
    async fn nested(&self) -> Result<u64, Failure> {
        Ok(self.id)
    }

    #[limit_per_time(2, "1m", key = [1, 2].map(|fn_of: u64| fn_of * self.id).into_iter().sum::<u64>())]
    async fn with_count(&self, count: u64) -> Result<u64, Failure> {
        Ok(self.id + count)
    }
}

#[test]
fn f_52_self_in_a_text_and_in_a_nested_item_below_async_trait() {
    let world = World::new();
    let plain = |id| Plain { id };
    assert_eq!(world.run(admitted(9, || async { plain(2).shown().await })), 2);
    assert_eq!(world.run(admitted(9, || async { plain(3).shown().await })), 2);
    assert_eq!(world.run(admitted(9, || async { plain(2).doubled().await })), 2);
    assert_eq!(
        world.run(admitted(9, || async { plain(3).doubled().await })),
        0,
        "doubled braces stand for themselves"
    );
    assert_eq!(world.run(admitted(9, || async { plain(2).nested().await })), 2);
    assert_eq!(
        world.run(admitted(9, || async { plain(3).nested().await })),
        0,
        "3 / 2 is 2 / 2"
    );
    assert_eq!(world.run(admitted(9, || async { plain(4).nested().await })), 2);
    assert_eq!(world.run(admitted(9, || async { plain(4).with_count(1).await })), 2);
    assert_eq!(world.run(admitted(9, || async { plain(5).with_count(1).await })), 2);
}

struct Above;

/// Ours runs first, in place.
#[limit_per_time(2, "1m", key = user)]
#[async_trait]
impl Service for Above {
    async fn above(&self, user: u64) -> Result<u64, Failure> {
        Ok(user)
    }

    #[limit_per_time(1, "1m", key = user)]
    async fn settled(&self, (user, _): (u64, u8), right: bool) -> Result<u64, Failure> {
        if right { Ok(user) } else { Err(Failure::Own) }
    }

    #[limit_per_time(exempt)]
    async fn nothing(&self, user: u64) {
        let _ = user;
    }
}

struct Below;

/// `#[async_trait]` runs first, on the whole block.
#[async_trait]
#[limit_per_time(2, "1m", key = user)]
impl Service for Below {
    async fn above(&self, user: u64) -> Result<u64, Failure> {
        Ok(user)
    }

    #[limit_per_time(1, "1m", key = user)]
    async fn settled(&self, (user, _): (u64, u8), right: bool) -> Result<u64, Failure> {
        if right { Ok(user) } else { Err(Failure::Own) }
    }

    #[limit_per_time(exempt)]
    async fn nothing(&self, user: u64) {
        let _ = user;
    }
}

#[test]
fn mac_24_above_and_below_async_trait_on_a_block() {
    let world = World::new();
    assert_eq!(world.run(admitted(9, || Above.above(1))), 2);
    assert_eq!(world.run(admitted(9, || Above.settled((1, 0), true))), 1);
    assert_eq!(world.run(admitted(9, || Below.above(1))), 2);
    assert_eq!(world.run(admitted(9, || Below.settled((1, 0), true))), 1);
    world.run(async {
        for _ in 0..5 {
            Above.nothing(1).await;
            Below.nothing(1).await;
        }
    });
}

#[async_trait]
trait WithDefault {
    #[limit_per_time(2, "1m", key = user)]
    async fn list(&self, user: u64) -> Result<u64, Failure> {
        Ok(user)
    }
}

#[async_trait]
impl WithDefault for Above {}

#[test]
fn mac_24_a_default_body_under_async_trait() {
    let world = World::new();
    assert_eq!(world.run(admitted(9, || Above.list(1))), 2);
}

#[tracing::instrument]
#[limit_per_time(2, "1m", key = user)]
async fn below_instrument(user: u64) -> Result<u64, Failure> {
    Ok(user)
}

#[limit_per_time(2, "1m", key = user, reset_on_success)]
#[tracing::instrument(skip(_unshown))]
async fn above_instrument(user: u64, right: bool, _unshown: Unshown, _: Unshown) -> Result<u64, Failure> {
    if right { Ok(user) } else { Err(Failure::Own) }
}

/// It has no `Debug`.
struct Unshown;

#[test]
fn mac_22_with_instrument_in_both_orders() {
    let world = World::new();
    assert_eq!(world.run(admitted(9, || below_instrument(1))), 2);
    let wrong = || above_instrument(1, false, Unshown, Unshown);
    assert_eq!(world.run(wrong()), Err(Failure::Own));
    assert_eq!(world.run(wrong()), Err(Failure::Own));
    assert!(matches!(world.run(wrong()), Err(Failure::Refused(_))));
}

/// Ours above `#[tokio::test]`: the test itself is limited, and stays a test.
#[limit_per_time(2, "1m", key = "a test")]
#[tokio::test]
async fn mac_22_above_tokio_test() -> Result<(), Failure> {
    Ok(())
}

#[limit_per_time(2, "1m", key = user)]
#[limit_per_time(3, "1m", key = "everybody")]
async fn two_limits(user: u64) -> Result<u64, Failure> {
    Ok(user)
}

#[rstest]
#[case(1)]
#[case(2)]
fn mac_23_two_limits_in_cases(#[case] user: u64) {
    let world = World::new();
    assert_eq!(world.run(admitted(9, || two_limits(user))), 2);
    assert_eq!(
        world.run(admitted(9, || two_limits(user + 1))),
        1,
        "each limit was charged once for each call"
    );
}

/// The attribute ends up on each case, which is a function of its own and has no parameter to name.
#[rstest]
#[case(1)]
#[limit_per_time(1, "1m", key = "a case")]
#[tokio::test]
async fn mac_23_a_limited_case(#[case] user: u64) -> Result<(), Failure> {
    assert_eq!(user, 1);
    Ok(())
}
