//! Functions that come out of `macro_rules!`: each means what the plain one means that the same
//! macro makes.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use axum::response::IntoResponse;
use rate_limit::{RejectionKind, limit_per_time};

use crate::world::{Failure, World, admitted, why};

type Answer = Result<u32, Failure>;

pub enum Either {
    Left(u32),
    Right(u32),
}

pub trait Times {
    const TIMES: u32;

    async fn f(&self, x: u32) -> Answer;
}

pub struct Here;

pub struct Length<const N: usize>;

macro_rules! expr {
    ([$($limit:tt)*] $e:expr) => {
        $($limit)* pub async fn f(x: u32) -> Answer { Ok(x * $e) }
    };
}

macro_rules! expr_in_a_closure {
    ([$($limit:tt)*] $e:expr) => {
        $($limit)* pub async fn f(x: u32) -> Answer { let times = |y: u32| y * $e; Ok(times(x)) }
    };
}

macro_rules! expr_after_an_inner_attribute {
    ([$($limit:tt)*] $e:expr) => {
        $($limit)* pub async fn f(x: u32) -> Answer { #![allow(unused_variables)] Ok(x * $e) }
    };
}

macro_rules! called {
    ([$($limit:tt)*] $e:expr) => {
        $($limit)* pub async fn f(x: u32) -> Answer { Ok($e.pow(2) + x) }
    };
}

macro_rules! literal {
    ([$($limit:tt)*] $l:literal) => {
        $($limit)* pub async fn f(x: u32) -> Answer { Ok(x + $l.pow(2) as u32) }
    };
}

macro_rules! block {
    ([$($limit:tt)*] $x:ident, $b:block) => {
        $($limit)* pub async fn f($x: u32) -> Answer $b
    };
}

macro_rules! stmt {
    ([$($limit:tt)*] $x:ident, $y:ident, $s:stmt, $t:stmt) => {
        $($limit)* pub async fn f($x: u32) -> Answer { $s; $t Ok($y) }
    };
}

macro_rules! pat {
    ([$($limit:tt)*] $x:ident, $p:pat) => {
        $($limit)* pub async fn inner(($p, y): (Either, u32)) -> Answer { Ok($x * y) }
        pub async fn f(x: u32) -> Answer { inner((Either::Right(x), 3)).await }
    };
}

macro_rules! pat_of_a_parameter {
    ([$($limit:tt)*] $x:ident, $p:pat) => {
        $($limit)* pub async fn inner($p: Either) -> Answer { Ok($x * 3) }
        pub async fn f(x: u32) -> Answer { inner(Either::Left(x)).await }
    };
}

macro_rules! pat_behind_a_reference {
    ([$($limit:tt)*] $x:ident, $p:pat) => {
        $($limit)* pub async fn inner(&$p: &u32) -> Answer { $x += 1; Ok($x) }
        pub async fn f(x: u32) -> Answer { inner(&x).await }
    };
}

macro_rules! mutable {
    ([$($limit:tt)*] $x:ident, $p:pat) => {
        $($limit)* pub async fn f($p: u32) -> Answer { $x += 1; Ok($x) }
    };
}

macro_rules! pat_in_a_tuple {
    ([$($limit:tt)*] $y:ident, $p:pat_param) => {
        $($limit)* pub async fn inner((x, $p): (u32, &u32)) -> Answer { Ok(x * $y) }
        pub async fn f(x: u32) -> Answer { inner((x, &4)).await }
    };
}

macro_rules! ret {
    ([$($limit:tt)*] $t:ty) => {
        $($limit)* pub async fn f(x: u32) -> $t { Ok(x) }
    };
}

macro_rules! ty_behind_a_reference {
    ([$($limit:tt)*] $t:ty) => {
        $($limit)* pub async fn inner(times: &$t, x: u32) -> Answer { Ok(times(x)) }
        pub async fn f(x: u32) -> Answer { inner(&|x| x * 2, x).await }
    };
}

macro_rules! ty_in_a_bound {
    ([$($limit:tt)*] $t:ty) => {
        $($limit)* pub async fn inner<T>(x: T) -> Answer where $t: From<T>, T: Copy { Ok(<$t>::from(x) as u32) }
        pub async fn f(x: u32) -> Answer { inner(x).await }
    };
}

macro_rules! expr_in_a_signature {
    ([$($limit:tt)*] $e:expr) => {
        $($limit)* pub async fn inner(of: [u32; 2 * $e], _: Length<{ 2 * $e }>) -> Answer { Ok(of[5]) }
        pub async fn f(x: u32) -> Answer { inner([x; 6], Length).await }
    };
}

macro_rules! literal_in_a_signature {
    ([$($limit:tt)*] $l:literal) => {
        pub struct Signed<const N: i32>;
        $($limit)* pub async fn inner(x: u32, _: Signed<$l>, _: (Signed<$l>,)) -> Answer { Ok(x) }
        pub async fn f(x: u32) -> Answer { inner(x, Signed, (Signed,)).await }
    };
}

macro_rules! ident {
    ([$($limit:tt)*] $name:ident $arg:ident) => {
        $($limit)* pub async fn $name($arg: u32) -> Answer { Ok($arg + 1) }
    };
}

macro_rules! vis {
    ([$($limit:tt)*] $v:vis) => {
        $($limit)* $v async fn f(x: u32) -> Answer { Ok(x + 2) }
    };
}

macro_rules! lifetime {
    ([$($limit:tt)*] $a:lifetime) => {
        $($limit)* pub async fn inner<$a>(x: &$a u32) -> Answer { Ok(*x) }
        pub async fn f(x: u32) -> Answer { inner(&x).await }
    };
}

macro_rules! meta {
    ([$($limit:tt)*] $(#[$m:meta])*) => {
        $(#[$m])* $($limit)* $(#[$m])* pub async fn f($(#[$m])* x: u32) -> Answer { Ok(x) }
    };
}

macro_rules! tt {
    ([$($limit:tt)*] $($t:tt)*) => {
        $($limit)* pub async fn f(x: u32) -> Answer { Ok(x * $($t)*) }
    };
}

macro_rules! nested {
    ([$($limit:tt)*] $e:expr) => {
        macro_rules! again {
            ($f:expr) => { $($limit)* pub async fn f(x: u32) -> Answer { Ok(x * $f) } };
        }
        again! { 2 * $e }
    };
}

macro_rules! block_of_items {
    ([$($limit:tt)*] $p:path, $t:ty, $e:expr) => {
        pub struct Own;
        $($limit)*
        impl $p for $t {
            const TIMES: u32 = 2 * $e;

            async fn f(&self, x: u32) -> Answer { Ok(x * $e + <Self as $p>::TIMES) }
        }
        pub async fn f(x: u32) -> Answer { <$t as $p>::f(&Own, x).await }
    };
}

macro_rules! block_with_other_methods {
    ([$($limit:tt)*] $v:vis, $e:expr, $i:item) => {
        pub struct Own;
        $i
        $($limit)*
        impl Own {
            pub const TIMES: [u32; $e] = [2 * $e; $e];

            $v fn times(&self) -> u32 { 3 * $e }

            $v async fn f(&self, x: u32) -> Answer { Ok(x * $e) }
        }
        pub async fn f(x: u32) -> Answer { Ok(Own.f(x).await? + Own.times() + Own::TIMES[0] + other()) }
    };
}

macro_rules! trait_with_a_default {
    ([$($limit:tt)*] $e:expr) => {
        $($limit)*
        pub trait Defaults {
            const TIMES: u32 = 2 * $e;

            fn times(&self) -> u32 { 3 * $e }

            async fn f(&self, x: u32) -> Answer { Ok(x * $e + 2 * Self::TIMES) }
        }
        impl Defaults for Here {}
        pub async fn f(x: u32) -> Answer { Ok(Defaults::f(&Here, x).await? + Defaults::times(&Here)) }
    };
}

macro_rules! future {
    ([$($limit:tt)*] $e:expr) => {
        $($limit)*
        pub fn f(x: u32) -> impl Future<Output = Answer> {
            let y = x * $e;
            let z = if y > 1 { y * $e } else { 0 };
            async move { Ok(z * $e) }
        }
    };
}

macro_rules! boxed_future {
    ([$($limit:tt)*] $e:expr, $s:stmt, $b:block, $call:stmt) => {
        $($limit)*
        pub fn f(x: u32) -> Pin<Box<dyn Future<Output = Answer> + Send>> {
            $s;
            $call
            let y = $b;
            let z = 3 * $e;
            let _ = $e.pow(2);
            Box::pin(async move { #![allow(unused_variables)] Ok(x * $e + y * z) })
        }
    };
}

macro_rules! future_in_an_expr {
    ([$($limit:tt)*] $e:expr, $t:ty) => {
        $($limit)* pub fn f(x: u32) -> $t { let _ = x; $e }
    };
}

/// Makes a function `f` of each shape twice, plain and limited, and compares what both return.
macro_rules! shapes {
    ($($shape:ident!($($fragment:tt)*);)*) => {$(
        mod $shape {
            #![allow(redundant_semicolons, reason = "a `stmt` may have its semicolon already")]
            #[allow(unused_imports)]
            use super::*;

            mod plain {
                #[allow(unused_imports)]
                use super::*;
                $shape! { [] $($fragment)* }
            }

            mod limited {
                #[allow(unused_imports)]
                use super::*;
                $shape! { [#[limit_per_time(2, "1h", key = 1_u8)]] $($fragment)* }
            }

            #[test]
            fn f_08_has_the_value_of_the_plain_function() {
                let world = World::new();
                assert_eq!(world.run(limited::f(5)), world.run(plain::f(5)));
                assert_eq!(world.run(admitted(9, || limited::f(5))), 1, "it is limited");
            }
        }
    )*};
}

shapes! {
    expr!(2 + 1);
    expr_in_a_closure!(2 + 1);
    expr_after_an_inner_attribute!(2 + 1);
    called!(2_u32 + 1);
    literal!(-3_i32);
    block!(x, { let y = 2 + x; Ok(y) });
    stmt!(x, y, let y = x + 1, if y == 1 { return Ok(0); });
    pat!(x, Either::Left(x) | Either::Right(x));
    pat_of_a_parameter!(x, (Either::Left(x) | Either::Right(x)));
    pat_behind_a_reference!(x, mut x);
    mutable!(x, mut x);
    pat_in_a_tuple!(y, &y);
    ret!(Answer);
    ty_behind_a_reference!(dyn Send + Fn(u32) -> u32);
    ty_in_a_bound!(u64);
    expr_in_a_signature!(2 + 1);
    literal_in_a_signature!(-3);
    ident!(f x);
    vis!(pub(super));
    lifetime!('a);
    meta!(#[allow(unused_variables)] #[cfg(all())]);
    tt!(2 + 1);
    nested!(2 + 1);
    block_of_items!(Times, Own, 2 + 1);
    block_with_other_methods!(pub, 2 + 1, fn other() -> u32 { 7 });
    trait_with_a_default!(2 + 1);
    future!(2 + 1);
    boxed_future!(2_u32 + 1, let _ = 5, { 2 + 1 }, if 1 == 2 { unreachable!() });
    future_in_an_expr!(Box::pin(async move { Ok(2 + 1) }), Pin<Box<dyn Future<Output = Answer>>>);
}

macro_rules! arguments {
    ($k:expr, $or:expr, $count:expr, $seconds:expr, $one:literal, $hour:literal, $user:ident) => {
        #[limit_per_time(count = $count * 2, window = Duration::from_secs($seconds * 60), key = 7)]
        async fn numbers() -> Answer {
            Ok(0)
        }

        #[limit_per_time($one, $hour, key = ($k * 0, 7))]
        async fn literals($user: u32) -> Answer {
            Ok($user)
        }

        #[limit_per_time($one, $hour, key = 7, deny_if = !$or)]
        async fn condition($user: u32) -> Answer {
            Ok($user)
        }

        #[limit_per_time(capacity = $count * 2, refill = $hour, algorithm = token_bucket, key = 7, cost = $count * 2)]
        async fn weighed() -> Answer {
            Ok(0)
        }

        #[limit_per_time($one, $hour, key = 7, on_limit = |_| Ok(2 * $count), success = |_| !$or, reset_on_success)]
        async fn value($user: u32) -> Answer {
            Ok($user)
        }

        #[limit_per_time(9, "1h", key = 7)]
        #[limit_per_time(count = $count * 2, window = $hour, key = $k * 0)]
        async fn stacked($user: u32) -> Answer {
            Ok($user)
        }
    };
}

arguments!(user + 1, user == 1 || user == 2, 1 + 1, 1 + 1, 1, "1h", user);

#[test]
fn f_08_an_argument_is_one_value() {
    let world = World::new();
    assert_eq!(world.run(admitted(9, numbers)), 4, "(1 + 1) * 2");
    world.advance(119);
    assert_eq!(world.run(admitted(9, numbers)), 0, "(1 + 1) * 60 seconds");
    world.advance(1);
    assert_eq!(world.run(admitted(9, numbers)), 4);

    assert_eq!(world.run(literals(1)), Ok(1));
    assert_eq!(
        why(&world.run(literals(2))),
        Some(RejectionKind::Limited),
        "(user + 1) * 0 is one client"
    );

    assert_eq!(
        why(&world.run(condition(3))),
        Some(RejectionKind::Denied),
        "!(user == 1 || user == 2)"
    );
    assert_eq!(world.run(condition(2)), Ok(2));
    assert_eq!(world.run(admitted(9, weighed)), 1, "each costs (1 + 1) * 2 of as many");

    assert_eq!(world.run(value(1)), Ok(1));
    assert_eq!(world.run(value(1)), Ok(4), "refused: 2 * (1 + 1)");
    world.advance(3600);
    assert_eq!(world.run(value(3)), Ok(3), "a success, since !(user == 1 || user == 2)");
    assert_eq!(world.run(value(3)), Ok(3));

    assert_eq!(world.run(admitted(9, || stacked(1))), 4);
    assert_eq!(world.run(admitted(9, || stacked(2))), 0);
}

macro_rules! response {
    ($ret:ty, $several:ty) => {
        #[limit_per_time(1, "1h", key = 7)]
        async fn response() -> $ret {
            "a response"
        }

        #[limit_per_time(1, "1h", key = 7)]
        fn future_of_a_response() -> impl Future<Output = $several> + Send {
            async { "a response" }
        }
    };
}

response!(impl IntoResponse, impl IntoResponse + Send);

#[test]
fn f_08_a_return_type_is_known_through_its_group() {
    let world = World::new();
    let statuses = || {
        [
            world.run(response()).into_response().status(),
            world.run(future_of_a_response()).into_response().status(),
        ]
    };
    assert_eq!(statuses(), [200, 200]);
    assert_eq!(statuses(), [429, 429]);
}
