//! Requests from an address.

use std::net::SocketAddr;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{Request, Response};
use tower::ServiceExt as _;

pub fn request(peer: &str, method: &str, uri: &str) -> Request<Body> {
    let peer: SocketAddr = format!("{peer}:4711").parse().expect("an address");
    let mut request = Request::builder()
        .method(method)
        .uri(uri)
        .body(Body::empty())
        .expect("a request");
    request.extensions_mut().insert(ConnectInfo(peer));
    request
}

pub async fn send(app: &Router, request: Request<Body>) -> Response<Body> {
    app.clone().oneshot(request).await.expect("a router always answers")
}

pub async fn status(app: &Router, peer: &str, method: &str, uri: &str) -> u16 {
    send(app, request(peer, method, uri)).await.status().as_u16()
}

pub async fn statuses(app: &Router, peer: &str, uri: &str, times: usize) -> Vec<u16> {
    let mut statuses = Vec::new();
    for _ in 0..times {
        statuses.push(status(app, peer, "GET", uri).await);
    }
    statuses
}
