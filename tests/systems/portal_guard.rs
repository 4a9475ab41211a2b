//! The guard of the portal's admin page, asked from many addresses: a process can be reached by the one of the loopback alone.

#[path = "../../examples/portal/admin.rs"]
mod admin;

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::Request;
use rate_limit::Limiter;
use tower::ServiceExt as _;

async fn wrong_token(page: &Router, peer: SocketAddr) -> u16 {
    let mut request = Request::builder()
        .uri("/")
        .header("authorization", "Basic d3Jvbmc=")
        .body(Body::empty())
        .expect("a request");
    request.extensions_mut().insert(ConnectInfo(peer));
    let answer = page.clone().oneshot(request).await.expect("a router always answers");
    answer.status().as_u16()
}

#[tokio::test]
async fn f_07_a_network_has_no_more_guesses_than_an_address() {
    let limiter = Limiter::embedded();
    let page = admin::page(limiter.clone(), "0123456789abcdef").expect("it is long enough");
    let page = page.router::<()>();
    let in_network = |n: u16| (Ipv6Addr::new(0x2001, 0xdb8, 1, 2, n, n, n, n), 4711).into();
    let outside = (Ipv6Addr::new(0x2001, 0xdb8, 1, 3, 0, 0, 0, 1), 4711).into();
    let v4 = |n: u8| (Ipv4Addr::new(192, 0, 2, n), 4711).into();
    limiter
        .scope(async {
            let mut guesses = 0;
            for n in 0..2_000 {
                guesses += usize::from(wrong_token(&page, in_network(n)).await == 401);
            }
            assert_eq!(guesses, 10);
            assert_eq!(wrong_token(&page, outside).await, 401, "another network");
            for n in 0..20 {
                assert_eq!(wrong_token(&page, v4(n)).await, 401, "each has its own");
            }
        })
        .await;
}
