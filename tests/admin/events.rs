//! What keeps a page up to date, and that it ends.

use std::future::IntoFuture as _;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use rate_limit::Limiter;
use rate_limit::axum::Admin;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};
use tower::ServiceExt as _;

use crate::page::login;

const MOST: usize = 32;

fn router(limiter: &Limiter) -> Router {
    let admin = Admin::new(limiter.clone(), |_: &Parts| async { Ok::<_, StatusCode>(()) });
    admin.router()
}

async fn open(router: &Router) -> (StatusCode, Body) {
    let request = Request::get("/events").body(Body::empty()).expect("a request");
    let (parts, body) = router.clone().oneshot(request).await.expect("infallible").into_parts();
    (parts.status, body)
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_five_events_and_tells_when_to_ask_again() {
    let limiter = Limiter::embedded();
    let router = router(&limiter);
    for _ in 0..6 {
        let _ = limiter.scope(login("alice")).await;
    }
    let start = Instant::now();
    let (_, body) = open(&router).await;
    let text = body.collect().await.expect("a body").to_bytes();
    assert_eq!(start.elapsed().as_secs(), 4);
    let text = String::from_utf8(text.to_vec()).expect("text");
    let events: Vec<&str> = text.split_terminator("\n\n").collect();
    assert_eq!(events.len(), 5);
    let data = events[0]
        .strip_prefix("retry: 200\ndata: ")
        .expect("as a browser reads it");
    let view: Value = serde_json::from_str(data).expect("JSON");
    assert_eq!(view["refused"]["clients"][0]["function"], "login");
    assert!(!text.contains("alice"));
}

/// Room for so many pages, which who leaves gives back.
#[tokio::test]
async fn pages_beyond_a_number_are_told_to_try_again() {
    let router = router(&Limiter::embedded());
    let mut streams = Vec::new();
    for _ in 0..MOST {
        let (status, body) = open(&router).await;
        assert_eq!(status, 200);
        streams.push(body);
    }
    assert_eq!(open(&router).await.0, 503);
    streams.pop();
    assert_eq!(open(&router).await.0, 200);
}

struct Served {
    address: std::net::SocketAddr,
    stop: oneshot::Sender<()>,
    server: tokio::task::JoinHandle<()>,
}

async fn serve(limiter: &Limiter) -> Served {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it has one");
    let (stop, stopped) = oneshot::channel();
    let serving = axum::serve(listener, router(limiter)).with_graceful_shutdown(async {
        let _ = stopped.await;
    });
    let server = tokio::spawn(async { serving.into_future().await.expect("it serves") });
    Served { address, stop, server }
}

/// The first event of a stream that stays open.
async fn listen(served: &Served) -> Option<TcpStream> {
    let mut connection = TcpStream::connect(served.address).await.expect("it listens");
    let request = b"GET /events HTTP/1.1\r\nhost: limits.example\r\n\r\n";
    connection.write_all(request).await.expect("it reads");
    let mut read = Vec::new();
    loop {
        let mut some = [0; 4_096];
        let length = connection.read(&mut some).await.expect("it writes");
        read.extend_from_slice(&some[..length]);
        let text = String::from_utf8_lossy(&read);
        if text.starts_with("HTTP/1.1 503") {
            return None;
        }
        if text.contains("data: ") {
            return Some(connection);
        }
        assert!(length > 0, "{text}");
    }
}

#[tokio::test]
async fn a_server_that_shuts_down_waits_no_longer_than_a_stream_lasts() {
    let served = serve(&Limiter::embedded()).await;
    let mut connection = listen(&served).await.expect("there is room");
    let start = Instant::now();
    served.stop.send(()).expect("it serves");
    timeout(Duration::from_secs(8), served.server)
        .await
        .expect("it ends")
        .expect("well");
    assert!(start.elapsed() < Duration::from_secs(6), "{:?}", start.elapsed());
    let mut rest = Vec::new();
    connection.read_to_end(&mut rest).await.expect("it was closed");
    assert!(
        String::from_utf8_lossy(&rest).ends_with("0\r\n\r\n"),
        "the stream ended as it should"
    );
}

#[tokio::test]
async fn who_leaves_makes_room() {
    let served = serve(&Limiter::embedded()).await;
    let mut connections = Vec::new();
    for _ in 0..MOST {
        connections.push(listen(&served).await.expect("there is room"));
    }
    assert!(listen(&served).await.is_none());
    let left = Instant::now();
    drop(connections);
    while listen(&served).await.is_none() {
        assert!(
            left.elapsed() < Duration::from_secs(3),
            "before the streams would have ended"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
