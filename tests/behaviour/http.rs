//! MAC-28: handlers of an axum router.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{Path, State};
use axum::http::{Request, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use axum::{Json, Router};
use rate_limit::{Rejection, limit_per_time};
use tower::ServiceExt as _;

use crate::support::World;

#[limit_per_time(2, "1m", key = user)]
async fn result(Path(user): Path<String>) -> Result<&'static str, Rejection> {
    Ok("result")
}

#[limit_per_time(2, "1m", key = user)]
async fn result_response(Path(user): Path<String>) -> Result<Json<u8>, Response> {
    Ok(Json(1))
}

#[limit_per_time(2, "1m", key = user, reset_on_success, success = |_| false)]
async fn response(Path(user): Path<String>) -> Response {
    "response".into_response()
}

#[limit_per_time(2, "1m", key = user)]
async fn opaque(State(greeting): State<&'static str>, Path(user): Path<String>) -> impl IntoResponse {
    ([("x-greeting", greeting)], user)
}

#[limit_per_time(2, "1m", key = user, reset_on_success, success = |_| false)]
async fn settled_opaque(Path(user): Path<String>, _: Request<Body>) -> impl IntoResponse + use<> {
    Json(user)
}

#[limit_per_time(2, "1m", key = user)]
async fn opaque_by_path(Path(user): Path<String>) -> impl axum::response::IntoResponse + Send {
    user
}

#[limit_per_time(2, "1m", key = user)]
async fn app_error(Path(user): Path<String>) -> Result<Redirect, AppError> {
    Ok(Redirect::to("/elsewhere"))
}

struct AppError(Rejection);

impl From<Rejection> for AppError {
    fn from(rejection: Rejection) -> Self {
        Self(rejection)
    }
}

impl IntoResponse for AppError {
    fn into_response(self) -> Response {
        ([("x-app", "yes")], self.0).into_response()
    }
}

#[limit_per_time(2, "1m", key = user, on_limit = |rejection| (rejection.status(), "later"))]
async fn by_on_limit(Path(user): Path<String>) -> (StatusCode, &'static str) {
    (StatusCode::CREATED, "made")
}

fn app() -> Router {
    Router::new()
        .route("/result/{user}", get(result))
        .route("/result-response/{user}", get(result_response))
        .route("/response/{user}", get(response))
        .route("/opaque/{user}", get(opaque))
        .route("/settled-opaque/{user}", get(settled_opaque))
        .route("/opaque-by-path/{user}", get(opaque_by_path))
        .route("/app-error/{user}", get(app_error))
        .route("/on-limit/{user}", get(by_on_limit))
        .with_state("hello")
}

async fn call(world: &World, path: &str) -> Response {
    let request = Request::get(path).body(Body::empty()).expect("a request");
    let Ok(response) = world.run(app().oneshot(request)).await;
    response
}

fn header_of<'a>(response: &'a Response, name: &str) -> Option<&'a str> {
    response.headers().get(name).and_then(|value| value.to_str().ok())
}

#[tokio::test]
async fn mac_28_the_call_over_the_limit_is_429() {
    let paths = [
        ("/result", 200),
        ("/result-response", 200),
        ("/response", 200),
        ("/opaque", 200),
        ("/settled-opaque", 200),
        ("/opaque-by-path", 200),
        ("/app-error", 303),
    ];
    for (path, passed) in paths {
        let world = World::new();
        let (alice, bob) = (format!("{path}/alice"), format!("{path}/bob"));
        assert_eq!(call(&world, &alice).await.status(), passed, "{path}");
        assert_eq!(call(&world, &alice).await.status(), passed, "{path}");
        let refused = call(&world, &alice).await;
        assert_eq!(refused.status(), 429, "{path}");
        assert_eq!(header_of(&refused, "retry-after"), Some("60"), "{path}");
        assert_eq!(header_of(&refused, "cache-control"), Some("no-store"), "{path}");
        assert_eq!(
            header_of(&refused, "content-type"),
            Some("application/problem+json"),
            "{path}"
        );
        assert_eq!(call(&world, &bob).await.status(), passed, "{path}");
    }
}

#[tokio::test]
async fn mac_28_an_answer_that_passes_is_the_handlers_own() {
    let world = World::new();
    let response = call(&world, "/opaque/alice").await;
    assert_eq!(header_of(&response, "x-greeting"), Some("hello"));
    assert_eq!(header_of(&response, "retry-after"), None);
    let response = call(&world, "/settled-opaque/alice").await;
    assert_eq!(
        to_bytes(response.into_body(), 99).await.ok().as_deref(),
        Some(&b"\"alice\""[..])
    );
}

#[tokio::test]
async fn mac_28_the_refusal_passes_through_the_users_own_error_and_on_limit() {
    let world = World::new();
    for _ in 0..2 {
        assert_eq!(call(&world, "/app-error/alice").await.status(), 303);
        assert_eq!(call(&world, "/on-limit/alice").await.status(), 201);
    }
    let refused = call(&world, "/app-error/alice").await;
    assert_eq!(
        (refused.status().as_u16(), header_of(&refused, "x-app")),
        (429, Some("yes"))
    );
    let refused = call(&world, "/on-limit/alice").await;
    assert_eq!(refused.status(), 429);
    assert_eq!(
        to_bytes(refused.into_body(), 99).await.ok().as_deref(),
        Some(&b"later"[..])
    );
}

#[tokio::test]
async fn mac_28_the_body_of_a_refusal_is_a_problem() {
    let world = World::new();
    for _ in 0..2 {
        call(&world, "/result/alice").await;
    }
    let refused = call(&world, "/result/alice").await;
    let body = to_bytes(refused.into_body(), 4096).await.expect("a body");
    let problem: serde_json::Value = serde_json::from_slice(&body).expect("JSON");
    assert_eq!(
        problem,
        serde_json::json!({
            "type": "https://iana.org/assignments/http-problem-types#quota-exceeded",
            "title": "Request cannot be satisfied as assigned quota has been exceeded",
            "status": 429,
            "detail": "too many calls of `result` (2 in 1m): try again in 1m",
            "violated-policies": ["result"],
        })
    );
}

#[tokio::test]
async fn mac_28_who_waits_as_told_is_admitted() {
    let world = World::new();
    call(&world, "/opaque/alice").await;
    world.clock.advance(Duration::from_millis(100));
    call(&world, "/opaque/alice").await;
    let told = async || {
        let refused = call(&world, "/opaque/alice").await;
        header_of(&refused, "retry-after").and_then(|seconds| seconds.parse::<u64>().ok())
    };
    assert_eq!(told().await, Some(60), "59.9 s, rounded up");
    world.clock.advance(Duration::from_micros(59_899_999));
    assert_eq!(told().await, Some(1), "a microsecond is a second");
    world.clock.advance(Duration::from_secs(1));
    assert_eq!(call(&world, "/opaque/alice").await.status(), 200);
}

#[tokio::test]
async fn key_06_a_blank_client_is_told_so_and_nothing_of_the_service() {
    for path in [
        "/result/%20",
        "/opaque/%20",
        "/settled-opaque/%20%09",
        "/response/%C2%A0",
    ] {
        let world = World::new();
        for _ in 0..6 {
            let response = call(&world, path).await;
            assert_eq!(response.status(), 400, "{path}");
            assert_eq!(header_of(&response, "retry-after"), None, "{path}");
            assert_eq!(
                header_of(&response, header::CONTENT_TYPE.as_str()),
                Some("application/problem+json")
            );
            let body = to_bytes(response.into_body(), 4096).await.expect("a body");
            let function = match path.split('/').nth(1).expect("a prefix") {
                "settled-opaque" => "settled_opaque",
                function => function,
            };
            assert_eq!(
                serde_json::from_slice::<serde_json::Value>(&body).ok(),
                Some(serde_json::json!({
                    "type": "about:blank",
                    "title": "Bad Request",
                    "status": 400,
                    "detail": format!("a part of the key of `{function}` is empty or blank"),
                }))
            );
        }
        let named = path.split('%').next().expect("a prefix").to_owned() + "alice";
        assert_eq!(call(&world, &named).await.status(), 200, "{path}");
    }
}
