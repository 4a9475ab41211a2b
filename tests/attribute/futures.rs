//! Functions that return a future and are not `async`.

use std::future::Future;
use std::pin::Pin;

use axum::response::IntoResponse;
use rate_limit::limit_per_time;
use tracing::Instrument as _;

use crate::world::{Failure, World, admitted, wait};

#[limit_per_time(2, "1m", key = user)]
fn opaque(user: u64) -> impl Future<Output = Result<u64, Failure>> + Send {
    let doubled = user * 2;
    async move { Ok(doubled + user - user) }
}

#[limit_per_time(2, "1m", key = user)]
fn boxed<'a>(user: &'a str) -> Pin<Box<dyn Future<Output = Result<usize, Failure>> + Send + 'a>> {
    Box::pin(async move {
        if user == "early" {
            return Ok(0);
        }
        Ok(user.len())
    })
}

#[limit_per_time(2, "1m", key = user.clone(), reset_on_success)]
fn settled(user: String, right: bool) -> impl Future<Output = Result<String, Failure>> + Send {
    async move { if right { Ok(user) } else { Err(Failure::Own) } }
}

#[test]
fn mac_25_a_future_that_is_returned_is_limited() {
    let world = World::new();
    assert_eq!(world.run(opaque(1)), Ok(2));
    assert_eq!(world.run(admitted(9, || opaque(1))), 1);
    assert_eq!(world.run(boxed("early")), Ok(0));
    assert_eq!(world.run(admitted(9, || boxed("early"))), 1);
    assert_eq!(world.run(boxed("late")), Ok(4));
}

#[test]
fn mac_25_a_future_that_is_made_and_dropped_is_not_charged() {
    let world = World::new();
    for _ in 0..5 {
        drop(opaque(1));
        drop(boxed("a"));
    }
    assert_eq!(world.run(admitted(9, || opaque(1))), 2);
    assert_eq!(world.run(admitted(9, || boxed("a"))), 2);
}

#[test]
fn a_future_that_is_returned_is_settled() {
    let world = World::new();
    let alice = || "alice".to_owned();
    for _ in 0..5 {
        assert_eq!(world.run(settled(alice(), false)), Err(Failure::Own));
        assert_eq!(world.run(settled(alice(), true)), Ok(alice()));
    }
    assert_eq!(world.run(settled(alice(), false)), Err(Failure::Own));
    assert_eq!(world.run(settled(alice(), false)), Err(Failure::Own));
    assert_eq!(wait(&world.run(settled(alice(), true))), Some(60));
}

type Boxed = Pin<Box<dyn Future<Output = Result<u64, Failure>> + Send>>;

/// As that of the crate `futures`.
trait FutureExt: Future + Send + Sized {
    fn boxed<'a>(self) -> Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>
    where
        Self: 'a,
    {
        Box::pin(self)
    }
}

impl<F: Future + Send> FutureExt for F {}

#[limit_per_time(2, "1m", key = user)]
#[allow(unused_parens, clippy::double_parens)]
fn in_parentheses(user: u64) -> Pin<Box<dyn Future<Output = Result<u64, Failure>> + Send>> {
    Box::pin((async move { Ok(user) }))
}

#[limit_per_time(2, "1m", key = user)]
fn by_method(user: u64) -> Pin<Box<dyn Future<Output = Result<u64, Failure>> + Send>> {
    async move { Ok(user) }.in_current_span().boxed()
}

#[limit_per_time(2, "1m", key = user)]
fn by_cast(user: u64) -> Pin<Box<dyn Future<Output = Result<u64, Failure>> + Send>> {
    Box::pin(async move { Ok(user) }) as Pin<Box<dyn Future<Output = Result<u64, Failure>> + Send>>
}

#[limit_per_time(2, "1m", key = user)]
fn by_conversion(user: u64) -> Pin<Box<dyn Future<Output = Result<u64, Failure>> + Send>> {
    Pin::from(Box::new(async move { Ok(user) }))
}

#[limit_per_time(2, "1m", key = user)]
#[allow(clippy::needless_return)]
fn by_return(user: u64) -> Pin<Box<dyn Future<Output = Result<u64, Failure>> + Send>> {
    // Neither of these is a way out of the function, nor the future that it returns.
    let early = || return user;
    let other = async { return early() };
    macro_rules! last {
        () => {
            drop(other)
        };
    }
    last!();
    return Box::pin(async move { Ok(user) });
}

#[limit_per_time(2, "1m", key = user)]
fn with_inner_attributes(user: u64) -> impl Future<Output = Result<u64, Failure>> + Send {
    #![allow(unused_variables)]
    async move {
        #![allow(unused_mut)]
        let mut user = user;
        Ok(user)
    }
}

/// As `#[async_recursion]` writes it.
#[limit_per_time(2, "1m", key = user)]
fn recursive<'life0, 'async_recursion>(
    user: &'life0 u64,
) -> ::core::pin::Pin<
    Box<dyn ::core::future::Future<Output = Result<u64, Failure>> + 'async_recursion + ::core::marker::Send>,
>
where
    'life0: 'async_recursion,
{
    Box::pin(async move {
        if *user > 5 {
            recursive(&(user - 5)).await
        } else {
            Ok(*user)
        }
    })
}

#[test]
fn f_53_what_only_boxes_the_future_is_seen_through() {
    let world = World::new();
    let shapes: [fn(u64) -> Boxed; 6] = [in_parentheses, by_method, by_cast, by_conversion, by_return, |user| {
        Box::pin(with_inner_attributes(user))
    }];
    for shape in shapes {
        assert_eq!(world.run(shape(3)), Ok(3));
        assert_eq!(world.run(admitted(9, || shape(3))), 1);
    }
    assert_eq!(world.run(recursive(&13)), Ok(3));
    assert_eq!(world.run(admitted(9, || recursive(&3))), 1, "each turn is a call");
}

/// A `Cell` in it is not `Sync`, so a future that has a borrow of it is not `Send`.
struct Unshared(std::cell::Cell<u64>);

#[limit_per_time(2, "1m", key = 7_u64)]
fn response(parts: &Unshared, name: String) -> impl Future<Output = impl IntoResponse + use<>> + Send + use<> {
    let read = parts.0.get();
    drop(name);
    async move { format!("read {read}") }
}

#[limit_per_time(2, "1m", key = 7_u64, reset_on_success, success = |_| false)]
fn settled_response(parts: &Unshared, name: String) -> impl Future<Output = impl IntoResponse + use<>> + Send + use<> {
    let read = parts.0.get();
    drop(name);
    async move { format!("read {read}") }
}

#[limit_per_time(2, "1m", key = 7_u64)]
fn borrowed<'a>(name: &'a str, _: Unshared) -> impl Future<Output = impl IntoResponse + use<'a>> + Send + use<'a> {
    async { name.len().to_string() }
}

#[test]
fn f_49_a_future_of_a_response_holds_what_it_held() {
    let world = World::new();
    let parts = Unshared(std::cell::Cell::new(7));
    for _ in 0..2 {
        assert_eq!(world.run(response(&parts, String::new())).into_response().status(), 200);
        assert_eq!(
            world
                .run(settled_response(&parts, String::new()))
                .into_response()
                .status(),
            200
        );
        assert_eq!(
            world.run(borrowed("a", Unshared(7.into()))).into_response().status(),
            200
        );
    }
    assert_eq!(world.run(response(&parts, String::new())).into_response().status(), 429);
    assert_eq!(
        world
            .run(settled_response(&parts, String::new()))
            .into_response()
            .status(),
        429
    );
    assert_eq!(
        world.run(borrowed("a", Unshared(7.into()))).into_response().status(),
        429
    );
}
