//! The headers that `RateHeaders` puts on an answer, beside those of the handler.

use axum::Router;
use axum::body::Body;
use axum::http::Response;
use axum::routing::get;
use rate_limit::axum::RateHeaders;
use rate_limit::{HeaderDialect, Limiter, Rejection, limit_per_time};

use crate::client::{request, send};

/// The lines of the answer's own headers, as the path of the request has them: `NAME=VALUE` between bars.
#[limit_per_time(100, "1m", key = "everybody", name = "own-headers")]
async fn own_headers(lines: &[(&'static str, &'static str)]) -> Result<Response<Body>, Rejection> {
    let answer = lines.iter().fold(Response::builder(), |answer, (name, value)| {
        answer.header(*name, *value)
    });
    Ok(answer.body(Body::empty()).expect("a response"))
}

/// An answer with these headers of its own, after the layer.
async fn answer(dialect: HeaderDialect, lines: &'static [(&'static str, &'static str)]) -> Response<Body> {
    let app = Router::new()
        .route("/", get(move || own_headers(lines)))
        .layer(RateHeaders::new(dialect));
    Limiter::embedded()
        .scope(send(&app, request("192.0.2.1", "GET", "/")))
        .await
}

fn all<'a>(answer: &'a Response<Body>, name: &str) -> Vec<&'a str> {
    let lines = answer.headers().get_all(name).iter();
    lines.map(|line| line.to_str().expect("ASCII")).collect()
}

async fn cache_control(lines: &'static [(&'static str, &'static str)]) -> String {
    all(&answer(HeaderDialect::Draft11, lines).await, "cache-control").join(" | ")
}

#[tokio::test]
async fn f_22_a_handlers_own_header_is_kept() {
    let own = answer(
        HeaderDialect::Draft11,
        &[("ratelimit", "\"own\";r=7;t=1"), ("cache-control", "public")],
    )
    .await;
    assert_eq!(all(&own, "ratelimit"), ["\"own\";r=7;t=1"]);
    assert!(all(&own, "ratelimit-policy").is_empty(), "a policy of another limit");
    assert_eq!(all(&own, "cache-control"), ["public"], "the answer is the handler's");

    let policy = answer(HeaderDialect::Draft11, &[("ratelimit-policy", "\"own\";q=7")]).await;
    assert_eq!(all(&policy, "ratelimit-policy"), ["\"own\";q=7"]);
    assert!(all(&policy, "ratelimit").is_empty());

    let older = answer(HeaderDialect::XRateLimit, &[("x-ratelimit-remaining", "7")]).await;
    assert_eq!(all(&older, "x-ratelimit-remaining"), ["7"]);
    assert!(all(&older, "x-ratelimit-limit").is_empty());

    let other = answer(HeaderDialect::Draft11, &[("x-ratelimit-remaining", "7")]).await;
    assert_eq!(
        all(&other, "ratelimit"),
        ["\"own-headers\";r=99;t=60"],
        "another dialect"
    );
}

#[tokio::test]
async fn f_22_other_directives_of_cache_control_are_kept() {
    assert_eq!(
        cache_control(&[("cache-control", "public, max-age=60, must-revalidate")]).await,
        "private, max-age=60, must-revalidate"
    );
    assert_eq!(
        cache_control(&[("cache-control", "s-maxage=600,max-age=60")]).await,
        "private, max-age=60"
    );
    assert_eq!(
        cache_control(&[
            ("cache-control", "max-age=60"),
            ("cache-control", "Public , x=\"a, public\"")
        ])
        .await,
        "private, max-age=60, x=\"a, public\""
    );
}

#[tokio::test]
async fn f_22_an_answer_that_a_shared_cache_may_keep_becomes_private() {
    for (lines, expected) in [
        (&[("cache-control", "max-age=60")][..], "private, max-age=60"),
        (
            &[("cache-control", "private=\"set-cookie\", max-age=60")],
            "private, max-age=60",
        ),
        (&[("cache-control", "no-cache")], "private, no-cache"),
        (&[("cache-control", "x-public")], "private, x-public"),
        (&[], "private"),
        (&[("cache-control", "private, max-age=60")], "private, max-age=60"),
        (
            &[("cache-control", "max-age=60"), ("cache-control", "PRIVATE")],
            "max-age=60 | PRIVATE",
        ),
        (&[("cache-control", "no-store")], "no-store"),
    ] {
        assert_eq!(cache_control(lines).await, expected, "{lines:?}");
    }
}
