//! A primary that sentinels know, also when another one takes its place.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_core::Stream as _;
use redis::aio::PubSub;
use redis::{ErrorKind, Msg, RedisError, RedisResult, Value};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::connection::Connection;
use super::endpoint::Endpoint;
use super::link::Link;
use crate::store::runtime::jittered;

/// How long a sentinel has for its answer: the others are asked at the same time.
const ANSWER: Duration = Duration::from_millis(500);
/// How long further answers are waited for once there is one.
const OTHERS: Duration = Duration::from_millis(30);
/// How often each sentinel is asked whether it knows another primary.
const INTERVAL: Duration = Duration::from_secs(1);
/// The channel on which a sentinel tells that a failover has ended.
const SWITCH: &str = "+switch-master";

/// The sentinels of a service.
#[derive(Clone, Debug)]
pub(super) struct Sentinels(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    sentinels: Vec<Endpoint>,
    service: String,
    /// What is told to the primary, at whichever address.
    primary: Endpoint,
    /// The highest epoch that a sentinel has told. Each failover has a higher one than all before.
    epoch: AtomicU64,
}

/// The primary that a sentinel names.
struct Named {
    host: String,
    port: u16,
    epoch: u64,
}

impl Sentinels {
    pub(super) fn new(sentinels: Vec<Endpoint>, service: String, primary: Endpoint) -> Self {
        Self(Arc::new(Inner {
            sentinels,
            service,
            primary,
            epoch: AtomicU64::new(0),
        }))
    }

    /// Opens a connection to the server that is the primary now: of all that sentinels name, the one of the highest epoch, since a
    /// sentinel that was cut off names one that is the primary no more.
    pub(super) async fn open(&self) -> RedisResult<(Connection, String)> {
        let mut asked = JoinSet::new();
        for sentinel in &self.0.sentinels {
            let (inner, sentinel) = (Arc::clone(&self.0), sentinel.clone());
            asked.spawn(timeout(ANSWER, async move {
                inner.primary_by(&mut sentinel.open().await?).await
            }));
        }
        let (mut named, mut last, mut until): (Vec<Named>, _, _) = (Vec::new(), None, None);
        while let Some(answer) = match until {
            Some(until) => timeout_at(until, asked.join_next()).await.unwrap_or(None),
            None => asked.join_next().await,
        } {
            match answer {
                Ok(Ok(Ok(primary))) => {
                    until.get_or_insert_with(|| Instant::now() + OTHERS);
                    named.push(primary);
                }
                Ok(Ok(Err(error))) => last = Some(error),
                _ => {}
            }
        }
        let epoch = named.iter().map(|primary| primary.epoch).max().unwrap_or_default();
        self.0.epoch.fetch_max(epoch, Ordering::AcqRel);
        // Those that tell no epoch may name several.
        for primary in named.into_iter().filter(|primary| primary.epoch == epoch) {
            match self.open_at(primary).await {
                Ok(opened) => return Ok(opened),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| (ErrorKind::Io, "no sentinel answers").into()))
    }

    /// A server that a failover has just made the primary may not know of it yet.
    async fn open_at(&self, Named { host, port, .. }: Named) -> RedisResult<(Connection, String)> {
        let server = self.0.primary.at(host, port);
        let mut connection = server.open().await?;
        let role: Vec<Value> = redis::from_redis_value(connection.send(&redis::cmd("ROLE")).await?)?;
        match role.first() {
            Some(Value::BulkString(role)) if role == b"master" => Ok((connection, server.name())),
            _ => Err((ErrorKind::Io, "the server that sentinels name is no primary").into()),
        }
    }

    /// Has the link follow failovers for as long as it exists: each sentinel is listened to, and asked at intervals.
    pub(super) async fn watch(self, link: Weak<Link>) {
        let mut watches = JoinSet::new();
        for sentinel in &self.0.sentinels {
            let (inner, sentinel, link) = (Arc::clone(&self.0), sentinel.clone(), Weak::clone(&link));
            watches.spawn(async move {
                while link.strong_count() > 0 {
                    // It ends with its connections, and is tried again.
                    let _ = inner.watch_by(&sentinel, &link).await;
                    sleep(jittered(INTERVAL)).await;
                }
            });
        }
        while watches.join_next().await.is_some() {}
    }
}

impl Inner {
    async fn watch_by(&self, sentinel: &Endpoint, link: &Weak<Link>) -> RedisResult<()> {
        let mut connection = timeout(ANSWER, sentinel.open()).await.map_err(|_| unanswered())??;
        let mut news = PubSub::new(sentinel.info.redis_settings(), sentinel.stream().await?).await?;
        timeout(ANSWER, news.subscribe(SWITCH))
            .await
            .map_err(|_| unanswered())??;
        let mut news = pin!(news.into_on_message());
        loop {
            let primary = timeout(ANSWER, self.primary_by(&mut connection)).await;
            let primary = primary.map_err(|_| unanswered())??;
            let mut follow = None;
            if self.epoch.fetch_max(primary.epoch, Ordering::AcqRel) < primary.epoch {
                follow = Some(self.primary.at(primary.host, primary.port).name());
            }
            loop {
                let Some(link) = link.upgrade() else { return Ok(()) };
                if let Some(address) = follow {
                    link.follow(&address);
                }
                drop(link);
                let next = poll_fn(|context| news.as_mut().poll_next(context));
                match timeout(jittered(INTERVAL), next).await {
                    Ok(Some(news)) => follow = self.new_primary(&news),
                    Ok(None) => return Err(unanswered()),
                    Err(_) => break,
                }
            }
        }
    }

    /// Asks a sentinel for the primary. One that does not tell the epoch, as servers that only resemble sentinels, is asked for the address
    /// alone.
    async fn primary_by(&self, sentinel: &mut Connection) -> RedisResult<Named> {
        let ask = |of: &str| {
            let mut cmd = redis::cmd("SENTINEL");
            cmd.arg(of).arg(&self.service);
            cmd
        };
        let told = sentinel.send(&ask("MASTER")).await;
        let told = told.and_then(|told| Ok(redis::from_redis_value::<Vec<(String, String)>>(told)?));
        if let Some(primary) = told.ok().as_deref().and_then(read) {
            return Ok(primary);
        }
        let address = sentinel.send(&ask("GET-MASTER-ADDR-BY-NAME")).await?;
        let address: Option<(String, u16)> = redis::from_redis_value(address)?;
        let unknown = || {
            RedisError::from((
                ErrorKind::InvalidClientConfig,
                "the sentinels know no service of this name",
            ))
        };
        let (host, port) = address.ok_or_else(unknown)?;
        Ok(Named { host, port, epoch: 0 })
    }

    /// Reads what a sentinel tells when a failover has ended: `SERVICE HOST PORT NEW-HOST NEW-PORT`.
    fn new_primary(&self, news: &Msg) -> Option<String> {
        let text: String = news.get_payload().ok()?;
        let (service, addresses) = text.split_once(' ')?;
        let [_, _, host, port] = addresses.split(' ').collect::<Vec<_>>()[..] else {
            return None;
        };
        let port = port.parse().ok()?;
        (service == self.service).then(|| self.primary.at(host.to_owned(), port).name())
    }
}

/// Reads what `SENTINEL MASTER` answers.
fn read(told: &[(String, String)]) -> Option<Named> {
    let field = |name: &str| told.iter().find(|(field, _)| field == name).map(|(_, value)| value);
    Some(Named {
        host: field("ip")?.clone(),
        port: field("port")?.parse().ok()?,
        epoch: field("config-epoch")?.parse().ok()?,
    })
}

fn unanswered() -> RedisError {
    (ErrorKind::Io, "a sentinel does not answer").into()
}
