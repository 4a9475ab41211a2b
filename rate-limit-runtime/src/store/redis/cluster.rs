//! A Redis Cluster: a link to each primary, and which of them has which slot.
//!
//! Redirects are followed here, since they prove that nothing was kept; nothing else is asked again.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use redis::{Client, Cmd, ConnectionAddr, ConnectionInfo, ErrorKind, RedisError, RedisResult, ServerErrorKind, Value};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout_at};

use super::connect::jittered;
use super::failure::Failure;
use super::link::Link;
use super::script::Scripts;
use super::target::{Target, elsewhere};

const SLOTS: usize = 16_384;
/// A slot may have moved once more meanwhile.
const REDIRECTS: usize = 3;
/// How long a node has to tell the slots: the others are asked at the same time.
const ANSWER: Duration = Duration::from_millis(500);
/// Between two times that the nodes are asked for the slots.
const PAUSE: Duration = Duration::from_millis(100);

/// The slot of what stands between the braces of a key.
pub(super) fn slot(hash_tag: &str) -> usize {
    usize::from(crc16::State::<crc16::XMODEM>::calculate(hash_tag.as_bytes())) % SLOTS
}

/// The slot of a key, by what stands between its first braces, if that is anything.
pub(super) fn slot_of(key: &str) -> usize {
    let tag = key
        .split_once('{')
        .and_then(|(_, rest)| rest.split_once('}'))
        .map(|(tag, _)| tag);
    slot(tag.filter(|tag| !tag.is_empty()).unwrap_or(key))
}

pub(super) struct Cluster {
    /// The nodes of the URL. What is told to them is told to all.
    seeds: Vec<ConnectionInfo>,
    scripts: Arc<Scripts>,
    most: usize,
    /// By address.
    links: Mutex<HashMap<String, Arc<Link>>>,
    slots: watch::Sender<Slots>,
    refreshing: AtomicBool,
    /// How often the slots were told.
    told: AtomicU64,
}

/// Which link has which slot; empty until a node has told.
type Slots = Arc<[Option<Arc<Link>>]>;

impl Cluster {
    pub(super) fn new(seeds: Vec<ConnectionInfo>, scripts: Arc<Scripts>, most: usize) -> Arc<Self> {
        Arc::new(Self {
            seeds,
            scripts,
            most,
            links: Mutex::default(),
            slots: watch::Sender::new(Arc::new([])),
            refreshing: AtomicBool::new(false),
            told: AtomicU64::new(0),
        })
    }

    pub(super) fn scripts(&self) -> &Scripts {
        &self.scripts
    }

    pub(super) fn generation(&self) -> u64 {
        self.told.load(Ordering::Relaxed)
    }

    /// Asks all nodes for the slots once, and whether one of them lets us in.
    pub(super) async fn first_attempt(self: &Arc<Self>) -> Result<(), Failure> {
        self.refresh().await
    }

    /// Asks the node that has a slot.
    pub(super) async fn ask(self: &Arc<Self>, slot: usize, cmd: &Cmd, end: Instant) -> Result<Value, Failure> {
        let mut link = self.link_of(slot, end).await?;
        let mut importing = false;
        for _ in 0..REDIRECTS {
            let answer = if importing {
                link.ask_importing(cmd, end).await
            } else {
                link.ask(cmd, end).await
            };
            let Err(Failure::Redis(error)) = &answer else {
                if answer.is_err() {
                    self.refresh_soon();
                }
                return answer;
            };
            let Some((address, _)) = error.redirect_node() else {
                if !is_ours(error) {
                    self.refresh_soon();
                }
                return answer;
            };
            importing = error.kind() == ErrorKind::Server(ServerErrorKind::Ask);
            link = self.link_at(&complete(address, &link))?;
            if !importing {
                self.moved(slot, &link);
                self.refresh_soon();
            }
        }
        Err(Failure::Redis((ErrorKind::Io, "a slot moves on and on").into()))
    }

    /// Waits for the slots, if no node has told them yet.
    async fn link_of(self: &Arc<Self>, slot: usize, end: Instant) -> Result<Arc<Link>, Failure> {
        let mut slots = self.slots.subscribe();
        loop {
            if let Some(link) = slots.borrow_and_update().get(slot) {
                let link = link.clone();
                return link.ok_or_else(|| {
                    self.refresh_soon();
                    Failure::Redis((ErrorKind::Io, "no node of the cluster has the slot").into())
                });
            }
            self.refresh_soon();
            if timeout_at(end, slots.changed()).await.is_err() {
                return Err(Failure::Timeout);
            }
        }
    }

    /// The link to each primary, once the slots are known.
    pub(super) async fn primaries(self: &Arc<Self>, end: Instant) -> Result<Vec<Arc<Link>>, Failure> {
        self.link_of(0, end).await?;
        let slots = Arc::clone(&self.slots.borrow());
        let mut primaries: Vec<Arc<Link>> = Vec::new();
        for link in slots.iter().flatten() {
            if !primaries.iter().any(|known| Arc::ptr_eq(known, link)) {
                primaries.push(Arc::clone(link));
            }
        }
        Ok(primaries)
    }

    fn moved(&self, slot: usize, link: &Arc<Link>) {
        self.slots.send_if_modified(|slots| {
            let mut all = slots.to_vec();
            let known = all.get_mut(slot).map(|place| *place = Some(Arc::clone(link)));
            *slots = all.into();
            known.is_some()
        });
    }

    fn link_at(&self, address: &str) -> Result<Arc<Link>, Failure> {
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(link) = links.get(address) {
            return Ok(Arc::clone(link));
        }
        let malformed = || RedisError::from((ErrorKind::Parse, "the cluster tells an address that is none"));
        let (host, port) = address.rsplit_once(':').ok_or_else(malformed)?;
        let port = port.parse().map_err(|_| malformed())?;
        let info = elsewhere(&self.seeds[0], host.to_owned(), port);
        let link = Link::new(
            Target::Server(Client::open(info)?),
            Arc::clone(&self.scripts),
            self.most,
        );
        links.insert(address.to_owned(), Arc::clone(&link));
        Ok(link)
    }

    /// Asks for the slots in the background, unless that is under way or was just done.
    fn refresh_soon(self: &Arc<Self>) {
        if self.refreshing.swap(true, Ordering::AcqRel) {
            return;
        }
        let refreshing = Refreshing(Arc::downgrade(self));
        let cluster = Arc::clone(self);
        tokio::spawn(async move {
            let _ = cluster.refresh().await;
            sleep(jittered(PAUSE)).await;
            drop(refreshing);
        });
    }

    /// Asks all nodes that are known for the slots, and takes the first answer.
    async fn refresh(self: &Arc<Self>) -> Result<(), Failure> {
        let mut addresses: Vec<String> = self.seeds.iter().map(|seed| seed.addr().to_string()).collect();
        addresses.extend(
            self.links
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .keys()
                .cloned(),
        );
        addresses.sort_unstable();
        addresses.dedup();
        let mut asked = JoinSet::new();
        for address in addresses {
            let link = self.link_at(&address)?;
            asked.spawn(async move {
                let mut cmd = redis::cmd("CLUSTER");
                cmd.arg("SLOTS");
                let answer = link.ask(&cmd, Instant::now() + ANSWER).await?;
                Ok(ranges(&answer, &address)?)
            });
        }
        let mut failure = None;
        while let Some(answer) = asked.join_next().await {
            match answer {
                Ok(Ok(ranges)) if !ranges.is_empty() => return self.set(ranges),
                Ok(Err(error)) => failure = Some(error),
                _ => {}
            }
        }
        let nobody = || Failure::Redis((ErrorKind::Io, "no node of the cluster tells which slots it has").into());
        Err(failure.unwrap_or_else(nobody))
    }

    fn set(&self, ranges: Vec<Range>) -> Result<(), Failure> {
        let mut slots = vec![None; SLOTS];
        for Range { first, last, address } in &ranges {
            let link = self.link_at(address)?;
            if let Some(own) = slots.get_mut(*first..=*last) {
                own.fill(Some(link));
            }
        }
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = |address: &String| ranges.iter().any(|range| range.address == *address);
        links.retain(|address, _| is_known(address));
        drop(links);
        self.told.fetch_add(1, Ordering::Relaxed);
        self.slots.send_replace(slots.into());
        Ok(())
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster").finish_non_exhaustive()
    }
}

/// The right to ask for the slots, given back when dropped: also when the runtime is shut down.
struct Refreshing(Weak<Cluster>);

impl Drop for Refreshing {
    fn drop(&mut self) {
        if let Some(cluster) = self.0.upgrade() {
            cluster.refreshing.store(false, Ordering::Release);
        }
    }
}

/// Slots and the primary that has them.
#[derive(Debug, PartialEq)]
struct Range {
    first: usize,
    last: usize,
    address: String,
}

/// Reads what `CLUSTER SLOTS` answers. A node that does not know its own host leaves it out: it is the one that was asked.
fn ranges(answer: &Value, asked: &str) -> RedisResult<Vec<Range>> {
    let malformed = || RedisError::from((ErrorKind::Parse, "a node of the cluster tells slots that are none"));
    let own_host = asked.rsplit_once(':').map_or(asked, |(host, _)| host);
    let range = |range: &Value| {
        let Value::Array(range) = range else { return None };
        let [Value::Int(first), Value::Int(last), Value::Array(primary), ..] = &range[..] else {
            return None;
        };
        let [host, Value::Int(port), ..] = &primary[..] else {
            return None;
        };
        let host = match host {
            Value::BulkString(host) if !host.is_empty() => String::from_utf8(host.clone()).ok()?,
            Value::BulkString(_) | Value::Nil => own_host.to_owned(),
            _ => return None,
        };
        Some(Range {
            first: usize::try_from(*first).ok()?,
            last: usize::try_from(*last).ok()?,
            address: format!("{host}:{port}"),
        })
    };
    match answer {
        Value::Array(all) => all.iter().map(|one| range(one).ok_or_else(malformed)).collect(),
        _ => Err(malformed()),
    }
}

/// A redirect without a host is to another port of the same.
fn complete(address: &str, asked: &Link) -> String {
    match (address.strip_prefix(':'), &asked.target) {
        (Some(port), Target::Server(client)) => match client.get_connection_info().addr() {
            ConnectionAddr::Tcp(host, _) | ConnectionAddr::TcpTls { host, .. } => format!("{host}:{port}"),
            _ => address.to_owned(),
        },
        _ => address.to_owned(),
    }
}

/// Whether an error is that of one call, and says nothing of the cluster.
fn is_ours(error: &RedisError) -> bool {
    !error.is_io_error()
        && !matches!(
            error.kind(),
            ErrorKind::Server(
                ServerErrorKind::ClusterDown
                    | ServerErrorKind::MasterDown
                    | ServerErrorKind::ReadOnly
                    | ServerErrorKind::BusyLoading
            )
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification: `HASH_SLOT = CRC16(key) mod 16384`, and the CRC of `123456789` is 31C3.
    #[test]
    fn a_slot_is_that_of_the_specification() {
        assert_eq!(slot("123456789"), 0x31C3);
        assert_eq!(slot("foo"), 12_182);
        assert_eq!(slot_of("a:{foo}:{bar}"), 12_182);
        assert_eq!(slot_of("a{}b"), slot("a{}b"), "braces around nothing are none");
    }

    #[test]
    fn a_host_that_is_left_out_is_the_one_that_was_asked() {
        let text = |text: &str| Value::BulkString(text.as_bytes().to_vec());
        let of = |host: Value| {
            let primary = Value::Array(vec![host, Value::Int(7001), text("id")]);
            Value::Array(vec![Value::Array(vec![Value::Int(0), Value::Int(5), primary])])
        };
        let range = |address: &str| Range {
            first: 0,
            last: 5,
            address: address.to_owned(),
        };
        assert_eq!(ranges(&of(text("two")), "one:7000").ok(), Some(vec![range("two:7001")]));
        assert_eq!(ranges(&of(text("")), "one:7000").ok(), Some(vec![range("one:7001")]));
        assert_eq!(ranges(&of(Value::Nil), "one:7000").ok(), Some(vec![range("one:7001")]));
        assert!(ranges(&of(Value::Int(1)), "one:7000").is_err());
        assert!(ranges(&Value::Okay, "one:7000").is_err());
    }
}
