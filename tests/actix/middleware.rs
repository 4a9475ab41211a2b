//! Middleware and extractors.

use std::time::Duration;

use actix_web::http::Method;
use actix_web::http::header::ContentType;
use actix_web::middleware::from_fn;
use actix_web::test::{TestRequest, init_service};
use actix_web::{App, HttpMessage as _, HttpResponse, web};
use rate_limit::actix_web::{Bot, LimitRoute, ambient_client, ambient_client_by_address, rate_headers};
use rate_limit::{ClientIp, ClientIpSource, HeaderDialect, Limiter, Policy, Rejection, limit_per_time};

use crate::client::{body, from, get, header, send, status};

const FIVE: Policy = Policy::sliding_window(5, Duration::from_secs(60));

fn by_address(source: ClientIpSource) -> LimitRoute {
    LimitRoute::by_address("route", FIVE, source).limiter(Limiter::embedded())
}

fn behind_proxy() -> ClientIpSource {
    ClientIpSource::x_forwarded_for(["10.0.0.0/8".parse().expect("a network")])
}

async fn hello() -> &'static str {
    "hello"
}

#[actix_web::test]
async fn ip_01_an_invented_header_neither_frees_nor_locks_out() {
    let limit = by_address(behind_proxy());
    let app = init_service(
        App::new()
            .wrap(from_fn(limit.middleware()))
            .route("/", web::get().to(hello)),
    )
    .await;
    let mut admitted = 0;
    for n in 0..206 {
        let forged = if n < 200 {
            format!("192.0.2.{}", n % 250)
        } else {
            "198.51.100.7".to_owned()
        };
        let request = get("203.0.113.9", "/").insert_header(("x-forwarded-for", forged));
        admitted += usize::from(status(&app, request).await == 200);
    }
    assert_eq!(admitted, 5);
    let victim = || get("10.0.0.3", "/").insert_header(("x-forwarded-for", "198.51.100.7"));
    for expected in [200, 200, 200, 200, 200, 429] {
        assert_eq!(status(&app, victim()).await, expected);
    }
    // All lines of the header, and the entry that is no address.
    let two_lines = || {
        victim()
            .insert_header(("x-forwarded-for", "6.6.6.6"))
            .append_header(("x-forwarded-for", "198.51.100.7, 10.0.0.2"))
    };
    assert_eq!(status(&app, two_lines()).await, 429);
    let hidden = get("10.0.0.3", "/").insert_header(("x-forwarded-for", "198.51.100.7, unknown"));
    assert_eq!(status(&app, hidden).await, 200, "the proxy counts");
}

#[actix_web::test]
async fn ip_13_a_peer_that_is_not_known_is_an_error_of_the_service() {
    let limit = by_address(ClientIpSource::peer());
    let app = init_service(
        App::new()
            .wrap(from_fn(limit.middleware()))
            .route("/", web::get().to(hello)),
    )
    .await;
    assert_eq!(status(&app, TestRequest::get().uri("/")).await, 500);
    assert_eq!(status(&app, get("192.0.2.1", "/")).await, 200);
}

async fn parsed(_: web::Json<u64>) -> &'static str {
    "parsed"
}

#[actix_web::test]
async fn http_01_malformed_bodies_are_charged() {
    let limit = by_address(ClientIpSource::peer());
    let app = init_service(
        App::new()
            .wrap(from_fn(limit.middleware()))
            .route("/", web::post().to(parsed)),
    )
    .await;
    let mut answers = Vec::new();
    for _ in 0..20 {
        let request = from("192.0.2.1", Method::POST, "/")
            .insert_header(ContentType::json())
            .set_payload("{");
        answers.push(status(&app, request).await);
    }
    assert_eq!(answers[..5], [400; 5]);
    assert_eq!(answers[5..], [429; 15]);
}

#[actix_web::test]
async fn http_02_and_03_counters_go_by_the_name_and_a_request_is_charged_once() {
    let limit = by_address(ClientIpSource::peer());
    let app = App::new()
        .wrap(from_fn(limit.clone().middleware()))
        .service(
            web::scope("/v1")
                .wrap(from_fn(limit.clone().middleware()))
                .route("/a", web::get().to(hello)),
        )
        .service(
            web::resource("/verify/{code}")
                .wrap(from_fn(limit.middleware()))
                .route(web::get().to(hello)),
        )
        .default_service(web::to(HttpResponse::NotFound));
    let app = init_service(app).await;
    let mut answers = Vec::new();
    for uri in ["/v1/a", "/verify/1", "/verify/%32", "/nowhere", "/v1/a", "/v1/a"] {
        answers.push(status(&app, get("192.0.2.1", uri)).await);
    }
    assert_eq!(answers, [200, 200, 200, 404, 200, 429]);
}

#[limit_per_time(2, "1m", name = "ambient")]
async fn ambient() -> Result<&'static str, Rejection> {
    Ok("who")
}

#[derive(Clone)]
struct Account(u64);

#[actix_web::test]
async fn the_ambient_client_is_set_by_middleware() {
    let limiter = Limiter::embedded();
    let scoped = limiter.scope(async {
        let by_account = ambient_client(|request: &actix_web::dev::ServiceRequest| {
            request.extensions().get::<Account>().map(|account| account.0)
        });
        let app = init_service(App::new().wrap(from_fn(by_account)).route("/", web::get().to(ambient))).await;
        let as_account = |account| {
            let request = get("192.0.2.1", "/").to_request();
            request.extensions_mut().insert(Account(account));
            request
        };
        let mut answers = Vec::new();
        for account in [1, 1, 1, 2] {
            let answer = actix_web::test::call_service(&app, as_account(account)).await;
            answers.push(answer.status().as_u16());
        }
        assert_eq!(answers, [200, 200, 429, 200]);
        assert_eq!(status(&app, get("192.0.2.1", "/")).await, 500, "nobody is logged in");

        let by_address = ambient_client_by_address(ClientIpSource::peer());
        let app = init_service(App::new().wrap(from_fn(by_address)).route("/", web::get().to(ambient))).await;
        let mut answers = Vec::new();
        for peer in ["192.0.2.1", "192.0.2.1", "192.0.2.1", "192.0.2.2"] {
            answers.push(status(&app, get(peer, "/")).await);
        }
        assert_eq!(answers, [200, 200, 429, 200]);
    });
    scoped.await;
}

#[limit_per_time(3, "1m", key = "everybody", name = "wide")]
#[limit_per_time(2, "10m", key = "everybody")]
async fn tight() -> Result<HttpResponse, Rejection> {
    Ok(HttpResponse::Ok()
        .insert_header(("cache-control", "public, max-age=60"))
        .body("ok"))
}

#[actix_web::test]
async fn hdr_04_answers_that_pass_tell_the_tightest_limit_and_are_private() {
    Limiter::embedded()
        .scope(async {
            let app = App::new()
                .wrap(from_fn(rate_headers(HeaderDialect::Draft11)))
                .route("/", web::get().to(tight))
                .route("/free", web::get().to(hello));
            let app = init_service(app).await;
            let answer = send(&app, get("192.0.2.1", "/")).await;
            assert_eq!(header(&answer, "ratelimit-policy"), Some("\"wide\";q=2;w=600"));
            assert_eq!(header(&answer, "ratelimit"), Some("\"wide\";r=1;t=600"));
            assert_eq!(header(&answer, "cache-control"), Some("private, max-age=60"));
            send(&app, get("192.0.2.1", "/")).await;
            let refused = send(&app, get("192.0.2.1", "/")).await;
            assert_eq!(refused.status(), 429);
            assert_eq!(header(&refused, "cache-control"), Some("no-store"));
            assert_eq!(header(&refused, "ratelimit"), Some("\"wide\";r=0;t=600"));
            assert_eq!(
                header(&send(&app, get("192.0.2.1", "/free")).await, "ratelimit"),
                None,
                "it met no limit"
            );
        })
        .await;
}

#[limit_per_time(100, "1m", key = "everybody", name = "own-headers")]
async fn own_headers() -> Result<HttpResponse, Rejection> {
    Ok(HttpResponse::Ok()
        .insert_header(("ratelimit", "\"own\";r=7;t=1"))
        .insert_header(("cache-control", "public"))
        .finish())
}

#[limit_per_time(100, "1m", key = "everybody", name = "two-lines")]
async fn two_lines() -> Result<HttpResponse, Rejection> {
    Ok(HttpResponse::Ok()
        .append_header(("cache-control", "max-age=60"))
        .append_header(("cache-control", "s-maxage=600, must-revalidate"))
        .finish())
}

#[actix_web::test]
async fn f_22_a_handlers_own_headers_are_kept() {
    Limiter::embedded()
        .scope(async {
            let app = App::new()
                .wrap(from_fn(rate_headers(HeaderDialect::Draft11)))
                .route("/", web::get().to(own_headers))
                .route("/two", web::get().to(two_lines));
            let app = init_service(app).await;
            let own = send(&app, get("192.0.2.1", "/")).await;
            assert_eq!(header(&own, "ratelimit"), Some("\"own\";r=7;t=1"));
            assert_eq!(header(&own, "ratelimit-policy"), None);
            assert_eq!(header(&own, "cache-control"), Some("public"));
            let two = send(&app, get("192.0.2.1", "/two")).await;
            assert_eq!(header(&two, "ratelimit"), Some("\"two-lines\";r=99;t=60"));
            let lines: Vec<_> = two.headers().get_all("cache-control").collect();
            assert_eq!(lines, ["private, max-age=60, must-revalidate"]);
        })
        .await;
}

#[limit_per_time(1, "1m", key = ip, name = "visit", deny_if = bot, on_limit = |_| web::Json(false))]
async fn visit(ip: ClientIp, Bot(bot): Bot) -> web::Json<bool> {
    web::Json(true)
}

#[actix_web::test]
async fn an_address_and_a_bot_are_extracted() {
    Limiter::embedded()
        .scope(async {
            let app = init_service(App::new().app_data(behind_proxy()).route("/", web::post().to(visit))).await;
            for (client, agent, counted) in [
                ("192.0.2.1", "Googlebot", "false"),
                ("192.0.2.1", "", "true"),
                ("192.0.2.1:9", "", "false"),
                ("192.0.2.2", "Firefox", "true"),
            ] {
                let request = from("10.0.0.1", Method::POST, "/");
                let request = request
                    .insert_header(("x-forwarded-for", client))
                    .insert_header(("user-agent", agent));
                let answer = send(&app, request).await;
                assert_eq!(answer.status(), 200);
                assert_eq!(body(answer).await, counted, "{client} {agent}");
            }
        })
        .await;
}
