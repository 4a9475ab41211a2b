//! Handlers of each return type refuse with 429, and their status tells a success.

use actix_web::test::init_service;
use actix_web::{App, Error, HttpResponse, Responder, get, http::StatusCode, web};
use rate_limit::{Limiter, Rejection, limit_per_time};

use crate::client::{body, get, header, send, status};

#[limit_per_time(2, "1m", key = user.as_str())]
async fn rejection(user: web::Path<String>) -> Result<String, Rejection> {
    Ok(user.into_inner())
}

#[limit_per_time(2, "1m", key = user.as_str())]
async fn error(user: web::Path<String>) -> Result<HttpResponse, Error> {
    Ok(HttpResponse::Ok().body(user.into_inner()))
}

#[limit_per_time(2, "1m", key = user.as_str())]
async fn response(user: web::Path<String>) -> HttpResponse {
    HttpResponse::Ok().body(user.into_inner())
}

#[limit_per_time(2, "1m", key = user.as_str())]
async fn responder(user: web::Path<String>) -> impl Responder {
    user.into_inner()
}

#[get("/above/{user}")]
#[limit_per_time(2, "1m", key = user.as_str())]
async fn below_route(user: web::Path<String>) -> Result<String, Rejection> {
    Ok(user.into_inner())
}

#[limit_per_time(2, "1m", key = user.as_str())]
#[get("/below/{user}")]
async fn above_route(user: web::Path<String>) -> Result<String, Rejection> {
    Ok(user.into_inner())
}

#[actix_web::test]
async fn mac_28_each_return_type_and_each_order_of_attributes_refuses() {
    Limiter::embedded()
        .scope(async {
            let app = App::new()
                .route("/rejection/{user}", web::get().to(rejection))
                .route("/error/{user}", web::get().to(error))
                .route("/response/{user}", web::get().to(response))
                .route("/responder/{user}", web::get().to(responder))
                .service(below_route)
                .service(above_route);
            let app = init_service(app).await;
            for route in ["rejection", "error", "response", "responder", "above", "below"] {
                let uri = format!("/{route}/alice");
                for _ in 0..2 {
                    let answer = send(&app, get("192.0.2.1", &uri)).await;
                    assert_eq!(answer.status(), StatusCode::OK, "{route}");
                    assert_eq!(body(answer).await, "alice");
                }
                let refused = send(&app, get("192.0.2.1", &uri)).await;
                assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS, "{route}");
                assert_eq!(header(&refused, "retry-after"), Some("60"), "{route}");
                assert_eq!(header(&refused, "cache-control"), Some("no-store"), "{route}");
                assert_eq!(
                    header(&refused, "content-type"),
                    Some("application/problem+json"),
                    "{route}"
                );
                assert!(body(refused).await.contains("quota-exceeded"), "{route}");
                assert_eq!(
                    status(&app, get("192.0.2.1", &format!("/{route}/bob"))).await,
                    200,
                    "{route}"
                );
            }
        })
        .await;
}

#[limit_per_time(2, "1m", key = *code, reset_on_success)]
async fn answering(code: web::Path<u16>) -> HttpResponse {
    HttpResponse::new(StatusCode::from_u16(*code).expect("a status"))
}

#[limit_per_time(2, "1m", key = *code, reset_on_success)]
async fn answering_somehow(code: web::Path<u16>) -> impl Responder {
    HttpResponse::new(StatusCode::from_u16(*code).expect("a status"))
}

#[actix_web::test]
async fn rst_04_the_status_of_a_response_tells_a_success() {
    Limiter::embedded()
        .scope(async {
            let app = App::new()
                .route("/named/{code}", web::get().to(answering))
                .route("/opaque/{code}", web::get().to(answering_somehow));
            let app = init_service(app).await;
            for kind in ["named", "opaque"] {
                for (code, resets) in [(200, true), (302, true), (401, false), (500, false)] {
                    let mut answers = Vec::new();
                    for _ in 0..3 {
                        answers.push(status(&app, get("192.0.2.1", &format!("/{kind}/{code}"))).await);
                    }
                    assert_eq!(answers, [code, code, if resets { code } else { 429 }], "{kind}");
                }
            }
        })
        .await;
}
