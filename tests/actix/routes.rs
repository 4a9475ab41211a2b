//! The limit of a route: preflights, and configured policies.

use std::time::Duration;

use actix_web::http::Method;
use actix_web::middleware::from_fn;
use actix_web::test::{TestRequest, init_service};
use actix_web::{App, web};
use rate_limit::actix_web::LimitRoute;
use rate_limit::{ClientIpSource, Limiter, Numbers, Policies, Policy};

use crate::client::{from, get, status};

fn window(count: u32) -> Policy {
    Policy::sliding_window(count, Duration::from_secs(60))
}

async fn hello() -> &'static str {
    "hello"
}

/// The statuses of these requests in order.
async fn answers(limit: LimitRoute, requests: impl IntoIterator<Item = TestRequest>) -> Vec<u16> {
    let app = App::new()
        .wrap(from_fn(limit.middleware()))
        .default_service(web::to(hello));
    let app = init_service(app).await;
    let mut answers = Vec::new();
    for request in requests {
        answers.push(status(&app, request).await);
    }
    answers
}

fn options(names: &[&'static str]) -> TestRequest {
    let request = from("192.0.2.1", Method::OPTIONS, "/");
    names
        .iter()
        .fold(request, |request, name| request.insert_header((*name, "x")))
}

fn preflight() -> TestRequest {
    options(&["origin", "access-control-request-method"])
}

fn post() -> TestRequest {
    from("192.0.2.1", Method::POST, "/")
}

#[actix_web::test]
async fn f_23_a_preflight_is_not_charged_unless_the_limit_says_so() {
    let limit = || LimitRoute::by_address("f_23", window(2), ClientIpSource::peer()).limiter(Limiter::embedded());
    let preflights = || (0..3).map(|_| preflight());
    let before = preflights().chain([post(), post(), post()]);
    assert_eq!(answers(limit(), before).await, [200, 200, 200, 200, 200, 429]);
    let similar = [
        options(&["origin"]),
        options(&["access-control-request-method"]),
        post(),
    ];
    assert_eq!(answers(limit(), similar).await, [200, 200, 429]);
    assert_eq!(
        answers(limit().charge_preflights(), preflights()).await,
        [200, 200, 429]
    );

    let by_account = LimitRoute::new("f_23", window(2), |request: &actix_web::dev::ServiceRequest| {
        request
            .headers()
            .get("authorization")
            .map(|account| account.as_bytes().to_vec())
    });
    let without_client = [preflight(), post()];
    assert_eq!(
        answers(by_account.limiter(Limiter::embedded()), without_client).await,
        [200, 400]
    );
}

#[actix_web::test]
async fn f_55_a_limit_goes_by_configured_policies() {
    let policies = |count| {
        let policies = Policies::new().with("f_55_policy", window(count));
        policies.with("f_55_route", window(count + 1))
    };
    let limiter = Limiter::builder()
        .policies(policies(1))
        .build()
        .expect("no secret is set");
    let by = |numbers: Numbers| {
        LimitRoute::by_address("f_55_route", numbers, ClientIpSource::peer()).limiter(limiter.clone())
    };
    let four = |peer: &'static str| (0..4).map(move |_| get(peer, "/"));
    assert_eq!(
        answers(by(window(9).into()), four("192.0.2.1")).await,
        [200, 200, 429, 429]
    );
    let named = by(Numbers::Named("f_55_policy"));
    assert_eq!(answers(named.clone(), four("192.0.2.2")).await, [200, 429, 429, 429]);
    limiter.set_policies(policies(2)).expect("all are there");
    assert_eq!(answers(named, four("192.0.2.3")).await, [200, 200, 429, 429]);

    let error = limiter
        .set_policies(Policies::new())
        .expect_err("one is missing")
        .to_string();
    assert_eq!(
        error,
        "`f_55_route` asks for the policy `f_55_policy`, which is missing: add it"
    );
}

/// So that it can be built before `verify`, and cloned into the closure of `HttpServer::new`.
#[test]
fn f_55_a_limit_can_be_sent_to_the_workers() {
    fn is_send<T: Clone + Send>(_: &T) {}
    is_send(&LimitRoute::by_address("f_55_sent", window(2), ClientIpSource::peer()));
}
