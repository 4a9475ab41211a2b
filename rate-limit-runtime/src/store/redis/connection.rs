//! One connection to a server: what is sent over it, and what its stream tells without being asked.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

#[cfg(feature = "redis-cluster")]
use redis::Pipeline;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Cmd, RedisConnectionInfo, RedisResult, Value};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::watch;
use tokio::task::AbortHandle;

/// A connection. Clones are one connection, which is closed when the last of them is dropped.
#[derive(Clone)]
pub(super) struct Connection {
    multiplexed: MultiplexedConnection,
    traffic: Arc<Traffic>,
    /// The sender is of the task that drives the connection, and is dropped with it.
    driver: watch::Receiver<()>,
    _abort: Arc<AbortOnDrop>,
}

impl Connection {
    /// Introduces the client to the server at the other end of the stream, and starts the task that drives the connection on the
    /// current runtime.
    pub(super) async fn open(
        settings: &RedisConnectionInfo,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    ) -> RedisResult<Self> {
        let traffic = Arc::new(Traffic::new());
        let stream = Metered {
            stream,
            traffic: Arc::clone(&traffic),
        };
        let config = AsyncConnectionConfig::new().set_response_timeout(None);
        let (multiplexed, drive) = MultiplexedConnection::new_with_config(settings, stream, config).await?;
        let (alive, driver) = watch::channel(());
        let task = tokio::spawn(async move {
            drive.await;
            drop(alive);
        });
        Ok(Self {
            multiplexed,
            traffic,
            driver,
            _abort: Arc::new(AbortOnDrop(task.abort_handle())),
        })
    }

    pub(super) async fn send(&mut self, cmd: &Cmd) -> RedisResult<Value> {
        self.multiplexed.send_packed_command(cmd).await?.extract_error()
    }

    /// Sends a command for a slot that is on its way to this server.
    #[cfg(feature = "redis-cluster")]
    pub(super) async fn send_asking(&mut self, cmd: &Cmd) -> RedisResult<Value> {
        let mut both = Pipeline::with_capacity(2);
        both.cmd("ASKING").add_command(cmd.clone());
        let answers = self.multiplexed.send_packed_commands(&both, 1, 1).await?;
        answers.into_iter().next().unwrap_or(Value::Nil).extract_error()
    }

    /// Returns `true` once the server has closed the connection, or the runtime that drives it has ended: nothing can be sent any
    /// more.
    pub(super) fn is_closed(&self) -> bool {
        self.driver.has_changed().is_err()
    }

    /// Waits until the connection is closed.
    pub(super) async fn closed(mut driver: watch::Receiver<()>) {
        while driver.changed().await.is_ok() {}
    }

    /// What [`closed`](Self::closed) waits by, which does not keep the connection open.
    pub(super) fn driver(&self) -> watch::Receiver<()> {
        self.driver.clone()
    }

    /// Returns how many bytes were written so far. A command for which it has not risen was not sent.
    pub(super) fn written(&self) -> u64 {
        self.traffic.written.load(Ordering::Acquire)
    }

    pub(super) fn age(&self) -> Duration {
        self.traffic.opened.elapsed()
    }

    /// Returns `true` if the server has sent anything since `time`.
    pub(super) fn was_heard_since(&self, time: Instant) -> bool {
        self.traffic.last_heard() >= time
    }

    /// Returns `true` if the server has sent nothing for so long.
    pub(super) fn is_quiet_for(&self, time: Duration) -> bool {
        self.traffic.last_heard().elapsed() > time
    }
}

/// Ends a task when it is dropped.
#[derive(Debug)]
pub(super) struct AbortOnDrop(pub(super) AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What went through the stream of a connection.
struct Traffic {
    opened: Instant,
    /// In bytes.
    written: AtomicU64,
    /// When the last bytes were read, in microseconds since `opened`.
    heard: AtomicU64,
}

impl Traffic {
    fn new() -> Self {
        Self {
            opened: Instant::now(),
            written: AtomicU64::new(0),
            heard: AtomicU64::new(0),
        }
    }

    fn last_heard(&self) -> Instant {
        self.opened + Duration::from_micros(self.heard.load(Ordering::Acquire))
    }
}

/// A stream whose traffic is noted.
struct Metered<S> {
    stream: S,
    traffic: Arc<Traffic>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, into);
        if into.filled().len() > before {
            let now = self.traffic.opened.elapsed().as_micros() as u64;
            self.traffic.heard.store(now, Ordering::Release);
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        // Noted before: the answer may be there before this returns.
        self.traffic.written.fetch_add(bytes.len() as u64, Ordering::AcqRel);
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        if !matches!(written, Poll::Ready(Ok(_))) {
            self.traffic.written.fetch_sub(bytes.len() as u64, Ordering::AcqRel);
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
