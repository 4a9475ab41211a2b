//! The proxy that fails: each way is what it says, and ends when it is told to.

use std::io;
use std::net::Ipv4Addr;
use std::time::Instant;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::common::ms;
use crate::probe::Probe;
use crate::support::{FaultProxy, RedisServer, Weather};

const PONG: &[u8] = b"+PONG\r\n";

struct Bench {
    proxy: FaultProxy,
    probe: Probe,
    _server: RedisServer,
}

impl Bench {
    async fn new() -> Self {
        let server = RedisServer::start();
        Self {
            proxy: FaultProxy::start(server.port()).await,
            probe: Probe::of(&server).await,
            _server: server,
        }
    }

    /// A connection on which something has passed.
    async fn connection(&self) -> TcpStream {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.proxy.port()))
            .await
            .expect("it accepts");
        assert_eq!(ping(&mut stream).await.expect("it answers"), PONG);
        stream
    }

    /// How often the server was told to count.
    async fn counted(&self) -> u32 {
        let counted: Option<u32> = self.probe.ask("GET n").await;
        counted.unwrap_or(0)
    }
}

async fn ping(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    stream.write_all(b"PING\r\n").await?;
    answer(stream, PONG.len()).await
}

async fn count(stream: &mut TcpStream) {
    stream.write_all(b"INCR n\r\n").await.expect("it is open");
}

async fn answer(stream: &mut TcpStream, length: usize) -> io::Result<Vec<u8>> {
    let mut answer = vec![0; length];
    stream.read_exact(&mut answer).await?;
    Ok(answer)
}

/// Nothing comes, and the connection stays.
async fn is_quiet(stream: &mut TcpStream) -> bool {
    timeout(ms(150), stream.read_u8()).await.is_err()
}

async fn is_closed(stream: &mut TcpStream) -> bool {
    let end = timeout(ms(5_000), stream.read_u8()).await.expect("it ends");
    end.is_err()
}

#[tokio::test]
async fn refused_connections_are_taken_again() {
    let bench = Bench::new().await;
    let mut open = bench.connection().await;
    for _ in 0..3 {
        bench.proxy.turn(Weather::Refuse).await;
        assert!(is_closed(&mut open).await);
        let refused = TcpStream::connect((Ipv4Addr::LOCALHOST, bench.proxy.port())).await;
        assert_eq!(
            refused.expect_err("it refuses").kind(),
            io::ErrorKind::ConnectionRefused
        );
        bench.proxy.turn(Weather::Fair).await;
        open = bench.connection().await;
    }
}

#[tokio::test]
async fn silence_takes_requests_and_closes_where_it_took_some() {
    let bench = Bench::new().await;
    let (mut open, mut idle) = (bench.connection().await, bench.connection().await);
    bench.proxy.turn(Weather::Silent).await;
    let mut new = TcpStream::connect((Ipv4Addr::LOCALHOST, bench.proxy.port()))
        .await
        .expect("it accepts");
    for stream in [&mut open, &mut new] {
        count(stream).await;
        assert!(is_quiet(stream).await);
    }
    assert_eq!(bench.counted().await, 0);
    bench.proxy.turn(Weather::Fair).await;
    assert!(is_closed(&mut open).await && is_closed(&mut new).await);
    assert_eq!(ping(&mut idle).await.expect("it lost nothing"), PONG);
}

#[tokio::test]
async fn a_cut_comes_after_the_work() {
    let bench = Bench::new().await;
    let mut open = bench.connection().await;
    bench.proxy.turn(Weather::Cut).await;
    count(&mut open).await;
    assert!(is_closed(&mut open).await);
    assert_eq!(bench.counted().await, 1);
    bench.proxy.turn(Weather::Fair).await;
    bench.connection().await;
}

#[tokio::test]
async fn garbage_comes_after_the_work() {
    let bench = Bench::new().await;
    let mut open = bench.connection().await;
    bench.proxy.turn(Weather::Garbage).await;
    for counted in 1..3 {
        count(&mut open).await;
        let garbage = answer(&mut open, 22).await.expect("it stays open");
        assert_eq!(garbage, b"\x16\x03\x01 this is no Redis\r\n");
        assert_eq!(bench.counted().await, counted);
    }
}

#[tokio::test]
async fn a_trickle_is_one_byte_a_second() {
    let bench = Bench::new().await;
    let mut open = bench.connection().await;
    bench.proxy.turn(Weather::Trickle).await;
    let start = Instant::now();
    open.write_all(b"PING\r\n").await.expect("it is open");
    assert_eq!(answer(&mut open, 2).await.expect("it is open"), b"+P");
    assert!(start.elapsed() >= ms(2_000));
    bench.proxy.turn(Weather::Fair).await;
    assert_eq!(answer(&mut open, 5).await.expect("it is open"), b"ONG\r\n");
}

#[tokio::test]
async fn a_delay_is_for_each_answer() {
    let bench = Bench::new().await;
    let mut open = bench.connection().await;
    bench.proxy.turn(Weather::Delay(ms(100))).await;
    let start = Instant::now();
    assert_eq!(ping(&mut open).await.expect("it is open"), PONG);
    assert!(start.elapsed() >= ms(100));
    // What has been sent need not wait for its time when the delay ends.
    bench.proxy.turn(Weather::Delay(ms(600_000))).await;
    count(&mut open).await;
    assert!(is_quiet(&mut open).await);
    assert_eq!(bench.counted().await, 1);
    bench.proxy.turn(Weather::Fair).await;
    assert_eq!(answer(&mut open, 4).await.expect("it is open"), b":1\r\n");
}

#[tokio::test]
async fn a_pause_keeps_all_for_later() {
    let bench = Bench::new().await;
    let mut open = bench.connection().await;
    bench.proxy.turn(Weather::Paused).await;
    count(&mut open).await;
    assert!(is_quiet(&mut open).await);
    assert_eq!(bench.counted().await, 0);
    bench.proxy.turn(Weather::Fair).await;
    assert_eq!(answer(&mut open, 4).await.expect("it is open"), b":1\r\n");
    assert_eq!(bench.counted().await, 1);
}
