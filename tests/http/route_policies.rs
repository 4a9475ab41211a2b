//! The limit of a route by configured policies.

use std::time::Duration;

use axum::Router;
use axum::routing::get;
use rate_limit::axum::LimitRoute;
use rate_limit::{ClientIpSource, Limiter, Numbers, OnStoreError, Policies, Policy};

use crate::client::statuses;
use crate::log;

fn window(count: u32) -> Policy {
    Policy::sliding_window(count, Duration::from_secs(60))
}

fn limiter(policies: Policies) -> Limiter {
    Limiter::builder().policies(policies).build().expect("no secret is set")
}

fn app(numbers: impl Into<Numbers>, limiter: &Limiter) -> Router {
    let limit = LimitRoute::by_address("f_55_route", numbers, ClientIpSource::peer());
    Router::new()
        .route("/", get(|| async { "hello" }))
        .route_layer(limit.limiter(limiter.clone()))
}

async fn admitted(app: &Router, peer: &str) -> usize {
    let answers = statuses(app, peer, "/", 9).await;
    answers.iter().filter(|status| **status == 200).count()
}

#[tokio::test]
async fn f_55_an_entry_by_the_name_of_a_layer_takes_the_place_of_its_numbers() {
    let named = limiter(Policies::new().with("f_55_route", window(2)));
    assert_eq!(admitted(&app(window(5), &named), "192.0.2.1").await, 2);
    assert_eq!(
        admitted(&app(window(5), &limiter(Policies::new())), "192.0.2.1").await,
        5
    );
    let other = limiter(Policies::new().with("f_55_route#2", window(2)).with("f_55", window(2)));
    assert_eq!(admitted(&app(window(5), &other), "192.0.2.1").await, 5);
}

/// The layers of all tests of this program are known to each `verify`, so one test has all that asks it.
#[tokio::test]
async fn f_55_a_layer_goes_by_a_policy_by_its_name_also_after_a_reload() {
    log::install();
    let policies = |count| Policies::new().with("f_55_policy", window(count));
    let limiter = limiter(policies(2));
    log::take();
    limiter.verify().expect("nothing asks for a policy");
    let told = log::take();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].contains("policy=\"f_55_policy\""),
        "nothing goes by it yet: {told:?}"
    );

    let app = app(Numbers::Named("f_55_policy"), &limiter);
    assert_eq!(admitted(&app, "192.0.2.1").await, 2);
    limiter.set_policies(policies(4)).expect("it is there");
    assert_eq!(admitted(&app, "192.0.2.1").await, 2, "and two before");
    assert_eq!(admitted(&app, "192.0.2.2").await, 4);

    // An entry by the name of the layer is nothing to a layer that asks for a policy.
    let own = policies(4).with("f_55_route", window(1));
    limiter.set_policies(own).expect("it is there");
    assert_eq!(admitted(&app, "192.0.2.3").await, 4);

    log::take();
    limiter.verify().expect("it is there");
    let told = log::take().concat();
    assert!(!told.contains("policy=\"f_55_policy\""), "the layer goes by it: {told}");

    let lacking = Policies::new().with("f_55_polciy", window(9));
    let missing = "`f_55_route` asks for the policy `f_55_policy`, which is missing: did you mean `f_55_polciy`";
    let error = limiter.set_policies(lacking.clone()).expect_err("it is missing");
    assert_eq!(error.to_string(), missing);
    assert_eq!(admitted(&app, "192.0.2.4").await, 4, "what held before holds");

    let without = Limiter::builder().policies(lacking).on_store_error(OnStoreError::Open);
    let without = without.build().expect("what is asked for is not known here");
    assert_eq!(without.verify().expect_err("it is missing").to_string(), missing);
    log::take();
    let refused = statuses(&self::app(Numbers::Named("f_55_policy"), &without), "192.0.2.1", "/", 1).await;
    assert_eq!(refused, [500]);
    let told = log::take().concat();
    assert!(
        told.contains("method=\"f_55_route\"") && told.contains("policy=\"f_55_policy\""),
        "{told}"
    );
}

#[test]
fn f_55_a_layer_shows_its_numbers() {
    let shown = |numbers: Numbers| {
        let limit = LimitRoute::by_address("f_55_shown", numbers, ClientIpSource::peer());
        format!("{limit:?}")
    };
    assert_eq!(shown(window(5).into()), "LimitRoute(f_55_shown, 5 in 1m)");
}
