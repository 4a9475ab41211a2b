//! CORS preflights and the limit of a route.

use axum::Router;
use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{HeaderValue, Request};
use axum::routing::any;
use rate_limit::axum::LimitRoute;
use rate_limit::{ClientIpSource, Limiter, Policy};

use crate::client::{request, send, status};

const TWO: Policy = Policy::sliding_window(2, std::time::Duration::from_secs(60));

fn with(method: &str, names: &[&'static str]) -> Request<Body> {
    let mut request = request("192.0.2.1", method, "/");
    for name in names {
        request.headers_mut().insert(*name, HeaderValue::from_static("x"));
    }
    request
}

fn preflight() -> Request<Body> {
    with("OPTIONS", &["origin", "access-control-request-method"])
}

fn app(limit: LimitRoute) -> Router {
    Router::new()
        .route("/", any(|| async { "hello" }))
        .layer(limit.limiter(Limiter::embedded()))
}

#[tokio::test]
async fn f_23_a_preflight_is_not_charged() {
    let app = app(LimitRoute::by_address("preflights", TWO, ClientIpSource::peer()));
    for _ in 0..5 {
        assert_eq!(send(&app, preflight()).await.status(), 200);
    }
    let mut answers = Vec::new();
    for _ in 0..3 {
        answers.push(status(&app, "192.0.2.1", "POST", "/").await);
    }
    assert_eq!(answers, [200, 200, 429]);
    assert_eq!(
        send(&app, preflight()).await.status(),
        200,
        "the browser asks all the same"
    );
}

#[tokio::test]
async fn f_23_what_only_resembles_a_preflight_is_charged() {
    for similar in [
        with("OPTIONS", &[]),
        with("OPTIONS", &["origin"]),
        with("OPTIONS", &["access-control-request-method"]),
        with("POST", &["origin", "access-control-request-method"]),
    ] {
        let app = app(LimitRoute::by_address("preflights", TWO, ClientIpSource::peer()));
        let told = format!("{similar:?}");
        assert_eq!(send(&app, similar).await.status(), 200);
        let mut answers = Vec::new();
        for _ in 0..2 {
            answers.push(status(&app, "192.0.2.1", "POST", "/").await);
        }
        assert_eq!(answers, [200, 429], "{told}");
    }
}

/// A browser sends neither cookies nor `Authorization` with a preflight.
#[tokio::test]
async fn f_23_a_preflight_needs_no_client() {
    let app = app(LimitRoute::new("preflights", TWO, |parts: &Parts| {
        parts.headers.get("authorization").cloned()
    }));
    assert_eq!(send(&app, preflight()).await.status(), 200);
    assert_eq!(send(&app, with("POST", &["authorization"])).await.status(), 200);
    assert_eq!(send(&app, with("POST", &[])).await.status(), 400);
}

#[tokio::test]
async fn f_23_preflights_are_charged_if_the_layer_says_so() {
    let limit = LimitRoute::by_address("preflights", TWO, ClientIpSource::peer());
    let app = app(limit.charge_preflights());
    let mut answers = Vec::new();
    for _ in 0..3 {
        answers.push(send(&app, preflight()).await.status().as_u16());
    }
    assert_eq!(answers, [200, 200, 429]);
}
