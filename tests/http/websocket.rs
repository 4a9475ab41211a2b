//! The handler of a WebSocket: the upgrade is limited, and each message by hand.

use axum::Router;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use axum::routing::any;
use rate_limit::{Client, Key, Limiter, Method, Policy, Rule, limit_per_time};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

const MESSAGES: Policy = Policy::sliding_window(3, std::time::Duration::from_secs(60));

#[limit_per_time(2, "1m", key = "everybody", limiter = limiter)]
async fn talk(upgrade: WebSocketUpgrade, axum::Extension(limiter): axum::Extension<Limiter>) -> Response {
    upgrade.on_upgrade(|socket| echo(socket, limiter))
}

async fn echo(mut socket: WebSocket, limiter: Limiter) {
    let client = Client::of("everybody").expect("it names somebody");
    let each_message = Rule::new(MESSAGES, Key::new(Method::named("message"), client));
    while let Some(Ok(message)) = socket.recv().await {
        let answer = match limiter.check(each_message).await {
            Ok(_) => message,
            Err(_) => Message::Text("slow down".into()),
        };
        if socket.send(answer).await.is_err() {
            return;
        }
    }
}

/// Asks for the upgrade, and returns the connection with the head of the answer.
async fn upgrade(address: std::net::SocketAddr) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let request = format!(
        "GET / HTTP/1.1\r\nhost: {address}\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
         sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.expect("it reads");
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.expect("it answers"));
    }
    (stream, String::from_utf8(head).expect("text"))
}

/// Sends a text of a few bytes, and returns the one that comes back.
async fn say(stream: &mut TcpStream, text: &str) -> String {
    // Final, text; masked with a mask of zeros.
    let mut frame = vec![0x81, 0x80 | text.len() as u8, 0, 0, 0, 0];
    frame.extend(text.as_bytes());
    stream.write_all(&frame).await.expect("it reads");
    let mut head = [0; 2];
    stream.read_exact(&mut head).await.expect("it answers");
    let mut answer = vec![0; head[1].into()];
    stream.read_exact(&mut answer).await.expect("it answers");
    String::from_utf8(answer).expect("text")
}

#[tokio::test]
async fn http_06_the_upgrade_is_refused_before_it_happens_and_each_message_by_hand() {
    let app = Router::new()
        .route("/", any(talk))
        .layer(axum::Extension(Limiter::embedded()));
    let listener = TcpListener::bind(("127.0.0.1", 0))
        .await
        .expect("loopback has a free port");
    let address = listener.local_addr().expect("it is bound");
    let serving = tokio::spawn(async move { axum::serve(listener, app).await });
    let (mut first, head) = upgrade(address).await;
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    let mut answers = Vec::new();
    for _ in 0..1_000 {
        answers.push(say(&mut first, "hello").await);
    }
    assert_eq!(answers.iter().filter(|answer| *answer == "hello").count(), 3);
    assert_eq!(answers.iter().filter(|answer| *answer == "slow down").count(), 997);
    let (_second, head) = upgrade(address).await;
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    let (_third, head) = upgrade(address).await;
    assert!(
        head.starts_with("HTTP/1.1 429 ") && head.contains("retry-after: 60"),
        "{head}"
    );
    serving.abort();
}
