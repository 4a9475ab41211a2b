//! A limited gRPC service on tonic, called over HTTP/2 semantics in this process.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{HeaderMap, Request as HttpRequest, Response as HttpResponse};
use rate_limit::{
    Charge, Limiter, MemoryStore, OnStoreError, Rejection, Reply, Settlement, Store, StoreError, StoreErrorKind,
    Verdict, limit_per_time,
};
use tokio_stream::{Stream, StreamExt as _};
use tonic::body::Body;
use tonic::client::Grpc as Client;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::server::Grpc as Server;
use tonic::{Code, Request, Response, Status, Streaming};
use tonic_prost::ProstCodec;
use tonic_types::StatusExt as _;
use tower::Service;
use tower::service_fn;

type Words = Pin<Box<dyn Stream<Item = Result<String, Status>> + Send>>;

#[limit_per_time(2, "1m", key = request.get_ref(), name = "say")]
async fn unary(request: Request<String>) -> Result<Response<String>, Status> {
    Ok(Response::new(request.into_inner()))
}

#[limit_per_time(2, "1m", key = request.get_ref())]
async fn server_stream(request: Request<String>) -> Result<Response<Words>, Status> {
    let words: Vec<_> = request.get_ref().split(' ').map(|word| Ok(word.to_owned())).collect();
    Ok(Response::new(Box::pin(tokio_stream::iter(words))))
}

#[limit_per_time(2, "1m", key = "everybody")]
async fn client_stream(request: Request<Streaming<String>>) -> Result<Response<String>, Status> {
    let words: Result<Vec<String>, Status> = request.into_inner().collect().await;
    Ok(Response::new(words?.join(" ")))
}

#[limit_per_time(2, "1m", key = "everybody")]
async fn both_stream(request: Request<Streaming<String>>) -> Result<Response<Words>, Status> {
    Ok(Response::new(Box::pin(request.into_inner())))
}

#[limit_per_time(2, "1m", key = "everybody", on_store_error = closed)]
async fn closed(request: Request<String>) -> Result<Response<String>, Status> {
    Ok(Response::new(request.into_inner()))
}

#[limit_per_time(2, "1m", key = user, name = "say")]
async fn over_http(user: &str) -> Result<&'static str, Rejection> {
    let _ = user;
    Ok("said")
}

/// The service, by path.
#[derive(Clone)]
struct Talk;

impl Service<HttpRequest<Body>> for Talk {
    type Response = HttpResponse<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: HttpRequest<Body>) -> Self::Future {
        Box::pin(async move {
            let mut server = Server::new(ProstCodec::<String, String>::default());
            Ok(match request.uri().path() {
                "/talk/Unary" => server.unary(service_fn(unary), request).await,
                "/talk/ServerStream" => server.server_streaming(service_fn(server_stream), request).await,
                "/talk/ClientStream" => server.client_streaming(service_fn(client_stream), request).await,
                "/talk/BothStream" => server.streaming(service_fn(both_stream), request).await,
                _ => server.unary(service_fn(closed), request).await,
            })
        })
    }
}

async fn call(method: &'static str, words: &[&str]) -> Result<Vec<String>, Status> {
    let mut client = Client::new(Talk);
    client.ready().await.unwrap_or_else(|never| match never {});
    let path = PathAndQuery::from_static(method);
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    let request = Request::new(tokio_stream::iter(words));
    let codec = ProstCodec::<String, String>::default();
    client
        .streaming(request, path, codec)
        .await?
        .into_inner()
        .collect()
        .await
}

/// The head of the answer, as it goes over the wire.
async fn head(method: &'static str) -> (u16, HeaderMap) {
    // A message: no compression, four bytes of length, then the field 1 with the text "a".
    let message: &[u8] = &[0, 0, 0, 0, 3, 0x0a, 1, b'a'];
    let body = Body::new(http_body_util::Full::new(message.into()));
    let request = HttpRequest::post(method)
        .header("content-type", "application/grpc")
        .body(body)
        .expect("a request");
    let answer = Talk.call(request).await.unwrap_or_else(|never| match never {});
    (answer.status().as_u16(), answer.headers().clone())
}

#[tokio::test]
async fn http_08_a_refusal_is_resource_exhausted_with_the_wait() {
    for method in [
        "/talk/Unary",
        "/talk/ServerStream",
        "/talk/ClientStream",
        "/talk/BothStream",
    ] {
        Limiter::embedded()
            .scope(async {
                for _ in 0..2 {
                    assert_eq!(call(method, &["a"]).await.expect("it is admitted"), ["a"], "{method}");
                }
                let status = call(method, &["a"]).await.expect_err("the third is refused");
                assert_eq!(status.code(), Code::ResourceExhausted, "{method}");
                let wait = status
                    .get_details_retry_info()
                    .and_then(|info| info.retry_delay)
                    .expect("it tells the wait");
                assert!(
                    wait > Duration::from_secs(59) && wait <= Duration::from_secs(60),
                    "{wait:?}"
                );
                assert_eq!(status.metadata().get("retry-after").expect("in seconds too"), "60");

                let (http, headers) = head(method).await;
                assert_eq!(http, 200, "{method}");
                assert_eq!(headers["grpc-status"], "8", "{method}");
                assert_eq!(headers["content-type"], "application/grpc", "{method}");
                assert_eq!(headers["retry-after"], "60", "{method}");
            })
            .await;
    }
}

#[tokio::test]
async fn http_08_opening_a_stream_counts_once_however_much_goes_through() {
    Limiter::embedded()
        .scope(async {
            let many = ["a"; 100];
            assert_eq!(call("/talk/BothStream", &many).await.expect("it is admitted"), many);
            assert_eq!(call("/talk/BothStream", &many).await.expect("it is admitted"), many);
            assert!(call("/talk/BothStream", &["a"]).await.is_err());
        })
        .await;
}

/// Never there.
#[derive(Debug)]
struct Down;

impl Store for Down {
    fn acquire(&self, _: &[Charge]) -> Reply<Result<Verdict, StoreError>> {
        Reply::ready(Err(StoreError::new(StoreErrorKind::Timeout, "no answer")))
    }

    fn peek(&self, charge: Charge) -> Reply<Result<Verdict, StoreError>> {
        self.acquire(&[charge])
    }

    fn settle(&self, _: &[Settlement]) -> Reply<Result<(), StoreError>> {
        Reply::ready(Err(StoreError::new(StoreErrorKind::Timeout, "no answer")))
    }
}

#[tokio::test]
async fn http_08_an_outage_of_the_store_is_unavailable() {
    let limiter = Limiter::builder()
        .store(Down)
        .on_store_error(OnStoreError::Open)
        .build()
        .expect("no secret is set");
    limiter
        .scope(async {
            let status = call("/talk/Closed", &["a"]).await.expect_err("it is closed");
            assert_eq!(status.code(), Code::Unavailable);
            assert!(call("/talk/Unary", &["a"]).await.is_ok(), "this one is open");
        })
        .await;
}

#[tokio::test]
async fn f_10_a_key_that_a_client_left_blank_is_an_invalid_argument() {
    let limiter = Limiter::builder()
        .store(MemoryStore::new())
        .build()
        .expect("no secret is set");
    let status = limiter
        .scope(call("/talk/Unary", &[" "]))
        .await
        .expect_err("it names nobody");
    assert_eq!(status.code(), Code::InvalidArgument);
    assert!(status.message().contains("is empty or blank"), "{status:?}");
}

#[tokio::test]
async fn http_and_grpc_by_one_name_are_one_budget() {
    Limiter::embedded()
        .scope(async {
            assert!(over_http("alice").await.is_ok());
            assert!(call("/talk/Unary", &["alice"]).await.is_ok());
            assert!(over_http("alice").await.is_err());
            assert!(call("/talk/Unary", &["alice"]).await.is_err());
            assert!(call("/talk/Unary", &["bob"]).await.is_ok());
        })
        .await;
}
