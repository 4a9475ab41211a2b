//! A page without a server around it, and functions for it to show.

use axum::Router;
use axum::body::Body;
use axum::http::request::{Builder, Parts};
use axum::http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt as _;
use rate_limit::axum::Admin;
use rate_limit::{Limiter, Rejection, limit_per_time};
use serde_json::Value;
use tower::ServiceExt as _;

#[limit_per_time(5, "10m", key = user, name = "login")]
pub async fn login(user: &str) -> Result<(), Rejection> {
    Ok(())
}

#[limit_per_time(algorithm = token_bucket, capacity = 2, refill = "1h", key = (user, course), name = "enrol")]
pub async fn enrol(user: &str, course: u64) -> Result<(), Rejection> {
    Ok(())
}

/// Its numbers are known to nobody before it is called.
#[limit_per_time(count = count(), window = std::time::Duration::from_secs(60), key = user, name = "export", deny_if = user == "mallory")]
pub async fn export(user: &str) -> Result<(), Rejection> {
    Ok(())
}

const fn count() -> u32 {
    1
}

pub struct Page {
    pub limiter: Limiter,
    router: Router,
}

pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text);
        serde_json::from_str(&self.text).expect("JSON")
    }

    /// What a problem says.
    pub fn detail(&self) -> String {
        assert_eq!(self.headers["content-type"], "application/problem+json");
        let problem: Value = serde_json::from_str(&self.text).expect("JSON");
        assert_eq!(problem["status"], self.status.as_u16());
        problem["detail"].as_str().expect("a detail").to_owned()
    }
}

impl Page {
    /// One that everybody is let into.
    pub fn of(limiter: Limiter) -> Self {
        let admin = Admin::new(limiter.clone(), |_: &Parts| async { Ok::<_, StatusCode>(()) });
        Self {
            limiter,
            router: Router::new().nest_service("/admin", admin.router::<()>()),
        }
    }

    pub fn open() -> Self {
        Self::of(Limiter::embedded())
    }

    pub async fn ask(&self, request: Request<Body>) -> Answer {
        ask(&self.router, request).await
    }

    pub async fn state(&self) -> Value {
        let request = Request::get("/admin/state").body(Body::empty());
        self.ask(request.expect("a request")).await.json()
    }

    /// As the page posts it.
    pub async fn post(&self, path: &str, body: &str) -> Answer {
        let request = posted(path).body(Body::from(body.to_owned()));
        self.ask(request.expect("a request")).await
    }

    /// What is shown of a function.
    pub async fn function(&self, name: &str) -> Value {
        let mut state = self.state().await;
        let functions = state["functions"].as_array_mut().expect("a list");
        let found = functions.iter_mut().find(|function| function["name"] == name);
        found.expect("it is shown").take()
    }
}

pub fn posted(path: &str) -> Builder {
    Request::post(format!("/admin/{path}"))
        .header("content-type", "application/json")
        .header("x-rate-limit-admin", "1")
}

pub async fn ask(router: &Router, request: Request<Body>) -> Answer {
    let response = router.clone().oneshot(request).await.expect("it is infallible");
    let (parts, body) = response.into_parts();
    let body = body.collect().await.expect("a body").to_bytes();
    Answer {
        status: parts.status,
        headers: parts.headers,
        text: String::from_utf8(body.to_vec()).expect("text"),
    }
}
