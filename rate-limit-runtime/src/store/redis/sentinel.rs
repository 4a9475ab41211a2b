//! A primary that sentinels know.

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{Client, ConnectionInfo, ErrorKind, RedisError, RedisResult};
use tokio::task::JoinSet;

use super::target::{elsewhere, open};

/// How long a sentinel has for its answer: the others are asked at the same time.
const ANSWER: Duration = Duration::from_millis(500);

/// The sentinels of a service.
#[derive(Clone, Debug)]
pub(super) struct Sentinels {
    sentinels: Vec<Client>,
    service: String,
    /// What is told to the primary, at whichever address.
    primary: ConnectionInfo,
}

impl Sentinels {
    pub(super) fn new(sentinels: Vec<Client>, service: String, primary: ConnectionInfo) -> Self {
        Self {
            sentinels,
            service,
            primary,
        }
    }

    /// A connection to the server that is the primary now.
    pub(super) async fn open(&self) -> RedisResult<MultiplexedConnection> {
        let mut asked = JoinSet::new();
        for sentinel in &self.sentinels {
            let (sentinel, service) = (sentinel.clone(), self.service.clone());
            asked.spawn(async move { tokio::time::timeout(ANSWER, address(&sentinel, &service)).await });
        }
        let mut last = None;
        while let Some(answer) = asked.join_next().await {
            match answer {
                Ok(Ok(Ok((host, port)))) => match self.open_at(host, port).await {
                    Ok(connection) => return Ok(connection),
                    Err(error) => last = Some(error),
                },
                Ok(Ok(Err(error))) => last = Some(error),
                _ => {}
            }
        }
        Err(last.unwrap_or_else(|| (ErrorKind::Io, "no sentinel answers").into()))
    }

    /// A sentinel that was cut off may name a server that is the primary no more.
    async fn open_at(&self, host: String, port: u16) -> RedisResult<MultiplexedConnection> {
        let client = Client::open(elsewhere(&self.primary, host, port))?;
        let mut connection = open(&client).await?;
        let role: Vec<redis::Value> = redis::cmd("ROLE").query_async(&mut connection).await?;
        match role.first() {
            Some(redis::Value::BulkString(role)) if role == b"master" => Ok(connection),
            _ => Err((ErrorKind::Io, "the server that sentinels name is no primary").into()),
        }
    }
}

async fn address(sentinel: &Client, service: &str) -> RedisResult<(String, u16)> {
    let mut connection = open(sentinel).await?;
    let address: Option<(String, u16)> = redis::cmd("SENTINEL")
        .arg("get-master-addr-by-name")
        .arg(service)
        .query_async(&mut connection)
        .await?;
    address.ok_or_else(|| {
        RedisError::from((
            ErrorKind::InvalidClientConfig,
            "the sentinels know no service of this name",
        ))
    })
}
