//! No page of another origin looks up or releases anybody.

use axum::body::Body;
use axum::http::Request;

use crate::page::{Answer, Page, login, posted};

const BODY: &str = r#"{"parts":["alice"]}"#;

async fn send(page: &Page, path: &str, headers: &[(&str, &str)]) -> Answer {
    let mut request = Request::post(format!("/admin/{path}")).header("host", "limits.example");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    page.ask(request.body(Body::from(BODY)).expect("a request")).await
}

const JSON: (&str, &str) = ("content-type", "application/json");
const OURS: (&str, &str) = ("x-rate-limit-admin", "1");

#[tokio::test]
async fn what_another_page_can_send_is_refused_and_releases_nobody() {
    let page = Page::open();
    for _ in 0..5 {
        assert!(page.limiter.scope(login("alice")).await.is_ok());
    }
    let foreign: [(u16, &[(&str, &str)]); 11] = [
        (415, &[]),
        (415, &[("content-type", "text/plain"), OURS]),
        (415, &[("content-type", "application/x-www-form-urlencoded"), OURS]),
        (415, &[("content-type", "text/plain; application/json"), OURS]),
        (403, &[JSON]),
        (403, &[JSON, OURS, ("sec-fetch-site", "cross-site")]),
        (403, &[JSON, OURS, ("sec-fetch-site", "same-site")]),
        (403, &[JSON, OURS, ("origin", "http://evil.example")]),
        (403, &[JSON, OURS, ("origin", "http://limits.example:8080")]),
        (403, &[JSON, OURS, ("origin", "null")]),
        (
            403,
            &[
                JSON,
                OURS,
                ("sec-fetch-site", "same-origin"),
                ("origin", "http://limits.example.evil.example"),
            ],
        ),
    ];
    for path in ["look-up", "release"] {
        for (status, headers) in foreign {
            let answer = send(&page, path, headers).await;
            assert_eq!(answer.status, status, "{path} with {headers:?}: {}", answer.text);
            answer.detail();
        }
    }
    assert!(
        page.limiter.scope(login("alice")).await.is_err(),
        "she was not released"
    );

    for headers in [
        &[JSON, OURS] as &[_],
        &[("content-type", "Application/JSON; charset=utf-8"), OURS],
        &[
            JSON,
            OURS,
            ("sec-fetch-site", "same-origin"),
            ("origin", "https://limits.example"),
        ],
        &[JSON, OURS, ("origin", "http://LIMITS.example")],
    ] {
        assert_eq!(send(&page, "look-up", headers).await.status, 200, "{headers:?}");
    }
}

/// HTTP/2 has no `Host` as a rule.
#[tokio::test]
async fn an_origin_may_be_told_by_the_url() {
    let page = Page::open();
    for (origin, status) in [("https://limits.example", 200), ("https://evil.example", 403)] {
        let request = Request::post("https://limits.example/admin/look-up")
            .header(JSON.0, JSON.1)
            .header(OURS.0, OURS.1)
            .header("origin", origin);
        let answer = page.ask(request.body(Body::from(BODY)).expect("a request")).await;
        assert_eq!(answer.status, status);
    }
    let nowhere = posted("look-up").header("origin", "https://limits.example");
    assert_eq!(
        page.ask(nowhere.body(Body::from(BODY)).expect("a request"))
            .await
            .status,
        403
    );
}

#[tokio::test]
async fn another_page_does_not_read_either() {
    let page = Page::open();
    for path in ["state", "events"] {
        let request = Request::get(format!("/admin/{path}")).header("sec-fetch-site", "cross-site");
        let answer = page.ask(request.body(Body::empty()).expect("a request")).await;
        assert_eq!(answer.status, 403);
        assert!(!answer.headers.contains_key("access-control-allow-origin"));
    }
    let typed = Request::get("/admin/state").header("sec-fetch-site", "none");
    assert_eq!(
        page.ask(typed.body(Body::empty()).expect("a request")).await.status,
        200
    );
    let link = Request::get("/admin").header("sec-fetch-site", "cross-site");
    let answer = page.ask(link.body(Body::empty()).expect("a request")).await;
    assert_eq!(answer.status, 200, "a link leads to the page");
}
