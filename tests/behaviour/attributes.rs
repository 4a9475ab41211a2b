//! Attributes beside ours. The lints that tell whether each survived once are errors here.
#![deny(unused_attributes, unfulfilled_lint_expectations, unused_must_use, deprecated)]

use std::sync::atomic::{AtomicUsize, Ordering};

use rate_limit::{Rejection, limit_per_time};

use crate::support::World;

/// The first line.
///
/// The second.
#[limit_per_time(1, "1m", key = "k")]
#[must_use = "it says so"]
#[inline]
#[doc(hidden)]
#[allow(clippy::needless_return, non_snake_case)]
async fn Above() -> Result<u8, Rejection> {
    return Ok(1);
}

/// Below.
#[must_use]
#[inline(never)]
#[allow(clippy::needless_return, clippy::double_must_use, non_snake_case)]
#[deprecated = "it says so"]
#[cfg(test)]
#[limit_per_time(1, "1m", key = "k", reset_on_success, success = |_| false)]
#[allow(clippy::mixed_attributes_style)]
async fn Below(unused: u8) -> u8_or_refusal {
    #![allow(unused_variables)]
    return Ok(1);
}

#[allow(non_camel_case_types)]
type u8_or_refusal = Result<u8, Rejection>;

#[limit_per_time(1, "1m", key = "k", on_limit = |_| 0)]
#[cfg(any())]
async fn below_what_is_gone() -> u8 {
    no_such_function()
}

#[cfg(any())]
#[limit_per_time(1, "1m", key = "k", on_limit = |_| 0)]
async fn above_what_is_gone() -> u8 {
    no_such_function()
}

#[must_use]
#[limit_per_time(1, "1m", key = "k", reset_on_success, on_limit = |_| 0)]
async fn must_be_used() -> u8 {
    1
}

#[tokio::test]
async fn mac_18_each_attribute_survives_once() {
    let world = World::new();
    world
        .run(async {
            assert_eq!(Above().await, Ok(1));
            assert!(Above().await.is_err());
            #[expect(deprecated)]
            {
                assert_eq!(Below(1).await, Ok(1));
                assert!(Below(1).await.is_err());
            }
            #[expect(unused_must_use)]
            {
                must_be_used().await;
            }
        })
        .await;
}

#[tracing::instrument]
#[limit_per_time(1, "1m", key = id)]
async fn instrument_above(id: u8, _: Silent) -> Result<u8, Rejection> {
    Ok(id)
}

#[limit_per_time(1, "1m", key = id)]
#[tracing::instrument(skip(_silent))]
async fn instrument_below(id: u8, _silent: Silent) -> Result<u8, Rejection> {
    Ok(id)
}

#[tracing::instrument(ret, fields(id = id))]
#[limit_per_time(1, "1m", key = id, reset_on_success, success = |_| false)]
async fn settled_instrument_above(id: u8, _: Silent) -> Result<u8, Rejection> {
    Ok(id)
}

#[limit_per_time(1, "1m", key = id, reset_on_success, success = |_| false)]
#[tracing::instrument(err)]
async fn settled_instrument_below(id: u8, _: Silent) -> Result<u8, Rejection> {
    Ok(id)
}

#[limit_per_time(1, "1m", key = id)]
/// Between them.
#[tracing::instrument(ret(Debug), skip_all)]
#[allow(clippy::unused_async)]
async fn response_instrument_below(id: u8, _: Silent) -> impl axum::response::IntoResponse {
    id.to_string()
}

/// Has no `Debug`, which `instrument` would want of an argument with a name.
struct Silent;

#[tokio::test]
async fn mac_22_instrument_may_stand_above_and_below() {
    use axum::response::IntoResponse as _;
    let world = World::new();
    world
        .run(async {
            assert_eq!(instrument_above(1, Silent).await, Ok(1));
            assert!(instrument_above(1, Silent).await.is_err());
            assert_eq!(instrument_below(1, Silent).await, Ok(1));
            assert!(instrument_below(1, Silent).await.is_err());
            assert_eq!(settled_instrument_above(1, Silent).await, Ok(1));
            assert!(settled_instrument_above(1, Silent).await.is_err());
            assert_eq!(settled_instrument_below(1, Silent).await, Ok(1));
            assert!(settled_instrument_below(1, Silent).await.is_err());
            assert_eq!(response_instrument_below(1, Silent).await.into_response().status(), 200);
            assert_eq!(response_instrument_below(1, Silent).await.into_response().status(), 429);
        })
        .await;
    assert_eq!(world.methods()[0], "behaviour::attributes::instrument_above");
    assert_eq!(world.methods()[1], "behaviour::attributes::instrument_below");
}

static RUN: AtomicUsize = AtomicUsize::new(0);

#[limit_per_time(1, "1d", key = "k", on_limit = |_| ())]
#[tokio::test]
async fn a_test_below_ours() {
    RUN.fetch_add(1, Ordering::SeqCst);
}

#[test]
fn mac_22_a_test_below_ours_is_limited() {
    // The harness may have called it before.
    a_test_below_ours();
    a_test_below_ours();
    assert_eq!(RUN.load(Ordering::SeqCst), 1);
}
