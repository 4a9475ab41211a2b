//! A server that connections are opened to.

use std::io;

use redis::{ConnectionAddr, ConnectionInfo, ErrorKind, RedisError, RedisResult};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::connection::Connection;
#[cfg(feature = "redis-tls")]
use super::tls::Tls;
use crate::store::runtime::ATTEMPT;

/// Where a server is, and what it is told when a connection is opened.
#[derive(Clone, Debug)]
pub(super) struct Endpoint {
    pub(super) info: ConnectionInfo,
    #[cfg(feature = "redis-tls")]
    pub(super) tls: Option<Tls>,
}

/// A stream to a server, encrypted or not.
pub(super) type Stream = Box<dyn Both>;

pub(super) trait Both: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Both for S {}

impl Endpoint {
    /// Returns another server, which is told the same.
    #[cfg(any(feature = "redis-cluster", feature = "redis-sentinel"))]
    pub(super) fn at(&self, host: String, port: u16) -> Self {
        let mut other = self.clone();
        other.info = other.info.set_addr(match self.info.addr() {
            ConnectionAddr::TcpTls {
                insecure, tls_params, ..
            } => ConnectionAddr::TcpTls {
                host,
                port,
                insecure: *insecure,
                tls_params: tls_params.clone(),
            },
            _ => ConnectionAddr::Tcp(host, port),
        });
        other
    }

    /// Returns the address as logs show it.
    pub(super) fn name(&self) -> String {
        self.info.addr().to_string()
    }

    /// Opens a connection, or fails within [`ATTEMPT`].
    pub(super) async fn open(&self) -> RedisResult<Connection> {
        let open = async { Connection::open(self.info.redis_settings(), self.stream().await?).await };
        let opened = timeout(ATTEMPT, open).await;
        opened.unwrap_or_else(|_| Err((ErrorKind::Io, "no answer to an attempt to connect").into()))
    }

    pub(super) async fn stream(&self) -> RedisResult<Stream> {
        match self.info.addr() {
            ConnectionAddr::Tcp(host, port) => Ok(Box::new(connect(host, *port).await?)),
            #[cfg(feature = "redis-tls")]
            ConnectionAddr::TcpTls { host, port, .. } => {
                let Some(tls) = &self.tls else {
                    return Err(unsupported());
                };
                let stream = connect(host, *port).await?;
                Ok(Box::new(tls.connect(host, stream).await?))
            }
            #[cfg(unix)]
            ConnectionAddr::Unix(path) => Ok(Box::new(tokio::net::UnixStream::connect(path).await?)),
            _ => Err(unsupported()),
        }
    }
}

fn unsupported() -> RedisError {
    (ErrorKind::InvalidClientConfig, "this kind of address is not supported").into()
}

/// Connects to whichever address of a host answers first.
async fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut attempts = JoinSet::new();
    for address in lookup_host((host, port)).await? {
        attempts.spawn(TcpStream::connect(address));
    }
    let mut failure = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    while let Some(attempt) = attempts.join_next().await {
        match attempt.map_err(io::Error::other).and_then(|connected| connected) {
            Ok(stream) => return Ok(stream),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}
