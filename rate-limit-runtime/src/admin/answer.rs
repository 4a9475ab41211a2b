//! What is answered to a request under the place where the page is mounted.

use axum::extract::OriginalUri;
use axum_core::body::Body;
use axum_core::response::{IntoResponse as _, Response};
use http::header::{ALLOW, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderValue, Method, Request, StatusCode};
use serde::Serialize;

use super::problem::Problem;
use super::question::Question;
use super::view::HISTORY;
use super::{Admin, events, headers, look_up, origin};

/// What the page loads.
const ASSETS: [(&str, &str, &str); 5] = [
    ("/page.css", "text/css; charset=utf-8", include_str!("page.css")),
    ("/page.js", SCRIPT, include_str!("page.js")),
    ("/chart.js", SCRIPT, include_str!("chart.js")),
    ("/client.js", SCRIPT, include_str!("client.js")),
    ("/live.js", SCRIPT, include_str!("live.js")),
];
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// The only way in: nothing is answered that the guard did not let through.
pub(super) async fn guarded(admin: Admin, request: Request<Body>) -> Response {
    let (parts, body) = request.into_parts();
    let response = match (admin.0.guard)(&parts).await {
        Ok(()) => answer(&admin, &parts, body)
            .await
            .unwrap_or_else(Problem::into_response),
        Err(refusal) => refusal,
    };
    headers::confine(response)
}

async fn answer(admin: &Admin, parts: &Parts, body: Body) -> Result<Response, Problem> {
    let limiter = &admin.0.limiter;
    match parts.uri.path() {
        "" | "/" => {
            reads(parts)?;
            Ok(page(parts))
        }
        "/state" => {
            reads(parts)?;
            origin::check_site(&parts.headers)?;
            let view = admin.0.views.of(limiter, HISTORY);
            Ok(text("application/json", view.to_string()))
        }
        "/events" => {
            reads(parts)?;
            origin::check_site(&parts.headers)?;
            events::events(admin)
        }
        "/look-up" => {
            let question = asked(parts, body).await?;
            Ok(json(&look_up::look_up(limiter, &question).await?))
        }
        "/release" => {
            let question = asked(parts, body).await?;
            Ok(json(&look_up::release(limiter, &question).await?))
        }
        path => match ASSETS.iter().find(|(name, ..)| *name == path) {
            Some((_, kind, asset)) => {
                reads(parts)?;
                Ok(text(kind, *asset))
            }
            None => Err(Problem::new(StatusCode::NOT_FOUND, "there is nothing here")),
        },
    }
}

fn reads(parts: &Parts) -> Result<(), Problem> {
    match parts.method {
        Method::GET | Method::HEAD => Ok(()),
        _ => Err(Problem::new(StatusCode::METHOD_NOT_ALLOWED, "this is only read").with(ALLOW, "GET, HEAD")),
    }
}

/// Whom the page asks about. It is never in a URL, which ends up in logs.
async fn asked(parts: &Parts, body: Body) -> Result<Question, Problem> {
    if parts.method != Method::POST {
        return Err(Problem::new(StatusCode::METHOD_NOT_ALLOWED, "this is only posted to").with(ALLOW, "POST"));
    }
    origin::check(parts)?;
    Question::read(body).await
}

/// The page. What it loads is relative to it, so that it can be mounted anywhere: from an address without a slash at its end that begins
/// with the last part of it.
fn page(parts: &Parts) -> Response {
    let asked = parts
        .extensions
        .get::<OriginalUri>()
        .map_or(&parts.uri, |asked| &asked.0);
    let base = match asked.path().rsplit('/').next().unwrap_or_default() {
        "" => String::new(),
        last => format!("./{}/", last.replace('&', "&amp;").replace('"', "&quot;")),
    };
    text(
        "text/html; charset=utf-8",
        include_str!("page.html").replace("{base}", &base),
    )
}

fn text(kind: &'static str, text: impl Into<Body>) -> Response {
    let mut response = Response::new(text.into());
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

fn json(answer: &impl Serialize) -> Response {
    // Nothing in it can fail to be written.
    text("application/json", serde_json::to_string(answer).unwrap_or_default())
}
