//! A primary that sentinels know, also when another one takes its place.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Poll;
use std::time::Duration;

use futures_core::Stream as _;
use redis::aio::{PubSub, PubSubStream};
use redis::{ErrorKind, RedisError, RedisResult, Value};
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
/// The channels on which a sentinel tells that there is a new primary: once it is promoted, and when the failover has ended.
const NEWS: [&str; 2] = ["+promoted-slave", "+switch-master"];

/// The sentinels of a service.
#[derive(Clone, Debug)]
pub(super) struct Sentinels(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    sentinels: Vec<Endpoint>,
    service: String,
    /// What is told to the primary, at whichever address.
    primary: Endpoint,
    /// The last primary that is known.
    known: Mutex<Option<Named>>,
}

/// The primary that a sentinel names. Each failover has a higher epoch than all before.
#[derive(Clone, Debug, PartialEq)]
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
            known: Mutex::default(),
        }))
    }

    /// Opens a connection to the server that is the primary now: of all that sentinels name, the one of the highest epoch, since a
    /// sentinel that was cut off names one that is the primary no more. If most of them answer, they are believed also where their epoch
    /// is lower than before: sentinels that were set up anew begin with a low one.
    pub(super) async fn open(&self) -> RedisResult<(Connection, String)> {
        let mut asked = JoinSet::new();
        for sentinel in &self.0.sentinels {
            let (inner, sentinel) = (Arc::clone(&self.0), sentinel.clone());
            asked.spawn(timeout(ANSWER, async move {
                inner.primary_by(&mut sentinel.open().await?).await
            }));
        }
        let before = self.0.known().clone();
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
        if named.len() <= self.0.sentinels.len() / 2 {
            named.extend(before.clone());
        }
        let epoch = named.iter().map(|primary| primary.epoch).max();
        // Where none tells an epoch, all do the same.
        for primary in named.into_iter().filter(|primary| Some(primary.epoch) == epoch) {
            match self.open_at(&primary).await {
                Ok(opened) => {
                    let mut known = self.0.known();
                    // Unless a failover was heard of meanwhile.
                    if *known == before {
                        *known = Some(primary);
                    }
                    return Ok(opened);
                }
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| (ErrorKind::Io, "no sentinel answers").into()))
    }

    /// A server that a failover has just made the primary may not know of it yet.
    async fn open_at(&self, primary: &Named) -> RedisResult<(Connection, String)> {
        let server = self.0.at(primary);
        let mut connection = server.open().await?;
        let role: Vec<Value> = redis::from_redis_value(connection.send(&redis::cmd("ROLE")).await?)?;
        match role.first() {
            Some(Value::BulkString(role)) if role == b"master" => Ok((connection, server.name())),
            _ => Err((ErrorKind::Io, "the server that sentinels name is no primary").into()),
        }
    }

    /// Returns `true` if the server at this address was the primary and another one is now.
    pub(super) fn has_left(&self, address: &str) -> bool {
        self.0
            .known()
            .as_ref()
            .is_some_and(|known| self.0.at(known).name() != address)
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
    fn at(&self, primary: &Named) -> Endpoint {
        self.primary.at(primary.host.clone(), primary.port)
    }

    fn known(&self) -> MutexGuard<'_, Option<Named>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what a sentinel has told, unless it is of before what is known. `is_news` says that the sentinel has just told of a change.
    /// Returns `true` if another server is the primary now.
    fn learn(&self, primary: Named, is_news: bool) -> bool {
        let mut known = self.known();
        let is_newer = known
            .as_ref()
            .is_none_or(|known| is_news || primary.epoch > known.epoch);
        let changed = is_newer && known.as_ref() != Some(&primary);
        if changed {
            *known = Some(primary);
        }
        changed
    }

    async fn watch_by(&self, sentinel: &Endpoint, link: &Weak<Link>) -> RedisResult<()> {
        let mut connection = timeout(ANSWER, sentinel.open()).await.map_err(|_| unanswered())??;
        // One that lets nobody subscribe is asked at intervals alone.
        let mut news = timeout(ANSWER, news_of(sentinel)).await.ok().and_then(RedisResult::ok);
        let mut is_news = false;
        loop {
            let primary = timeout(ANSWER, self.primary_by(&mut connection)).await;
            let primary = primary.map_err(|_| unanswered())??;
            let Some(link) = link.upgrade() else { return Ok(()) };
            let address = self.at(&primary).name();
            if self.learn(primary, is_news) {
                link.follow(&address);
            }
            drop(link);
            let next = poll_fn(|context| match &mut news {
                Some(news) => news.as_mut().poll_next(context),
                None => Poll::Pending,
            });
            is_news = match timeout(jittered(INTERVAL), next).await {
                Ok(Some(_)) => true,
                Ok(None) => return Err(unanswered()),
                Err(_) => false,
            };
        }
    }

    /// Asks a sentinel for the primary. The epoch is asked for first: it rises when the new primary is promoted, at which time the address
    /// changes that is told to clients. What only resembles a sentinel may tell none.
    async fn primary_by(&self, sentinel: &mut Connection) -> RedisResult<Named> {
        let ask = |of: &str| {
            let mut cmd = redis::cmd("SENTINEL");
            cmd.arg(of).arg(&self.service);
            cmd
        };
        let fields = sentinel.send(&ask("MASTER")).await;
        let fields = fields.and_then(|fields| Ok(redis::from_redis_value::<Vec<(String, String)>>(fields)?));
        let epoch = fields.ok().and_then(|fields| {
            let (_, epoch) = fields.into_iter().find(|(field, _)| field == "config-epoch")?;
            epoch.parse().ok()
        });
        let address = sentinel.send(&ask("GET-MASTER-ADDR-BY-NAME")).await?;
        let address: Option<(String, u16)> = redis::from_redis_value(address)?;
        let (host, port) = address.ok_or_else(|| {
            RedisError::from((
                ErrorKind::InvalidClientConfig,
                "the sentinels know no service of this name",
            ))
        })?;
        Ok(Named {
            host,
            port,
            epoch: epoch.unwrap_or_default(),
        })
    }
}

/// Subscribes to what a sentinel tells.
async fn news_of(sentinel: &Endpoint) -> RedisResult<Pin<Box<PubSubStream>>> {
    let mut news = PubSub::new(sentinel.info.redis_settings(), sentinel.stream().await?).await?;
    news.subscribe(&NEWS).await?;
    Ok(Box::pin(news.into_on_message()))
}

fn unanswered() -> RedisError {
    (ErrorKind::Io, "a sentinel does not answer").into()
}
