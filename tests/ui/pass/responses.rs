#[path = "../support.rs"]
#[allow(dead_code)]
mod support;

use axum::Json;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use axum::{Router, response};
use rate_limit::{Rejection, limit_per_time};
use support::run;

#[limit_per_time(1, "1h", key = user)]
async fn opaque(user: u64, _: bool) -> impl IntoResponse {
    Json(user)
}

#[limit_per_time(1, "1h", key = user)]
async fn opaque_with_more(user: &str, _: bool) -> impl response::IntoResponse + use<> {
    user.to_owned()
}

#[limit_per_time(1, "1h", key = user, reset_on_success)]
async fn settled_opaque(user: u64, valid: bool) -> impl IntoResponse {
    if !valid {
        return (StatusCode::UNAUTHORIZED, String::new());
    }
    (StatusCode::OK, user.to_string())
}

#[limit_per_time(1, "1h", key = user, reset_on_success)]
async fn response(user: u64, valid: bool) -> Response {
    if valid {
        Redirect::to("/").into_response()
    } else {
        (StatusCode::UNAUTHORIZED, user.to_string()).into_response()
    }
}

#[limit_per_time(1, "1h", key = user, reset_on_success)]
async fn response_as_error(user: u64, valid: bool) -> Result<String, Response> {
    if valid {
        Ok(user.to_string())
    } else {
        Err(StatusCode::UNAUTHORIZED.into_response())
    }
}

#[limit_per_time(1, "1h", key = user, reset_on_success)]
async fn framework_result(user: u64, valid: bool) -> axum::response::Result<String> {
    if !valid {
        Err(StatusCode::UNAUTHORIZED)?;
    }
    Ok(user.to_string())
}

#[limit_per_time(1, "1h", key = "everybody")]
async fn handler() -> impl IntoResponse {}

#[limit_per_time(1, "1h", key = user, reset_on_success)]
async fn settled_handler(Path(user): Path<u64>) -> Result<impl IntoResponse, Rejection> {
    Ok(user.to_string())
}

fn main() {
    // That a handler is still one.
    let _: Router = Router::new()
        .route("/", get(handler))
        .route("/{user}", get(settled_handler));

    let status = |answer: Response| {
        let status = answer.status().as_u16();
        assert_eq!(status == 429, answer.headers().contains_key("retry-after"));
        status
    };
    macro_rules! statuses {
        ($handler:ident, $user:expr) => {
            [true, true, false, true].map(|valid| status(run($handler($user, valid)).into_response()))
        };
    }
    assert_eq!(statuses!(opaque, 7), [200, 429, 429, 429]);
    assert_eq!(statuses!(opaque_with_more, "7"), [200, 429, 429, 429]);
    assert_eq!(statuses!(settled_opaque, 7), [200, 200, 401, 429]);
    assert_eq!(statuses!(response, 7), [303, 303, 401, 429]);
    assert_eq!(statuses!(response_as_error, 7), [200, 200, 401, 429]);
    assert_eq!(statuses!(framework_result, 7), [200, 200, 401, 429]);
}
