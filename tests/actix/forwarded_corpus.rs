//! Forwarding headers come to their address through actix-web too.

#[path = "../support/forwarded_corpus.rs"]
mod corpus;

use std::net::SocketAddr;

use actix_web::FromRequest as _;
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::test::TestRequest;
use rate_limit::ClientIp;

#[actix_web::test]
async fn ip_03_each_header_of_the_corpus_comes_to_its_address() {
    let mut seen = 0;
    for row in corpus::rows() {
        let mut request = TestRequest::default()
            .peer_addr(SocketAddr::new(row.peer, 4711))
            .app_data(row.source.clone());
        for line in &row.lines {
            let name = HeaderName::from_bytes(row.header.as_str().as_bytes()).expect("a name");
            let value = HeaderValue::from_bytes(line.as_bytes()).expect("a value");
            request = request.append_header((name, value));
        }
        let client = ClientIp::extract(&request.to_http_request())
            .await
            .expect("the peer is known");
        assert_eq!(client.ip(), row.resolved, "{}", row.text);
        seen += 1;
    }
    assert!(seen >= 200, "{seen}");
}
