//! A limiter of its own for each test, and requests from an address.

use std::net::SocketAddr;

use actix_web::body::{MessageBody, to_bytes};
use actix_web::dev::{Service, ServiceResponse};
use actix_web::http::Method;
use actix_web::test::TestRequest;

pub fn from(peer: &str, method: Method, uri: &str) -> TestRequest {
    let peer: SocketAddr = format!("{peer}:4711").parse().expect("an address");
    TestRequest::default().peer_addr(peer).method(method).uri(uri)
}

pub fn get(peer: &str, uri: &str) -> TestRequest {
    from(peer, Method::GET, uri)
}

pub async fn send<B>(
    app: &impl Service<actix_http::Request, Response = ServiceResponse<B>, Error = actix_web::Error>,
    request: TestRequest,
) -> ServiceResponse<B> {
    app.call(request.to_request()).await.expect("an error is an answer")
}

pub async fn status<B>(
    app: &impl Service<actix_http::Request, Response = ServiceResponse<B>, Error = actix_web::Error>,
    request: TestRequest,
) -> u16 {
    send(app, request).await.status().as_u16()
}

pub fn header<'a, B>(answer: &'a ServiceResponse<B>, name: &str) -> Option<&'a str> {
    answer.headers().get(name).map(|value| value.to_str().expect("ASCII"))
}

pub async fn body<B: MessageBody>(answer: ServiceResponse<B>) -> String {
    let bytes = to_bytes(answer.into_body())
        .await
        .unwrap_or_else(|_| panic!("a body is read"));
    String::from_utf8(bytes.to_vec()).expect("text")
}
