//! What the attribute adds to the future of a function, in bytes.

#![allow(clippy::manual_async_fn, reason = "functions that return a future are measured too")]

use std::future::Future;
use std::pin::Pin;

use axum::response::IntoResponse;
use rate_limit::{Rejection, limit_per_time};

/// It is small, so that what is held of an answer while it is settled is.
struct Refused;

impl From<Rejection> for Refused {
    fn from(_: Rejection) -> Self {
        Self
    }
}

/// An argument that is held across an await.
struct Big<const N: usize>([u8; N]);

impl<const N: usize> Big<N> {
    const fn new() -> Self {
        Self([0; N])
    }

    fn id(&self) -> u8 {
        self.0[0]
    }
}

async fn plain<const N: usize>(big: Big<N>) -> Result<u8, Refused> {
    std::future::ready(()).await;
    Ok(big.id())
}

macro_rules! limited {
    ($($name:ident($big:ident) [$([$($args:tt)*])*];)*) => {$(
        $(#[limit_per_time(1, "1m", key = $big.id(), $($args)*)])*
        async fn $name<const N: usize>($big: Big<N>) -> Result<u8, Refused> {
            std::future::ready(()).await;
            Ok($big.id())
        }
    )*};
}

limited! {
    checked(big) [[]];
    checked_twice(big) [[][]];
    checked_thrice(big) [[][][]];
    reset(big) [[reset_on_success]];
    reset_twice(big) [[reset_on_success][reset_on_success]];
    reset_thrice(big) [[reset_on_success][reset_on_success][reset_on_success]];
    refunded(big) [[refund_on_error]];
    refunded_twice(big) [[refund_on_error][refund_on_error]];
    refunded_thrice(big) [[refund_on_error][refund_on_error][refund_on_error]];
}

#[limit_per_time(1, "1m", key = big.id(), cost = 2, skip_if = big.id() == 1, deny_if = big.id() == 2, block = "1h")]
async fn with_options<const N: usize>(big: Big<N>) -> Result<u8, Refused> {
    std::future::ready(()).await;
    Ok(big.id())
}

/// The permit is there for as long as the body runs.
#[limit_per_time(1, "1m", key = big.id(), permit = _permit)]
async fn with_permit<const N: usize>(big: Big<N>) -> Result<u8, Refused> {
    std::future::ready(()).await;
    Ok(big.id())
}

fn plain_future<const N: usize>(big: Big<N>) -> impl Future<Output = Result<u8, Refused>> {
    async move {
        std::future::ready(()).await;
        Ok(big.id())
    }
}

#[limit_per_time(1, "1m", key = big.id())]
fn checked_future<const N: usize>(big: Big<N>) -> impl Future<Output = Result<u8, Refused>> {
    async move {
        std::future::ready(()).await;
        Ok(big.id())
    }
}

#[limit_per_time(1, "1m", key = big.id(), reset_on_success)]
fn reset_future<const N: usize>(big: Big<N>) -> impl Future<Output = Result<u8, Refused>> {
    async move {
        std::future::ready(()).await;
        Ok(big.id())
    }
}

async fn plain_response<const N: usize>(big: Big<N>) -> impl IntoResponse {
    std::future::ready(()).await;
    [big.id()]
}

#[limit_per_time(1, "1m", key = big.id())]
async fn response<const N: usize>(big: Big<N>) -> impl IntoResponse {
    std::future::ready(()).await;
    [big.id()]
}

#[limit_per_time(1, "1m", key = big.id(), reset_on_success)]
async fn reset_response<const N: usize>(big: Big<N>) -> impl IntoResponse {
    std::future::ready(()).await;
    [big.id()]
}

#[limit_per_time(1, "1m", key = big.id())]
fn boxed<const N: usize>(big: Big<N>) -> Pin<Box<dyn Future<Output = Result<u8, Refused>>>> {
    Box::pin(async move {
        std::future::ready(()).await;
        Ok(big.id())
    })
}

/// The size of the function's future over that of the plain one, with an argument of 1 KiB and of 3 KiB.
macro_rules! over {
    ($plain:ident, $limited:ident) => {
        [
            size_of_val(&$limited(Big::<1024>::new())) - size_of_val(&$plain(Big::<1024>::new())),
            size_of_val(&$limited(Big::<3072>::new())) - size_of_val(&$plain(Big::<3072>::new())),
        ]
    };
}

macro_rules! hold {
    ($($limited:ident over $plain:ident: at most $most:expr;)*) => {$(
        let over = over!($plain, $limited);
        println!("{:>16}: {} bytes over `{}`", stringify!($limited), over[0], stringify!($plain));
        assert!(over[0] <= $most, "{}: {} bytes, of {}", stringify!($limited), over[0], $most);
        assert_eq!(over[0], over[1], "{}: the argument is there once more", stringify!($limited));
    )*};
}

#[test]
fn a_future_grows_by_little_for_each_rule_and_holds_its_arguments_once() {
    println!("{:>16}: {} bytes", "plain", size_of_val(&plain(Big::<1024>::new())));
    hold! {
        checked over plain: at most 256;
        checked_twice over plain: at most 2 * 256;
        checked_thrice over plain: at most 3 * 256;
        with_options over plain: at most 256;
        with_permit over plain: at most 512;
        reset over plain: at most 512;
        reset_twice over plain: at most 2 * 512;
        reset_thrice over plain: at most 3 * 512;
        refunded over plain: at most 512;
        refunded_twice over plain: at most 2 * 512;
        refunded_thrice over plain: at most 3 * 512;
        checked_future over plain_future: at most 256;
        reset_future over plain_future: at most 512;
        response over plain_response: at most 512;
        reset_response over plain_response: at most 768;
    }
    assert_eq!(size_of_val(&boxed(Big::<1024>::new())), 2 * size_of::<usize>());
}
