//! Layers and extractors of axum.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::Extension;
use axum::http::{Request, Response, StatusCode};
use axum::routing::{any, get, post};
use axum::{Json, Router};
use rate_limit::axum::{AmbientClient, Bot, LimitRoute, RateHeaders};
use rate_limit::{ClientIp, ClientIpSource, HeaderDialect, Limiter, Policy, Rejection, limit_per_time};

use crate::client::{request, send, status, statuses};
use crate::log;

const FIVE: Policy = Policy::sliding_window(5, Duration::from_secs(60));

/// A limit by address on a limiter of its own.
fn by_address(source: ClientIpSource) -> LimitRoute {
    LimitRoute::by_address("route", FIVE, source).limiter(Limiter::embedded())
}

fn hello(layer: LimitRoute) -> Router {
    Router::new().route("/", get(|| async { "hello" })).route_layer(layer)
}

#[tokio::test]
async fn ip_01_an_invented_header_neither_frees_nor_locks_out() {
    let source = ClientIpSource::x_forwarded_for(["10.0.0.0/8".parse().expect("a network")]);
    let app = hello(by_address(source));
    let forged = |n: usize| {
        let mut request = request("203.0.113.9", "GET", "/");
        let value = if n < 200 {
            format!("192.0.2.{}", n % 250)
        } else {
            "198.51.100.7".to_owned()
        };
        request
            .headers_mut()
            .insert("x-forwarded-for", value.parse().expect("a value"));
        request
    };
    let mut admitted = 0;
    for n in 0..206 {
        admitted += usize::from(send(&app, forged(n)).await.status() == StatusCode::OK);
    }
    assert_eq!(admitted, 5);
    let mut victim = request("10.0.0.3", "GET", "/");
    victim
        .headers_mut()
        .insert("x-forwarded-for", "198.51.100.7".parse().expect("a value"));
    assert_eq!(send(&app, victim).await.status(), StatusCode::OK);
}

#[tokio::test]
async fn ip_13_a_peer_that_is_not_known_is_an_error_of_the_service() {
    let app = hello(by_address(ClientIpSource::peer()));
    let without = Request::builder().uri("/").body(Body::empty()).expect("a request");
    assert_eq!(send(&app, without).await.status(), StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(
        statuses(&app, "192.0.2.1", "/", 6).await,
        [200, 200, 200, 200, 200, 429]
    );
}

#[tokio::test]
async fn http_01_a_body_that_is_never_read_is_charged() {
    let app = Router::new()
        .route("/", post(|Json(_): Json<u64>| async { "parsed" }))
        .route_layer(by_address(ClientIpSource::peer()));
    let read = Arc::new(AtomicU32::new(0));
    let mut answers = Vec::new();
    for _ in 0..1_000 {
        let (parts, _) = request("192.0.2.1", "POST", "/").into_parts();
        let read = Arc::clone(&read);
        let stream = async_stream(read);
        let mut request = Request::from_parts(parts, stream);
        request
            .headers_mut()
            .insert("content-type", "application/json".parse().expect("a value"));
        answers.push(send(&app, request).await.status().as_u16());
    }
    assert_eq!(answers[..5], [422; 5]);
    assert_eq!(answers[5..], [429; 995]);
    assert_eq!(
        read.load(Ordering::SeqCst),
        5,
        "no body was read once the limit was reached"
    );
}

/// A malformed body that counts how often it is read.
fn async_stream(read: Arc<AtomicU32>) -> Body {
    Body::new(CountedBody(Some(read)))
}

struct CountedBody(Option<Arc<AtomicU32>>);

impl axum::body::HttpBody for CountedBody {
    type Data = axum::body::Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<http_body::Frame<Self::Data>, Self::Error>>> {
        std::task::Poll::Ready(self.0.take().map(|read| {
            read.fetch_add(1, Ordering::SeqCst);
            Ok(http_body::Frame::data("{".into()))
        }))
    }
}

#[tokio::test]
async fn http_02_counters_go_by_the_name_and_not_by_the_path() {
    let app = Router::new()
        .route("/login", any(|| async { "in" }))
        .route("/login/", any(|| async { "in" }))
        .route("/verify/{code}", any(|| async { "code" }))
        .route_layer(by_address(ClientIpSource::peer()));
    let mut answers = Vec::new();
    for uri in [
        "/login",
        "/login/",
        "/verify/1",
        "/verify/%32",
        "/verify/3?x=/",
        "/login",
    ] {
        answers.push(status(&app, "192.0.2.1", "GET", uri).await);
    }
    assert_eq!(answers, [200, 200, 200, 200, 200, 429]);
}

#[tokio::test]
async fn http_03_nested_and_merged_and_twice() {
    let limit = by_address(ClientIpSource::peer());
    let inner = Router::new()
        .route("/a", get(|| async { "a" }))
        .route_layer(limit.clone());
    let merged = Router::new()
        .route("/b", get(|| async { "b" }))
        .route_layer(limit.clone());
    let app = Router::new()
        .nest("/v1", Router::new().nest("/api", inner))
        .merge(merged)
        .fallback(|| async { (StatusCode::NOT_FOUND, "nothing") })
        .layer(limit);
    assert_eq!(status(&app, "192.0.2.1", "GET", "/v1/api/a").await, 200);
    assert_eq!(status(&app, "192.0.2.1", "GET", "/b").await, 200);
    assert_eq!(status(&app, "192.0.2.1", "HEAD", "/b").await, 200);
    assert_eq!(status(&app, "192.0.2.1", "GET", "/nowhere").await, 404);
    assert_eq!(status(&app, "192.0.2.1", "GET", "/b").await, 200);
    assert_eq!(
        status(&app, "192.0.2.1", "GET", "/b").await,
        429,
        "each request was charged once"
    );
}

#[limit_per_time(2, "1m", name = "ambient")]
async fn ambient() -> Result<&'static str, Rejection> {
    Ok("who")
}

#[derive(Clone)]
struct Account(u64);

#[tokio::test]
async fn the_ambient_client_is_set_by_a_layer() {
    let limiter = Limiter::embedded();
    let app: Router =
        Router::new()
            .route("/", get(ambient))
            .layer(AmbientClient::new(|parts: &axum::http::request::Parts| {
                parts.extensions.get::<Account>().map(|account| account.0)
            }));
    let as_account = |account| {
        let mut request = request("192.0.2.1", "GET", "/");
        request.extensions_mut().insert(Account(account));
        request
    };
    limiter
        .scope(async {
            for expected in [200, 200, 429] {
                assert_eq!(send(&app, as_account(1)).await.status(), expected);
            }
            assert_eq!(send(&app, as_account(2)).await.status(), 200);
            assert_eq!(status(&app, "192.0.2.1", "GET", "/").await, 500, "nobody is logged in");
        })
        .await;
    let app: Router = Router::new()
        .route("/", get(ambient))
        .layer(AmbientClient::by_address(ClientIpSource::peer()));
    limiter
        .scope(async {
            assert_eq!(statuses(&app, "192.0.2.1", "/", 3).await, [200, 200, 429]);
            assert_eq!(statuses(&app, "192.0.2.2", "/", 1).await, [200]);
        })
        .await;
}

#[limit_per_time(3, "1m", key = "everybody", name = "wide")]
#[limit_per_time(2, "10m", key = "everybody")]
async fn tight() -> Result<Response<Body>, Rejection> {
    Ok(Response::builder()
        .header("cache-control", "public, max-age=60")
        .body("ok".into())
        .expect("a response"))
}

#[tokio::test]
async fn hdr_04_answers_that_pass_tell_the_tightest_limit_and_are_private() {
    let app = Router::new()
        .route("/", get(tight))
        .route("/free", get(|| async { "free" }))
        .layer(RateHeaders::new(HeaderDialect::Draft11));
    Limiter::embedded()
        .scope(async {
            let answer = send(&app, request("192.0.2.1", "GET", "/")).await;
            assert_eq!(answer.headers()["ratelimit-policy"], "\"wide\";q=2;w=600");
            assert_eq!(answer.headers()["ratelimit"], "\"wide\";r=1;t=600");
            assert_eq!(answer.headers()["cache-control"], "private, max-age=60");
            send(&app, request("192.0.2.1", "GET", "/")).await;
            let refused = send(&app, request("192.0.2.1", "GET", "/")).await;
            assert_eq!(refused.status(), 429);
            assert_eq!(refused.headers()["cache-control"], "no-store");
            assert!(
                refused.headers()["ratelimit"]
                    .to_str()
                    .expect("ASCII")
                    .starts_with("\"wide\";r=0;t=")
            );
            let free = send(&app, request("192.0.2.1", "GET", "/free")).await;
            assert!(!free.headers().contains_key("ratelimit"), "it met no limit");
        })
        .await;
}

#[limit_per_time(1, "1m", key = ip, name = "visit", deny_if = bot, on_limit = |_| Json(false))]
async fn visit(ip: ClientIp, Bot(bot): Bot) -> Json<bool> {
    Json(true)
}

#[tokio::test]
async fn an_address_and_a_bot_are_extracted() {
    let source = ClientIpSource::x_forwarded_for(["10.0.0.0/8".parse().expect("a network")]);
    let app = Router::new().route("/", post(visit)).layer(Extension(source));
    let visit = |client: &'static str, agent: &'static str| {
        let mut request = request("10.0.0.1", "POST", "/");
        request
            .headers_mut()
            .insert("x-forwarded-for", client.parse().expect("a value"));
        request
            .headers_mut()
            .insert("user-agent", agent.parse().expect("a value"));
        request
    };
    Limiter::embedded()
        .scope(async {
            for (client, agent, counted) in [
                ("192.0.2.1", "Googlebot", "false"),
                ("192.0.2.1", "", "true"),
                ("192.0.2.1:9", "", "false"),
                ("192.0.2.2", "Firefox", "true"),
            ] {
                let answer = send(&app, visit(client, agent)).await;
                assert_eq!(answer.status(), 200);
                let body = to_bytes(answer.into_body(), 100).await.expect("a body");
                assert_eq!(body, counted, "{client} {agent}");
            }
        })
        .await;
}

#[limit_per_time(5, "1m", key = ip, name = "route")]
async fn of_the_same_name(ip: ClientIp) -> Result<&'static str, Rejection> {
    let _ = ip;
    Ok("hello")
}

#[tokio::test]
async fn http_03_a_layer_and_a_function_of_one_name_are_warned_of() {
    log::install();
    let limit = LimitRoute::by_address("route", FIVE, ClientIpSource::peer());
    let app = Router::new().route("/", get(of_the_same_name)).route_layer(limit);
    Limiter::embedded()
        .scope(async {
            assert_eq!(statuses(&app, "192.0.2.1", "/", 3).await, [200, 200, 429]);
        })
        .await;
    let log = log::take().concat();
    assert_eq!(log.matches("charged twice").count(), 1, "{log}");
}

#[limit_per_time(1, "1m", key = "operation")]
async fn operation() -> Result<u8, Rejection> {
    tokio::task::yield_now().await;
    Ok(1)
}

#[tokio::test]
async fn http_07_each_operation_within_one_request_is_charged() {
    let app = Router::new().route(
        "/",
        get(|| async {
            let (a, b, c, d) = tokio::join!(operation(), operation(), operation(), operation());
            [a, b, c, d].iter().filter(|answer| answer.is_ok()).count().to_string()
        }),
    );
    let answer = Limiter::embedded()
        .scope(send(&app, request("192.0.2.1", "GET", "/")))
        .await;
    assert_eq!(to_bytes(answer.into_body(), 100).await.expect("a body"), "1");
}

#[tokio::test]
async fn f_10_whose_fault_it_is_that_a_request_has_no_client() {
    let by_header = LimitRoute::new("by-header", FIVE, |parts: &axum::http::request::Parts| {
        parts.headers.get("x-client").cloned()
    });
    let app = hello(by_header.limiter(Limiter::embedded()));
    assert_eq!(
        status(&app, "192.0.2.1", "GET", "/").await,
        400,
        "the client left it out"
    );
    let app = hello(by_address(ClientIpSource::peer()));
    let request = || Request::get("/").body(Body::empty()).expect("a request");
    assert_eq!(
        send(&app, request()).await.status(),
        500,
        "the service does not know its peers"
    );
    assert_eq!(status(&app, "192.0.2.1", "GET", "/").await, 200);
}
