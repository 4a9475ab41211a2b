//! Nothing is answered that the guard did not let through, wherever the page is mounted.

use axum::Router;
use axum::body::Body;
use axum::http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use axum::http::request::Parts;
use axum::http::{Method, Request, StatusCode};
use axum::response::IntoResponse as _;
use rate_limit::Limiter;
use rate_limit::axum::Admin;

use crate::page::{Answer, Page, ask};

const ROUTES: [(Method, &str); 10] = [
    (Method::GET, ""),
    (Method::GET, "/page.css"),
    (Method::GET, "/page.js"),
    (Method::GET, "/chart.js"),
    (Method::GET, "/client.js"),
    (Method::GET, "/live.js"),
    (Method::GET, "/state"),
    (Method::GET, "/events"),
    (Method::POST, "/look-up"),
    (Method::POST, "/release"),
];

fn guarded() -> Admin {
    Admin::new(Limiter::embedded(), |parts: &Parts| {
        let let_in = parts.headers.get(AUTHORIZATION).is_some_and(|token| token == "right");
        async move {
            let_in
                .then_some(())
                .ok_or((StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, "Bearer")]))
        }
    })
}

async fn with_token(router: &Router, method: &Method, path: &str, token: &str) -> Answer {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(AUTHORIZATION, token)
        .header("content-type", "application/json")
        .header("x-rate-limit-admin", "1")
        .body(Body::from(r#"{"parts":["alice"]}"#));
    ask(router, request.expect("a request")).await
}

/// Each way to mount it, with the address of the page.
fn mounted() -> [(Router, &'static str); 6] {
    let inner = Router::new().nest("/limits", guarded().router());
    [
        (Router::new().nest_service("/admin", guarded().router::<()>()), "/admin"),
        (Router::new().nest("/admin", guarded().router()), "/admin"),
        (Router::new().nest("/{tenant}/admin", guarded().router()), "/7/admin"),
        (
            Router::new().nest_service("/{tenant}/admin", guarded().router::<()>()),
            "/7/admin",
        ),
        (Router::new().nest("/internal", inner), "/internal/limits"),
        (guarded().router(), ""),
    ]
}

#[tokio::test(start_paused = true)]
async fn every_route_goes_through_the_guard() {
    for (router, at) in mounted() {
        for (route, path) in ROUTES {
            let path = format!("{at}{}", if at.is_empty() && path.is_empty() { "/" } else { path });
            let refused = with_token(&router, &route, &path, "wrong").await;
            assert_eq!((refused.status.as_u16(), &*refused.text), (401, ""), "{route} {path}");
            assert_eq!(refused.headers[WWW_AUTHENTICATE], "Bearer");
            assert_eq!(refused.headers["cache-control"], "no-store");
            let answer = with_token(&router, &route, &path, "right").await;
            assert_eq!(answer.status, 200, "{route} {path}: {}", answer.text);
            assert_ne!(answer.text, "");
        }
    }
}

#[tokio::test]
async fn what_is_not_there_is_told_only_to_who_is_let_in() {
    for (router, at) in mounted() {
        for path in ["/nothing", "/page.html", "/state/", "/a/b", "/..%2fstate"] {
            for method in [Method::GET, Method::POST, Method::DELETE, Method::OPTIONS] {
                let path = format!("{at}{path}");
                assert_eq!(
                    with_token(&router, &method, &path, "wrong").await.status,
                    401,
                    "{method} {path}"
                );
                assert_eq!(
                    with_token(&router, &method, &path, "right").await.status,
                    404,
                    "{method} {path}"
                );
            }
        }
    }
}

/// Whatever a proxy makes of two slashes, they are no way round.
#[tokio::test]
async fn an_odd_path_is_no_way_round_the_guard() {
    for (router, at) in mounted() {
        for path in ["//", "//state", "/./state", "/state//", "/%2e%2e/state", "/?x=/state"] {
            let answer = with_token(&router, &Method::GET, &format!("{at}{path}"), "wrong").await;
            // Some never come here: axum itself knows no such address under the prefix.
            assert!(
                [401, 404].contains(&answer.status.as_u16()) && answer.text.is_empty(),
                "{at}{path}"
            );
        }
    }
}

#[tokio::test]
async fn what_is_read_is_not_posted_to_and_the_other_way_round() {
    let page = Page::open();
    for (right, path) in ROUTES {
        for method in [Method::GET, Method::POST, Method::PUT, Method::DELETE, Method::OPTIONS] {
            if method == right {
                continue;
            }
            let request = Request::builder().method(&method).uri(format!("/admin{path}"));
            let answer = page.ask(request.body(Body::empty()).expect("a request")).await;
            assert_eq!(answer.status, 405, "{method} {path}");
            assert!(
                answer.headers["allow"]
                    .to_str()
                    .is_ok_and(|allow| allow.contains(right.as_str()))
            );
        }
    }
}

#[tokio::test]
async fn a_refusal_that_looks_like_none_is_one() {
    let admin = Admin::new(Limiter::embedded(), |_: &Parts| async { Err("welcome") });
    let answer = with_token(&admin.router(), &Method::GET, "/", "").await;
    assert_eq!((answer.status.as_u16(), &*answer.text), (403, ""));

    let to_login = |_: &Parts| async { Err(axum::response::Redirect::to("/login").into_response()) };
    let answer = with_token(
        &Admin::new(Limiter::embedded(), to_login).router(),
        &Method::GET,
        "/",
        "",
    )
    .await;
    assert_eq!(
        (answer.status.as_u16(), answer.headers["location"].as_bytes()),
        (303, b"/login".as_slice())
    );
}

/// What the page loads lies beside it.
#[tokio::test]
async fn the_page_finds_what_it_loads_wherever_it_is() {
    for (router, at) in mounted() {
        let page = if at.is_empty() { "/" } else { at };
        let html = with_token(&router, &Method::GET, page, "right").await.text;
        let folder = &page[..=page.rfind('/').expect("a path has one")];
        let links: Vec<&str> = ["href=\"", "src=\""]
            .iter()
            .flat_map(|attribute| html.split(attribute).skip(1))
            .map(|rest| &rest[..rest.find('"').expect("it ends")])
            .collect();
        assert_eq!(links.len(), 5);
        for link in links {
            let url = format!("{folder}{}", link.trim_start_matches("./"));
            assert_eq!(
                with_token(&router, &Method::GET, &url, "right").await.status,
                200,
                "{url}"
            );
        }
    }
    let (router, _) = &mounted()[0];
    let html = with_token(router, &Method::GET, "/admin/", "right").await.text;
    assert!(
        html.contains("href=\"page.css\""),
        "from an address with a slash at its end"
    );
}

#[tokio::test]
async fn a_browser_is_told_to_run_nothing_else_and_to_keep_nothing() {
    let page = Page::open();
    for (path, kind) in [
        ("/admin", "text/html; charset=utf-8"),
        ("/admin/page.js", "text/javascript; charset=utf-8"),
        ("/admin/chart.js", "text/javascript; charset=utf-8"),
        ("/admin/client.js", "text/javascript; charset=utf-8"),
        ("/admin/live.js", "text/javascript; charset=utf-8"),
        ("/admin/page.css", "text/css; charset=utf-8"),
        ("/admin/state", "application/json"),
        ("/admin/nothing", "application/problem+json"),
    ] {
        let answer = page
            .ask(Request::get(path).body(Body::empty()).expect("a request"))
            .await;
        let header = |name| answer.headers[name].to_str().expect("ASCII");
        assert_eq!(header("content-type"), kind);
        let policy = header("content-security-policy");
        assert!(
            policy.starts_with("default-src 'none'; ") && policy.contains("frame-ancestors 'none'"),
            "{policy}"
        );
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert_eq!(header("referrer-policy"), "no-referrer");
        assert_eq!(header("cache-control"), "no-store");
        for foreign in ["http://", "https://", "//cdn", "@import", "onclick=", "style="] {
            let text = answer.text.replace("http://www.w3.org/2000/svg", "");
            assert!(!text.contains(foreign), "{path} has {foreign}");
        }
    }
}
