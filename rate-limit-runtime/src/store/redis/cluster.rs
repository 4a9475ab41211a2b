//! A Redis Cluster: a link to each primary, and which of them has which slot.
//!
//! Redirects are followed here, and `TRYAGAIN` is, since they prove that nothing was kept; nothing else is asked again.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use redis::{Cmd, ConnectionAddr, ErrorKind, RedisError, ServerErrorKind, Value};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout_at};

use super::endpoint::Endpoint;
use super::failure::Failure;
use super::link::Link;
use super::script::Scripts;
use super::target::Target;
use super::topology::{Owner, Owners, Range, SLOTS, epochs, merge, ranges};
use crate::store::background::Background;
use crate::store::runtime::{jittered, random};

/// A slot may have moved once more meanwhile.
const REDIRECTS: usize = 3;
/// How often a call whose keys lie on two nodes is sent again. The keys are together as soon as the last of them has moved.
const TRIES_AGAIN: usize = 2;
/// How long the call waits before it is sent again.
const TRY_AGAIN_PAUSE: Duration = Duration::from_millis(2);
/// How long a node has to tell the slots: the others are asked at the same time.
const ANSWER: Duration = Duration::from_millis(500);
/// How long further views are waited for once one was told.
const OTHERS: Duration = Duration::from_millis(100);
/// Between two times that the nodes are asked for the slots.
const PAUSE: Duration = Duration::from_millis(100);
/// Between two times that nodes are asked whether a failover has come.
const CHECKS: Duration = Duration::from_millis(500);

pub(super) struct Cluster {
    /// The nodes of the URL. What is told to them is told to all.
    seeds: Vec<Endpoint>,
    scripts: Arc<Scripts>,
    most: usize,
    /// By address.
    links: Mutex<HashMap<String, Arc<Link>>>,
    slots: watch::Sender<Slots>,
    refreshing: AtomicBool,
    /// How often the slots were told.
    told: AtomicU64,
    /// The epoch of each slot's owner, of the slots that were told last.
    epochs: Mutex<Vec<u64>>,
    background: Arc<Background>,
    /// When nodes were last asked for the epoch of the cluster, and the highest epoch that one of them has reported.
    checks: Mutex<(Instant, u64)>,
}

/// Which link has which slot; empty until a node has told.
type Slots = Arc<[Option<Arc<Link>>]>;

impl Cluster {
    pub(super) fn new(
        seeds: Vec<Endpoint>,
        scripts: Arc<Scripts>,
        most: usize,
        background: Arc<Background>,
    ) -> Arc<Self> {
        Arc::new(Self {
            background,
            checks: Mutex::new((Instant::now(), 0)),
            seeds,
            scripts,
            most,
            links: Mutex::default(),
            slots: watch::Sender::new(Arc::new([])),
            refreshing: AtomicBool::new(false),
            told: AtomicU64::new(0),
            epochs: Mutex::default(),
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

    /// Asks the node that has a slot. Only calls of several keys get the answer `TRYAGAIN`: their caller then asks for each key by itself.
    pub(super) async fn ask(self: &Arc<Self>, slot: usize, cmd: &Cmd, end: Instant) -> Result<Value, Failure> {
        self.check_now_and_then();
        for _ in 0..TRIES_AGAIN {
            let answer = self.ask_once(slot, cmd, end).await;
            let is_parted = answer.as_ref().is_err_and(Failure::is_try_again);
            if !is_parted || Instant::now() + TRY_AGAIN_PAUSE >= end {
                return answer;
            }
            sleep(jittered(TRY_AGAIN_PAUSE)).await;
        }
        self.ask_once(slot, cmd, end).await
    }

    /// Asks the node that has a slot, following redirects.
    async fn ask_once(self: &Arc<Self>, slot: usize, cmd: &Cmd, end: Instant) -> Result<Value, Failure> {
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
        let mut links = self.known_links();
        if let Some(link) = links.get(address) {
            return Ok(Arc::clone(link));
        }
        let malformed = || RedisError::from((ErrorKind::Parse, "the cluster tells an address that is none"));
        let (host, port) = address.rsplit_once(':').ok_or_else(malformed)?;
        let port = port.parse().map_err(|_| malformed())?;
        let link = Link::new(
            Target::Server(Box::new(self.seeds[0].at(host.to_owned(), port))),
            Arc::clone(&self.scripts),
            self.most,
            Arc::clone(&self.background),
        );
        links.insert(address.to_owned(), Arc::clone(&link));
        Ok(link)
    }

    /// Restarts the background tasks on the runtime where they belong now.
    pub(super) fn move_in(self: &Arc<Self>) {
        for link in self.known_links().values() {
            link.move_in();
        }
        self.refreshing.store(false, Ordering::Release);
        self.refresh_soon();
    }

    fn known_links(&self) -> MutexGuard<'_, HashMap<String, Arc<Link>>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks two nodes in the background for the epoch of the cluster, if that was not done for a while. A failover raises the epoch at
    /// all nodes except one that is cut off from the others, and that node does not redirect calls.
    fn check_now_and_then(self: &Arc<Self>) {
        {
            let Ok(mut checks) = self.checks.try_lock() else { return };
            if checks.0.elapsed() < CHECKS {
                return;
            }
            checks.0 = Instant::now();
        }
        // The map has its links in no particular order, so two neighbours are a random pair.
        let asked: Vec<_> = {
            let links = self.known_links();
            let first = (random() * links.len() as f64) as usize;
            links
                .values()
                .cycle()
                .skip(first)
                .take(links.len().min(2))
                .cloned()
                .collect()
        };
        let cluster = Arc::clone(self);
        self.background.spawn(async move {
            let mut asked: JoinSet<_> = asked
                .into_iter()
                .map(|link| async move { epoch_by(&link).await })
                .collect();
            while let Some(answer) = asked.join_next().await {
                let Ok(Some(epoch)) = answer else { continue };
                let mut checks = cluster.checks.lock().unwrap_or_else(PoisonError::into_inner);
                if epoch > checks.1 {
                    checks.1 = epoch;
                    cluster.refresh_soon();
                }
            }
        });
    }

    /// Asks for the slots in the background, unless that is under way or was just done.
    fn refresh_soon(self: &Arc<Self>) {
        if self.refreshing.swap(true, Ordering::AcqRel) {
            return;
        }
        let refreshing = Refreshing(Arc::downgrade(self));
        let cluster = Arc::clone(self);
        self.background.spawn(async move {
            let _ = cluster.refresh().await;
            sleep(jittered(PAUSE)).await;
            drop(refreshing);
        });
    }

    /// Asks all nodes that are known which slots they know of, and takes the owner of the highest epoch for each: a node that takes
    /// slots over has a higher one than all before, and a node that was cut off from the others still tells of the time before. What is
    /// newer than what is known is taken at once, and the rest once no more views come: a cluster that was set up anew begins with low
    /// epochs.
    async fn refresh(self: &Arc<Self>) -> Result<(), Failure> {
        let mut asked = self.ask_all()?;
        let (mut owners, mut until): (Owners, Option<Instant>) = (vec![None; SLOTS], None);
        let (mut untaken, mut failure) = (false, None);
        while let Some(answer) = match until {
            Some(until) => timeout_at(until, asked.join_next()).await.unwrap_or(None),
            None => asked.join_next().await,
        } {
            match answer {
                Ok(Ok(ranges)) => {
                    until.get_or_insert_with(|| Instant::now() + OTHERS);
                    untaken |= merge(&mut owners, &ranges);
                    if untaken && self.is_newer(&owners) {
                        self.set(&owners)?;
                        untaken = false;
                    }
                }
                Ok(Err(error)) => failure = Some(error),
                Err(_) => {}
            }
        }
        match (until, failure) {
            (Some(_), _) if untaken => self.set(&owners),
            (Some(_), _) => Ok(()),
            (None, Some(failure)) => Err(failure),
            (None, None) => Err(Failure::Redis(
                (ErrorKind::Io, "no node of the cluster tells which slots it has").into(),
            )),
        }
    }

    fn is_newer(&self, owners: &Owners) -> bool {
        let known = self.epochs.lock().unwrap_or_else(PoisonError::into_inner);
        let newer = |(slot, owner): (usize, &Option<Owner>)| {
            let known = known.get(slot).copied().unwrap_or(0);
            owner.as_ref().is_some_and(|owner| owner.epoch > known)
        };
        owners.iter().enumerate().any(newer)
    }

    fn ask_all(&self) -> Result<JoinSet<Result<Vec<Range>, Failure>>, Failure> {
        let mut addresses: Vec<String> = self.seeds.iter().map(Endpoint::name).collect();
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
                let end = Instant::now() + ANSWER;
                let (slots, nodes) = (cluster_command("SLOTS"), cluster_command("NODES"));
                let beside = Arc::clone(&link);
                let nodes = tokio::spawn(async move { beside.ask(&nodes, end).await });
                let slots = link.ask(&slots, end).await;
                let nodes = nodes.await.unwrap_or(Err(Failure::Timeout));
                // Who may not ask for the nodes takes all owners for equals.
                let mut ranges = ranges(&slots?, &epochs(nodes), &address)?;
                ranges.retain(|range| range.last < SLOTS);
                match ranges.is_empty() {
                    true => Err(Failure::Redis(
                        (ErrorKind::Io, "a node of the cluster knows of no slots").into(),
                    )),
                    false => Ok(ranges),
                }
            });
        }
        Ok(asked)
    }

    fn set(&self, owners: &Owners) -> Result<(), Failure> {
        let mut slots = Vec::with_capacity(SLOTS);
        // Neighbours have one owner, as a rule.
        let mut last: Option<(&str, Arc<Link>)> = None;
        for owner in owners {
            let Some(Owner { address, .. }) = owner else {
                slots.push(None);
                continue;
            };
            let link = match &last {
                Some((known, link)) if *known == &**address => Arc::clone(link),
                _ => self.link_at(address)?,
            };
            slots.push(Some(Arc::clone(&link)));
            last = Some((address, link));
        }
        let is_known = |address: &String| owners.iter().flatten().any(|owner| *owner.address == **address);
        let mut links = self.known_links();
        links.retain(|address, _| is_known(address));
        drop(links);
        let epochs = owners.iter().map(|owner| owner.as_ref().map_or(0, |owner| owner.epoch));
        *self.epochs.lock().unwrap_or_else(PoisonError::into_inner) = epochs.collect();
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

fn cluster_command(of: &str) -> Cmd {
    let mut cmd = redis::cmd("CLUSTER");
    cmd.arg(of);
    cmd
}

/// Asks a node for the epoch of the cluster.
async fn epoch_by(link: &Arc<Link>) -> Option<u64> {
    let told = link.ask(&cluster_command("INFO"), Instant::now() + ANSWER).await.ok()?;
    let told: String = redis::from_redis_value(told).ok()?;
    let epoch = told
        .lines()
        .find_map(|line| line.strip_prefix("cluster_current_epoch:"))?;
    epoch.trim().parse().ok()
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

/// A redirect without a host is to another port of the same.
fn complete(address: &str, asked: &Link) -> String {
    match (address.strip_prefix(':'), &asked.target) {
        (Some(port), Target::Server(server)) => match server.info.addr() {
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
