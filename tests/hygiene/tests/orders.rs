//! MAC-22: ours and `debug_handler`, in each order.

use axum::body::Body;
use axum::extract::Path;
use axum::http::Request;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::Router;
use limits::{limit_per_time, Limiter, Rejection};
use tower::ServiceExt;

#[axum::debug_handler]
#[limit_per_time(2, "1m", key = user, crate = limits)]
async fn above(Path(user): Path<String>) -> Result<String, Rejection> {
    Ok(user)
}

#[limit_per_time(2, "1m", key = user, crate = limits)]
#[axum::debug_handler]
async fn below(Path(user): Path<String>) -> Result<String, Rejection> {
    Ok(user)
}

#[axum::debug_handler]
#[limit_per_time(2, "1m", key = user, reset_on_success, success = |_| false, crate = limits)]
async fn settled_above(Path(user): Path<String>, _: Request<Body>) -> Response {
    user.into_response()
}

#[limit_per_time(2, "1m", key = user, reset_on_success, success = |_| false, crate = limits)]
#[axum::debug_handler]
async fn settled_below(Path(user): Path<String>, _: Request<Body>) -> Response {
    user.into_response()
}

#[axum::debug_handler]
#[limit_per_time(2, "1m", key = user, crate = limits)]
async fn opaque_above(Path(user): Path<String>, _: Request<Body>) -> impl IntoResponse {
    user
}

#[limit_per_time(2, "1m", key = user, reset_on_success, success = |_| false, crate = limits)]
#[axum::debug_handler]
async fn opaque_below(Path(user): Path<String>, _: Request<Body>) -> impl IntoResponse {
    user
}

#[tokio::test]
async fn mac_22_debug_handler_may_stand_above_and_below() {
    let routes = || {
        Router::<()>::new()
            .route("/above/{user}", get(above))
            .route("/below/{user}", get(below))
            .route("/settled-above/{user}", get(settled_above))
            .route("/settled-below/{user}", get(settled_below))
            .route("/opaque-above/{user}", get(opaque_above))
            .route("/opaque-below/{user}", get(opaque_below))
    };
    let limiter = Limiter::embedded();
    for path in [
        "above",
        "below",
        "settled-above",
        "settled-below",
        "opaque-above",
        "opaque-below",
    ] {
        let mut statuses = Vec::new();
        for user in ["alice", "alice", "alice", "bob"] {
            let request = Request::get(format!("/{path}/{user}"))
                .body(Body::empty())
                .expect("a request");
            let Ok(response) = limiter.scope(routes().oneshot(request)).await;
            statuses.push(response.status().as_u16());
        }
        assert_eq!(statuses, [200, 200, 429, 200], "{path}");
    }
}
