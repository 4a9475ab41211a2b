//! Requests to a route, over HTTP and without.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tower::ServiceExt as _;

use super::route::{ANSWER, CALLER, CALLERS};

/// Kept while they are used, and all used at once.
const CONNECTIONS: u64 = 32;

/// A server in this process. It ends with the runtime.
pub struct Server {
    address: SocketAddr,
}

impl Server {
    pub fn start(router: Router, runtime: &Runtime) -> Self {
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)));
        let listener = listener.expect("loopback has a free port");
        let address = listener.local_addr().expect("it is bound");
        runtime.spawn(async { axum::serve(listener, router).await });
        Self { address }
    }

    /// Requests a second, with so many over each connection.
    pub fn rate(&self, requests: u64, runtime: &Runtime) -> f64 {
        let address = self.address;
        let begin = Instant::now();
        runtime.block_on(async {
            let mut load = JoinSet::new();
            for first in 0..CONNECTIONS {
                let callers = (first..).step_by(CONNECTIONS as usize).map(|caller| caller % CALLERS);
                load.spawn(ask(address, callers.take(requests as usize)));
            }
            load.join_all().await;
        });
        (CONNECTIONS * requests) as f64 / begin.elapsed().as_secs_f64()
    }
}

/// Asks once for each caller.
///
/// It writes bytes and looks for the last ones of the answer: a client that did more would take the time that the servers differ by.
async fn ask(address: SocketAddr, callers: impl Iterator<Item = u64>) {
    let mut stream = TcpStream::connect(address).await.expect("the server is there");
    let mut answer = [0; 1_024];
    for caller in callers {
        let request = format!("GET / HTTP/1.1\r\nhost: localhost\r\n{CALLER}: {caller}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.expect("the server reads");
        let mut length = 0;
        while !answer[..length].ends_with(ANSWER.as_bytes()) {
            length += stream.read(&mut answer[length..]).await.expect("the server answers");
            assert!(
                answer.starts_with(b"HTTP/1.1 200 "),
                "{}",
                String::from_utf8_lossy(&answer[..length])
            );
        }
    }
}

/// What a request takes from the router on, in nanoseconds.
pub fn nanoseconds(router: &Router, requests: u64, runtime: &Runtime) -> f64 {
    let of = |caller: u64| Request::get("/").header(CALLER, caller).body(Body::empty());
    let made: Vec<_> = (0..requests)
        .map(|request| of(request % CALLERS).expect("it is well formed"))
        .collect();
    let begin = Instant::now();
    runtime.block_on(async {
        for request in made {
            let Ok(response) = router.clone().oneshot(request).await;
            assert_eq!(response.status(), StatusCode::OK);
        }
    });
    begin.elapsed().as_nanos() as f64 / requests as f64
}
